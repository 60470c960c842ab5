"""While one candidate is timed, nothing else of ours builds or judges on this machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path


def lock_path() -> Path:
    return Path(tempfile.gettempdir()) / f"kernelwright-{os.getuid()}.lock"


@contextlib.contextmanager
def machine(*, exclusive: bool, waiting: Callable[[], None] = lambda: None) -> Iterator[int]:
    """Hold the machine: shared to build, exclusive to judge.

    Args:
        waiting: told once, when another of our processes holds it and this one must queue.

    Yields:
        How long it had to wait, in nanoseconds: nobody's budget is charged for it.
    """
    descriptor = os.open(lock_path(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    how = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
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
