"""One judge at a time; builds share; waiting is told and measured."""

import subprocess
import sys
import threading
import time

from evaluators import locks

HOLDER = """
import sys, time
from evaluators import locks
with locks.machine(exclusive=sys.argv[1] == "exclusive"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def holder(how: str, hold_s: float) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, how, str(hold_s)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_judge_waits_for_a_judge_in_another_process() -> None:
    told = []
    with holder("exclusive", 0.5) as process:
        with locks.machine(exclusive=True, waiting=lambda: told.append(1)) as waited_ns:
            assert 0.2e9 < waited_ns < 30e9
        process.wait()
    assert told == [1]


def test_a_lock_dies_with_its_process() -> None:
    with holder("exclusive", 60) as process:
        process.kill()
        process.wait()
        with locks.machine(exclusive=True) as waited_ns:
            assert waited_ns < 1e9


def test_builds_share_and_keep_a_judge_out() -> None:
    entered = threading.Event()

    def judge() -> None:
        with locks.machine(exclusive=True):
            entered.set()

    with locks.machine(exclusive=False), locks.machine(exclusive=False):
        thread = threading.Thread(target=judge)
        thread.start()
        time.sleep(0.2)
        assert not entered.is_set()
    thread.join(30)
    assert entered.is_set()
