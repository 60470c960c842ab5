"""Reading and writing pipes with a deadline."""

import os
import select
import time
from collections.abc import Iterable

from sandbox.frames import EndOfStream

_CHUNK_BYTES = 1 << 20


def _wait(fd: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(fd, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise TimeoutError("the sandbox gave no answer in time")


def send_all(fd: int, frames: Iterable[bytes], deadline: float) -> None:
    """Write ``frames``; raises `TimeoutError` at ``deadline`` (monotonic seconds)."""
    os.set_blocking(fd, False)
    for frame in frames:
        view = memoryview(frame)
        while view:
            _wait(fd, select.POLLOUT, deadline)
            try:
                view = view[os.write(fd, view[:_CHUNK_BYTES]) :]
            except BlockingIOError:
                continue


class PipeReader:
    """Reads exact sizes from ``fd`` until ``deadline`` (monotonic seconds)."""

    def __init__(self, fd: int, deadline: float) -> None:
        self._fd = fd
        self._deadline = deadline

    def read(self, size: int) -> bytes:
        """Exactly ``size`` bytes, or `EndOfStream`, or `TimeoutError`."""
        parts: list[bytes] = []
        while size:
            _wait(self._fd, select.POLLIN, self._deadline)
            part = os.read(self._fd, min(size, _CHUNK_BYTES))
            if not part:
                raise EndOfStream("the stream ended early")
            size -= len(part)
            parts.append(part)
        return b"".join(parts)
