"""Builds share, timings exclude each other, a promotion excludes all; waits are measured."""

import subprocess
import sys
import threading

import pytest

from evaluators import locks

HOLDER = """
import sys, time
from evaluators import locks
with locks.machine(sys.argv[1]):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def holder(work: locks.Work, hold_s: float) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, work, str(hold_s)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def entered(work: locks.Work, within_s: float) -> bool:
    """Whether this kind of work gets the machine in that time."""
    inside, leave = threading.Event(), threading.Event()

    def enter() -> None:
        with locks.machine(work):
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=enter, daemon=True)
    thread.start()
    found = inside.wait(within_s)
    leave.set()
    return found


@pytest.mark.parametrize(
    ("held", "wanted", "together"),
    [
        ("build", "build", True),
        ("build", "screen", True),
        ("screen", "build", True),
        ("screen", "screen", False),
        ("build", "promote", False),
        ("screen", "promote", False),
        ("promote", "build", False),
        ("promote", "screen", False),
        ("promote", "promote", False),
    ],
)
def test_who_works_beside_whom(held: locks.Work, wanted: locks.Work, together: bool) -> None:
    with locks.machine(held):
        assert entered(wanted, 10.0 if together else 0.2) is together
    assert entered(wanted, 10.0)


@pytest.mark.parametrize("work", ["screen", "promote"])
def test_a_timing_waits_for_one_in_another_process(work: locks.Work) -> None:
    told = []
    with holder("promote", 0.5) as process:
        with locks.machine(work, waiting=lambda: told.append(1)) as waited_ns:
            assert 0.2e9 < waited_ns < 30e9
        process.wait()
    assert told == [1]


def test_a_lock_dies_with_its_process() -> None:
    with holder("promote", 60) as process:
        process.kill()
        process.wait()
        with locks.machine("promote") as waited_ns:
            assert waited_ns < 1e9
