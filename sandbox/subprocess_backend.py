"""The subprocess backend: limits, a clean environment and a tidy end, but no security boundary."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from sandbox import owner
from sandbox.backend import SHIM_ARGUMENTS, Claim, Place, new_nonce, ordered_files, shim_header
from sandbox.errors import InfrastructureError
from sandbox.frames import FrameError, encode_job, read_result
from sandbox.job import Job, JobResult
from sandbox.logs import clean_log
from sandbox.pipes import PipeReader, send_all
from sandbox.toolchain import digest_of, host_toolchain

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
        try:
            folder = tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{owner.label()}-")
        except OSError as error:
            raise InfrastructureError(
                f"no room for a working directory ({error}): free space or set TMPDIR"
            ) from error
        try:
            return self._run_in(job, folder)
        finally:
            _remove_tree(folder)

    def _run_in(self, job: Job, folder: str) -> JobResult:
        toolchain = host_toolchain()
        work = folder + (job.disguise.work_dir if job.disguise else "/work")
        os.makedirs(work)
        place = Place(
            work=work,
            python=str(toolchain.interpreter),
            site_packages=tuple(map(str, toolchain.site_packages)),
            mounts=tuple(str(mount.resolved()) for mount in job.mounts),
            path="/usr/local/bin:/usr/bin:/bin",
        )
        nonce = new_nonce()
        header = shim_header(job, place, contained=False)
        frames = encode_job(header, ordered_files(job), nonce)
        deadline = time.monotonic() + job.limits.wall_s + _GRACE_S
        started = time.monotonic_ns()
        with tempfile.TemporaryFile() as errors, self._shim(place, errors) as shim:
            assert shim.stdin is not None
            assert shim.stdout is not None
            try:
                send_all(shim.stdin.fileno(), frames, deadline)
                reader = PipeReader(shim.stdout.fileno(), deadline)
                return read_result(reader.read, nonce, job.limits)
            except TimeoutError:
                outcome, text = "timeout", ""
            except (FrameError, BrokenPipeError) as error:
                errors.seek(0)
                outcome = "protocol"
                text = f"sandbox: {error}\n{clean_log(errors.read(16384))}"
            finally:
                # The shim kills what is left when its stdin closes, and ends.
                shim.stdin.close()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    shim.wait(timeout=15)
                shim.kill()
        return JobResult(outcome=outcome, log=text, duration_ns=time.monotonic_ns() - started)

    def _shim(self, place: Place, errors: object) -> "subprocess.Popen[bytes]":
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


def _remove_tree(folder: str) -> None:
    """Remove a job's folder, even where the job took away its own permissions."""

    def again(function: object, path: str, error: BaseException) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700, follow_symlinks=True)

    shutil.rmtree(folder, onexc=again)
    shutil.rmtree(folder, ignore_errors=True)
