"""SIGKILL in the middle of a run, then `resume`: nothing is lost and nothing judged twice."""

import signal
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable

import pytest

import sandbox
from runs.store import RunStore
from tests.end_to_end.conftest import Workbench

pytestmark = pytest.mark.docker


def test_a_killed_run_goes_on_where_it_was(
    workbench: Workbench, wait_until: Callable[[Callable[[], bool], float], None]
) -> None:
    process = workbench.start(
        *("optimize", "rms_norm", "--case", "ragged", "--proposer", "tune"),
        *("--rounds", "2", "--width", "2", "--patience", "9", "--confirm", "0"),
    )

    def judged() -> int:
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        try:
            return len(RunStore(workbench.home).verdicts())
        except sqlite3.Error:
            return 0

    try:
        wait_until(lambda: judged() >= 1, 300)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    store = RunStore(workbench.home)
    before = [verdict.digest for verdict in store.verdicts()]
    assert 1 <= len(before) < 4
    run_id = workbench.run("runs", "list").json()["runs"][0]["run"]["id"]

    ran = workbench.run("resume", run_id)
    assert ran.code in (0, 1), ran.stderr
    after = store.verdicts(run=run_id)
    assert [verdict.digest for verdict in after][: len(before)] == before
    counted = Counter((verdict.candidate, verdict.tier) for verdict in after)
    assert set(counted.values()) == {1}
    assert len(store.proposals(run_id)) == 4
    sandbox.reap()
    owners = subprocess.run(
        [
            *("docker", "ps", "--all", "--filter", "label=kernelwright=1"),
            *("--format", '{{.Label "kernelwright.owner"}}'),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not [owner for owner in owners if f".{process.pid}." in owner]
