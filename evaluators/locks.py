"""Who may work on this machine at the same time, between all processes of one user.

Two locks: `device`, which whoever times holds alone, and `quiet`, which a promotion's timing holds
alone and everything else of ours shares. So builds share the machine and may overlap with a
screening; two timings never overlap; and nothing of ours works beside a promotion's timing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

Work = Literal["build", "screen", "promote"]


def lock_path(name: str) -> Path:
    return Path(tempfile.gettempdir()) / f"kernelwright-{os.getuid()}-{name}.lock"


@contextlib.contextmanager
def machine(work: Work, waiting: Callable[[], None] = lambda: None) -> Iterator[int]:
    """Hold as much of the machine as a kind of work needs.

    Args:
        waiting: told once, when another of our processes holds it and this one must queue.

    Yields:
        How long it had to wait, in nanoseconds: nobody's budget is charged for it.
    """
    told = False

    def tell() -> None:
        nonlocal told
        if not told:
            told = True
            waiting()

    with contextlib.ExitStack() as held:
        waited_ns = 0
        # Always in this order, or two of us could wait for each other.
        if work != "build":
            waited_ns += held.enter_context(_lock("device", fcntl.LOCK_EX, tell))
        how = fcntl.LOCK_EX if work == "promote" else fcntl.LOCK_SH
        waited_ns += held.enter_context(_lock("quiet", how, tell))
        yield waited_ns


@contextlib.contextmanager
def _lock(name: str, how: int, waiting: Callable[[], None]) -> Iterator[int]:
    descriptor = os.open(lock_path(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    waited_ns = 0
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            started_ns = time.monotonic_ns()
            fcntl.flock(descriptor, how)
            waited_ns = time.monotonic_ns() - started_ns
        yield waited_ns
    finally:
        os.close(descriptor)
