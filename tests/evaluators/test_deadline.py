"""The end of a caller's time: it cuts, and tells its own cut from a candidate's slowness."""

import pytest

from evaluators.deadline import Deadline
from evaluators.errors import DeadlineError
from sandbox import JobResult

TIMEOUT = JobResult(outcome="timeout")


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_without_an_end_nothing_is_cut(clock: Clock) -> None:
    deadline = Deadline(None, clock)
    clock.now_s += 1e9
    deadline.extend(10**9)
    assert deadline.limit(120.0) == 120.0
    deadline.check(TIMEOUT)


def test_a_limit_is_what_is_left(clock: Clock) -> None:
    deadline = Deadline(30.0, clock)
    assert deadline.limit(20.0) == 20.0
    clock.now_s += 25
    assert deadline.limit(20.0) == 5.0
    clock.now_s += 5
    with pytest.raises(DeadlineError):
        deadline.limit(20.0)


def test_waiting_does_not_count(clock: Clock) -> None:
    deadline = Deadline(30.0, clock)
    clock.now_s += 40
    deadline.extend(20 * 10**9)
    assert deadline.limit(60.0) == 10.0


def test_only_a_cut_by_the_end_is_the_ends(clock: Clock) -> None:
    deadline = Deadline(30.0, clock)
    clock.now_s += 20
    deadline.check(TIMEOUT)
    clock.now_s += 10
    deadline.check(JobResult(outcome="exited", exit_code=0))
    with pytest.raises(DeadlineError) as caught:
        deadline.check(TIMEOUT, device_ns=7)
    assert caught.value.device_ns == 7
