"""A Docker daemon that goes away within a judgement: the run waits, for as long as it may."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest

import sandbox
from agent import events
from agent.run import resume, start
from agent.runtime import Patience
from agent.settings import Settings, Share
from evaluators.evaluator import Evaluator
from evaluators.policy import Policy, repository_root
from runs.queries import run_summaries
from runs.store import RunStore
from sandbox.errors import InfrastructureError
from tests.durability.containers import Containers, until
from tests.durability.daemons import own_daemon
from tests.end_to_end.conftest import ROOT, Workbench
from tests.sandbox.proxy import SocketProxy

pytestmark = pytest.mark.docker

TUNE = Settings(
    op="rms_norm", case="ragged", proposers=(Share(name="tune"),), rounds=1, width=1, promote=0
)
CACHE = repository_root() / ".cache" / "shipped"


class Road:
    """The way to the real daemon, which can be cut and mended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._proxies = ExitStack()
        self.address = f"unix://{path}"
        self.mend()

    def mend(self) -> None:
        address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        self._proxies.enter_context(SocketProxy(self._path, address.removeprefix("unix://")))

    def cut(self) -> None:
        self._proxies.close()


@pytest.fixture
def road() -> Iterator[Road]:
    # Not in `tmp_path`: the path of a socket has room for a hundred characters.
    with TemporaryDirectory(prefix="kw-", dir="/tmp") as folder:
        found = Road(Path(folder) / "d.sock")
        yield found
        found.cut()


def test_a_lost_daemon_is_waited_for(road: Road, tmp_path: Path) -> None:
    backend = sandbox.open_backend("docker", base_url=road.address)
    judge, store = Evaluator(backend, Policy(), cache=CACHE), RunStore(tmp_path / "home")
    heard: list[events.Event] = []
    mend_after = 1000

    def listen(event: events.Event) -> None:
        heard.append(event)
        waits = sum(isinstance(e, events.Waiting) for e in heard)
        if isinstance(event, events.Judging) and event.stage == "judge" and not waits:
            road.cut()
        if isinstance(event, events.Waiting) and waits == mend_after:
            road.mend()

    # It stays away for longer than it is waited for.
    short = Patience(outage_s=1.0, outage_pause_s=0.5)
    with pytest.raises(InfrastructureError) as caught:
        start(TUNE, store, judge, ROOT, listen, patience=short)
    assert "\n" not in str(caught.value)
    (summary,) = run_summaries(store)
    assert summary.state == "failed"
    assert summary.end_reason == str(caught.value)
    assert store.verdicts() == ()

    # It comes back while it is waited for.
    road.mend()
    heard.clear()
    mend_after = 3
    spent_before_s = store.ledger.spent(summary.run.id).wall_ns / 1e9
    began_s = time.monotonic()
    result = resume(
        summary.run.id, store, judge, ROOT, listen, patience=Patience(outage_pause_s=1.0)
    )
    took_s = time.monotonic() - began_s
    waits = [e.pause_s for e in heard if isinstance(e, events.Waiting)]
    assert waits == [1.0, 2.0, 4.0]
    assert "waiting" in [e.stage for e in heard if isinstance(e, events.Judging)]
    assert len(store.verdicts(run=result.run)) == 1
    assert result.spent.wall_s - spent_before_s <= took_s - sum(waits) + 0.1
    # Containers that could not be removed in time are gone with the next that was.
    client = docker.from_env()
    until(lambda: not Containers(client, os.getpid()).all(), 10, "no container is left")
    client.close()


def stop_and_start(how: signal.Signals, tmp_path: Path) -> None:
    """The command line through a restart of its daemon in the middle of a judgement."""
    bench = Workbench(ROOT, tmp_path / "home")
    with own_daemon() as daemon:
        process = subprocess.Popen(
            bench.command(
                *("optimize", "rms_norm", "--case", "ragged", "--proposer", "tune"),
                *("--rounds", "1", "--width", "2", "--confirm", "0"),
            ),
            cwd=ROOT,
            env=bench.environment(DOCKER_HOST=daemon.address),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        began_s = time.monotonic()
        try:
            client = docker.DockerClient(daemon.address)
            mine = Containers(client, process.pid)
            until(lambda: mine.running("judge") or process.poll() is not None, 240, "it judges")
            client.close()
            daemon.stop(how)
            time.sleep(6)
            daemon.start()
            stdout, stderr = process.communicate(timeout=240)
        finally:
            process.kill()
            process.wait()
        took_s = time.monotonic() - began_s
        assert process.returncode in (0, 1), stderr
        waits = [int(pause) for pause in re.findall(r" waits (\d+) s: ", stderr)]
        assert waits[:2] == [1, 2]
        assert json.loads(stdout)["spent"]["wall_s"] <= took_s - sum(waits) + 0.1
        assert len(RunStore(bench.home).verdicts()) == 2
        client = docker.DockerClient(daemon.address)
        until(lambda: not Containers(client, process.pid).all(), 15, "no container is left")
        client.close()


def test_a_daemon_that_dies_and_starts_again_is_waited_for(tmp_path: Path) -> None:
    stop_and_start(signal.SIGKILL, tmp_path)


@pytest.mark.slow
def test_a_daemon_that_is_restarted_is_waited_for(tmp_path: Path) -> None:
    """Stopped in order, it lets the judgement that is under way end, and refuses the next."""
    stop_and_start(signal.SIGTERM, tmp_path)
