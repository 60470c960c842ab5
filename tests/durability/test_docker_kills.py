"""Real runs in containers, killed while they build and while they judge: no container stays."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from runs.queries import run_summaries
from runs.store import RunStore
from tests.durability.containers import Containers, until
from tests.durability.evidence import check_files
from tests.end_to_end.conftest import ROOT, Workbench

pytestmark = pytest.mark.docker

OPTIMIZE = (
    *("optimize", "rms_norm", "--case", "ragged", "--proposer", "tune"),
    *("--rounds", "1", "--width", "2", "--confirm", "0"),
)


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    found = docker.from_env()
    yield found
    found.close()


def kill_while(bench: Workbench, client: docker.DockerClient, job: str, seed: int) -> None:
    """Kill a run that is at work on a kind of job, and see its containers go by themselves."""
    process = bench.start(*OPTIMIZE)
    mine = Containers(client, process.pid)
    try:
        until(lambda: mine.running(job) or process.poll() is not None, 240, f"it is at {job}")
        assert process.poll() is None, process.communicate()
        time.sleep(random.Random(seed).uniform(0, 1))
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    until(lambda: not mine.all(), 15, f"no container is left of a run killed at {job}")


def resume_to_the_end(bench: Workbench) -> None:
    (summary,) = run_summaries(RunStore(bench.home))
    before = RunStore(bench.home).verdicts()
    ran = bench.run("resume", summary.run.id)
    assert ran.code in (0, 1), ran.stderr
    store = RunStore(bench.home)
    after = store.verdicts(run=summary.run.id)
    assert after[: len(before)] == before
    assert set(Counter((v.candidate, v.tier) for v in after).values()) == {1}
    assert [p.id for p in store.proposals(summary.run.id)]
    check_files(bench.home)


@pytest.mark.parametrize("job", ["build", "judge"])
def test_no_container_outlives_a_killed_run(
    client: docker.DockerClient, tmp_path: Path, job: str
) -> None:
    bench = Workbench(ROOT, tmp_path / "home")
    kill_while(bench, client, job, seed=0)
    if job == "judge":
        resume_to_the_end(bench)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_a_run_killed_at_build_and_again_at_judge(
    client: docker.DockerClient, tmp_path: Path, seed: int
) -> None:
    bench = Workbench(ROOT, tmp_path / "home")
    kill_while(bench, client, "build", seed)
    kill_while(bench, client, "judge", seed)
    for summary in run_summaries(RunStore(bench.home)):
        assert bench.run("resume", summary.run.id).code in (0, 1)
    check_files(bench.home)
