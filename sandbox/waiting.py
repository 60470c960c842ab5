"""A sandbox that gets ready beforehand, whatever the backend."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from sandbox.backend import ordered_files
from sandbox.errors import InfrastructureError
from sandbox.frames import FrameError, Read, encode_job, encode_rest, read_ready
from sandbox.job import Job, JobResult

_SEND_S = 30.0


class Link(Protocol):
    """The host's end of the channel to one started shim."""

    nonce: bytes

    def faults(self) -> contextlib.AbstractContextManager[None]:
        """Turns faults of the machinery within the block into `InfrastructureError`."""
        ...

    def send(self, frames: Iterable[bytes], deadline: float) -> None: ...

    def reader(self, deadline: float) -> Read: ...

    def finish(self, frames: Iterable[bytes], wall_s: float) -> JobResult:
        """Send ``frames`` and read the result, or say how the sandbox ended without one."""
        ...


class Waiting:
    """See `sandbox.backend.ReadySandbox`.

    Args:
        header: of the job's frame.
        resources: closed in the end, and the sandbox with them.
    """

    def __init__(
        self, job: Job, header: dict[str, Any], link: Link, resources: contextlib.ExitStack
    ) -> None:
        self._job = job
        self._link = link
        self._resources = resources
        self._settled = self._closed = False
        frames = encode_job(header, ordered_files(job), link.nonce)
        try:
            with link.faults():
                link.send(frames, time.monotonic() + _SEND_S)
        except BaseException:
            self.close()
            raise

    def settle(self, timeout_s: float) -> None:
        if self._closed:
            raise InfrastructureError("a waiting sandbox is good for one use, and this one is used")
        if self._settled:
            return
        try:
            with self._link.faults():
                read_ready(self._link.reader(time.monotonic() + timeout_s), self._link.nonce)
        except FrameError as error:
            raise InfrastructureError(f"a waiting sandbox ended ({error}): try again") from error
        self._settled = True

    def run(self, files: Mapping[str, bytes], wall_s: float) -> JobResult:
        try:
            # Only what the job could have had in the first place.
            self._job.with_files(files)
            self.settle(wall_s)
            with self._link.faults():
                rest = encode_rest(files.items(), wall_s, self._link.nonce)
                return self._link.finish(rest, wall_s)
        finally:
            self.close()

    def close(self) -> None:
        self._closed = True
        self._resources.close()
