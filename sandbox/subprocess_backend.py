"""The subprocess backend: limits, a clean environment and a tidy end, but no security boundary."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sandbox import owner
from sandbox.backend import (
    SHIM_ARGUMENTS,
    Claim,
    Place,
    ReadySandbox,
    new_nonce,
    ordered_files,
    shim_header,
)
from sandbox.errors import InfrastructureError
from sandbox.frames import FrameError, Read, encode_job, read_result
from sandbox.job import Job, JobResult, Limits
from sandbox.logs import clean_log
from sandbox.pipes import PipeReader, send_all
from sandbox.toolchain import digest_of, host_toolchain
from sandbox.waiting import Waiting

_FOLDER_PREFIX = "kernelwright-job-"
_GRACE_S = 30.0


class SubprocessBackend:
    """Runs jobs as child processes of this user, with this host's Python and packages.

    For tests and for code that we wrote: a job can read and write whatever this user can.
    """

    name = "subprocess"
    is_boundary = False
    claims: frozenset[Claim] = frozenset(
        {"empty_environment", "memory", "processes", "time", "output", "disk", "no_orphans"}
    )

    def __init__(self) -> None:
        self.check()
        self.reap()

    def check(self) -> None:
        """Raise `InfrastructureError` where /proc does not show children of processes."""
        if not Path("/proc/self/task", str(os.getpid()), "children").exists():
            raise InfrastructureError(
                "the subprocess sandbox needs Linux with /proc/<pid>/task/<tid>/children: "
                "use the docker backend"
            )

    def toolchain_digest(self) -> str:
        """SHA-256 (hex) of the host's interpreter and packages."""
        return digest_of({"mode": self.name, "toolchain": host_toolchain().digest})

    def reap(self) -> int:
        """Remove working directories whose owner is gone. Returns how many."""
        removed = 0
        for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
            name = folder.name.removeprefix(_FOLDER_PREFIX).rpartition("-")[0]
            if owner.is_gone(name):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
        return removed

    def run(self, job: Job) -> JobResult:
        """Run ``job`` as a child in a session of its own."""
        with self._child(job) as (child, header):
            frames = encode_job(header, ordered_files(job), child.nonce)
            return child.finish(frames, job.limits.wall_s)

    def ready(self, job: Job) -> ReadySandbox:
        """Start ``job`` as a child, where it waits for the rest of its files."""
        with contextlib.ExitStack() as stack:
            child, header = stack.enter_context(self._child(job, waits=True))
            return Waiting(job, header, child, stack.pop_all())

    @contextlib.contextmanager
    def _child(self, job: Job, *, waits: bool = False) -> Iterator[tuple[_Child, dict[str, Any]]]:
        """A started shim in a folder of its own, and the header of what it is to be sent."""
        try:
            folder = tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{owner.label()}-")
        except OSError as error:
            raise InfrastructureError(
                f"no room for a working directory ({error}): free space or set TMPDIR"
            ) from error
        try:
            place = _place(job, folder)
            header = shim_header(job, place, contained=False, waits=waits)
            with tempfile.TemporaryFile() as errors, self._shim(place, errors) as shim:
                assert shim.stdin is not None
                try:
                    yield _Child(shim, errors, new_nonce(), job.limits), header
                finally:
                    # The shim kills what is left when its stdin closes, and ends.
                    shim.stdin.close()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        shim.wait(timeout=15)
                    shim.kill()
        finally:
            _remove_tree(folder)

    def _shim(self, place: Place, errors: object) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [place.python, *SHIM_ARGUMENTS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,  # type: ignore[arg-type]
                bufsize=0,
                cwd=place.work,
                env={"PATH": place.path},
                start_new_session=True,
            )
        except OSError as error:
            raise InfrastructureError(f"cannot start a process: {error}") from error


@dataclass
class _Child:
    """A started shim: the far end of a `sandbox.waiting.Link`."""

    shim: subprocess.Popen[bytes]
    errors: IO[bytes]
    nonce: bytes
    limits: Limits

    @contextlib.contextmanager
    def faults(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InfrastructureError(f"a sandbox ended early: {error}") from error

    def send(self, frames: Iterable[bytes], deadline: float) -> None:
        assert self.shim.stdin is not None
        send_all(self.shim.stdin.fileno(), frames, deadline)

    def reader(self, deadline: float) -> Read:
        assert self.shim.stdout is not None
        return PipeReader(self.shim.stdout.fileno(), deadline).read

    def finish(self, frames: Iterable[bytes], wall_s: float) -> JobResult:
        """Send what is left to send and read the result, or say how the child ended."""
        deadline = time.monotonic() + wall_s + _GRACE_S
        started = time.monotonic_ns()
        try:
            self.send(frames, deadline)
            return read_result(self.reader(deadline), self.nonce, self.limits)
        except TimeoutError:
            outcome, text = "timeout", ""
        except (FrameError, BrokenPipeError) as error:
            self.errors.seek(0)
            outcome = "protocol"
            text = f"sandbox: {error}\n{clean_log(self.errors.read(16384))}"
        return JobResult(outcome=outcome, log=text, duration_ns=time.monotonic_ns() - started)


def _place(job: Job, folder: str) -> Place:
    toolchain = host_toolchain()
    work = folder + (job.disguise.work_dir if job.disguise else "/work")
    os.makedirs(work)
    return Place(
        work=work,
        python=str(toolchain.interpreter),
        site_packages=tuple(map(str, toolchain.site_packages)),
        mounts=tuple(str(mount.resolved()) for mount in job.mounts),
        path="/usr/local/bin:/usr/bin:/bin",
    )


def _remove_tree(folder: str) -> None:
    """Remove a job's folder, even where the job took away its own permissions."""

    def again(function: object, path: str, error: BaseException) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700, follow_symlinks=True)

    shutil.rmtree(folder, onexc=again)
    shutil.rmtree(folder, ignore_errors=True)
