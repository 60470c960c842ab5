"""The end of a caller's time, which no judgement may pass."""

from __future__ import annotations

import time
from collections.abc import Callable

from evaluators.errors import DeadlineError
from sandbox import JobResult


class Deadline:
    """What is left of a caller's time; what is spent in a queue does not count.

    Args:
        left_s: seconds from now, None for no end.
    """

    def __init__(
        self, left_s: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._end_s = None if left_s is None else clock() + left_s

    def extend(self, waited_ns: int) -> None:
        """Give back what was spent waiting."""
        if self._end_s is not None:
            self._end_s += waited_ns / 1e9

    def limit(self, wall_s: float) -> float:
        """The time limit of a job that may take `wall_s` by itself.

        Raises:
            DeadlineError: nothing is left.
        """
        if self._end_s is None:
            return wall_s
        left_s = self._end_s - self._clock()
        if left_s <= 0:
            raise DeadlineError
        return min(wall_s, left_s)

    def check(self, result: JobResult, device_ns: int = 0) -> None:
        """Tell a job that the end cut short from one that was too slow by itself.

        Args:
            device_ns: how long the job held the device.

        Raises:
            DeadlineError: the job ran out of the caller's time.
        """
        ended = self._end_s is not None and self._clock() >= self._end_s
        if result.outcome == "timeout" and ended:
            raise DeadlineError(device_ns)
