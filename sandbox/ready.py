"""Sandboxes that got ready while nobody waited: the next job like the last starts at once."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from sandbox.backend import Backend, ReadySandbox
from sandbox.errors import InfrastructureError
from sandbox.job import Job, JobResult

SETTLE_S = 120.0
"""The longest that a command may take to get ready."""


class ReadyPool:
    """Keeps one sandbox ready for each of the kinds of job that were run last.

    A sandbox serves one job and is thrown away: no job finds what another left. Safe to use from
    several threads.

    Args:
        backend: where the jobs run.
        hold: entered while a sandbox gets ready, e.g. to keep out of the way of a timing.
        most: how many kinds of job are kept ready.
    """

    def __init__(
        self,
        backend: Backend,
        hold: Callable[[], contextlib.AbstractContextManager[object]] = contextlib.nullcontext,
        most: int = 3,
    ) -> None:
        self._backend = backend
        self._hold = hold
        self._most = most
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="ready-sandboxes")
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._ready: dict[str, Future[ReadySandbox]] = {}
        self._making: ReadySandbox | None = None
        self._closed = False

    def run(self, job: Job, rest: Mapping[str, bytes], stamp: str = "") -> JobResult:
        """Run ``job`` with the files ``rest`` besides its own, in a ready sandbox if there is one.

        Args:
            stamp: identity of whatever the mounts hold; another one makes another kind of job.

        Raises:
            InfrastructureError: also a new sandbox could not run it.
        """
        key = _key(job, stamp)
        waiting = self._take(key, job)
        if waiting is not None:
            # One that a restart of the daemon took away says nothing about the job.
            with contextlib.suppress(InfrastructureError):
                return waiting.result().run(rest, job.limits.wall_s)
        return self._backend.run(job.with_files(rest))

    def replenish(self) -> None:
        """Begin to make ready, in the background, what was used up."""
        with self._lock:
            if self._closed:
                return
            for key, job in self._jobs.items():
                found = self._ready.get(key)
                if found is None or (found.done() and found.exception() is not None):
                    self._ready[key] = self._worker.submit(self._make, job)

    def settle(self, timeout_s: float = SETTLE_S) -> int:
        """Wait until all that is being made ready is; return how many sandboxes are."""
        with self._lock:
            pending = list(self._ready.values())
        return sum(future.exception(timeout_s) is None for future in pending)

    def close(self) -> None:
        """Remove every ready sandbox, one in the making too; the pool makes no more."""
        with self._lock:
            self._closed = True
            left, self._ready = list(self._ready.values()), {}
            making = self._making
        for future in left:
            future.cancel()
        if making is not None:
            making.close()
        self._worker.shutdown(wait=True)
        for future in left:
            _discard(future)

    def _take(self, key: str, job: Job) -> Future[ReadySandbox] | None:
        with self._lock:
            self._jobs[key] = job
            self._jobs.move_to_end(key)
            while len(self._jobs) > self._most:
                dropped, _ = self._jobs.popitem(last=False)
                unused = self._ready.pop(dropped, None)
                if unused is not None and not unused.cancel():
                    unused.add_done_callback(_discard)
            found = self._ready.pop(key, None)
        if found is None or found.cancel():
            return None
        return found

    def _make(self, job: Job) -> ReadySandbox:
        with self._hold():
            sandbox = self._backend.ready(job)
            with self._lock:
                self._making = None if self._closed else sandbox
            try:
                if self._closed:
                    raise InfrastructureError("the pool of ready sandboxes was closed")
                sandbox.settle(SETTLE_S)
            except BaseException:
                sandbox.close()
                raise
            finally:
                with self._lock:
                    self._making = None
            return sandbox


def _discard(future: Future[ReadySandbox]) -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().close()


def _key(job: Job, stamp: str) -> str:
    """Identity of a kind of job: all but its time limit, which begins when the rest is there."""
    digest = hashlib.sha256(stamp.encode())
    fields = job.model_dump(mode="python", exclude={"files": True, "limits": {"wall_s"}})
    digest.update(repr(sorted(fields.items())).encode())
    for name in sorted(job.files):
        digest.update(f"\0{name}\0{len(job.files[name])}\0".encode() + job.files[name])
    return digest.hexdigest()
