"""What every sandbox backend offers, and the part that all of them share."""

import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from sandbox.errors import PolicyError
from sandbox.frames import NONCE_BYTES
from sandbox.job import Job, JobResult

Claim = Literal[
    "network",
    "read_only_root",
    "empty_environment",
    "memory",
    "processes",
    "time",
    "output",
    "disk",
    "no_orphans",
    "unprivileged",
]

_SHIM_MODULES = ("guard", "wire", "watch", "collect", "shim")


def _bundle() -> str:
    """One program of the shim's modules: in the sandbox there is no file to import them from."""
    folder = Path(__file__).parent / "inside"
    sources = {name: (folder / f"{name}.py").read_text() for name in _SHIM_MODULES}
    return f"""import sys, types
for package in ("sandbox", "sandbox.inside"):
    sys.modules[package] = types.ModuleType(package)
for name, source in {sources!r}.items():
    module = sys.modules["sandbox.inside." + name] = types.ModuleType("sandbox.inside." + name)
    exec(compile(source, name + ".py", "exec"), module.__dict__)
module.main()
"""


SHIM_SOURCE = _bundle()
# Isolated and without site: the shim's own Python reads nothing that a job could have left.
SHIM_ARGUMENTS = ("-I", "-S", "-c", SHIM_SOURCE)
# No script folder on sys.path, no user site, no site: sys.path is the standard library and
# PYTHONPATH, and a .pth file of the host cannot run.
PYTHON_FLAGS = ("-P", "-s", "-S")
_PLACEHOLDER = re.compile(r"\{(in|out|work|mount:\d+)\}")


class ReadySandbox(Protocol):
    """A sandbox whose command has begun and waits for the rest of its files. Good for one use."""

    def settle(self, timeout_s: float) -> None:
        """Return once the command waits; raise `InfrastructureError` when it does not."""
        ...

    def run(self, files: Mapping[str, bytes], wall_s: float) -> JobResult:
        """Hand over the rest, let the command go on, and return what it did. Closes the sandbox.

        Its time limit, ``wall_s``, begins now.
        """
        ...

    def close(self) -> None:
        """Remove the sandbox, used or not. Safe to call twice."""
        ...


@runtime_checkable
class Backend(Protocol):
    """Runs jobs. A fault of the machinery raises `InfrastructureError`, never makes a result."""

    name: str
    is_boundary: bool
    claims: frozenset[Claim]

    def toolchain_digest(self) -> str:
        """SHA-256 (hex) that names the interpreter and every package a job can import."""
        ...

    def check(self) -> None:
        """Raise `InfrastructureError`, with what to do about it, unless a job could run now."""
        ...

    def run(self, job: Job) -> JobResult:
        """Run ``job`` to its end and return what it did. Safe to call from several threads."""
        ...

    def ready(self, job: Job) -> ReadySandbox:
        """Start ``job``, whose command says when it is ready for files that come later.

        It writes a byte to its standard input, which is a socket, and reads it to its end. In
        ``run``, where nothing is waited for, that input is empty.
        """
        ...


class Place(BaseModel):
    """Where a job finds things in one backend: paths as the job sees them."""

    model_config = ConfigDict(frozen=True)

    work: str
    python: str
    site_packages: tuple[str, ...]
    mounts: tuple[str, ...]
    path: str
    library_path: str | None = None


def substitute(job: Job, place: Place) -> tuple[list[str], dict[str, str]]:
    """The command and the complete environment of ``job`` with every placeholder replaced."""
    directories = {
        "in": f"{place.work}/in",
        "out": f"{place.work}/out",
        "work": place.work,
        **{f"mount:{index}": target for index, target in enumerate(place.mounts)},
    }

    def fill(text: str) -> str:
        def replacement(match: re.Match[str]) -> str:
            if match[1] not in directories:
                raise PolicyError(f"refused placeholder {match[0]}: the job has no such mount")
            return directories[match[1]]

        return _PLACEHOLDER.sub(replacement, text)

    command = [fill(element) for element in job.command]
    if command[0] == "{python}":
        command[:1] = [place.python, *PYTHON_FLAGS]
    # A fixed seed makes a build repeatable; the disguise proves that it does not depend on it.
    environment = {"PYTHONHASHSEED": "0"}
    environment |= {name: fill(value) for name, value in job.environment.items()}
    on_path = [
        target for mount, target in zip(job.mounts, place.mounts, strict=True) if mount.on_path
    ]
    environment |= {
        "HOME": f"{place.work}/home",
        "TMPDIR": f"{place.work}/tmp",
        "PATH": place.path,
        "PYTHONPATH": ":".join([*on_path, *place.site_packages]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if place.library_path:
        environment["LD_LIBRARY_PATH"] = place.library_path
    if job.disguise:
        environment |= job.disguise.environment
        environment["PYTHONHASHSEED"] = str(job.disguise.hash_seed)
    return command, environment


def shim_header(job: Job, place: Place, *, contained: bool, waits: bool = False) -> dict[str, Any]:
    """The header of the job frame.

    ``contained``: the kernel enforces the limits by a cgroup. ``waits``: more files come later.
    """
    command, environment = substitute(job, place)
    return {
        "command": command,
        "environment": environment,
        "work": place.work,
        "contained": contained,
        "waits": waits,
        "cpus": list(job.limits.cpus),
        "ready_cpus": list(job.limits.ready_cpus),
        "wall_s": job.limits.wall_s,
        "memory_bytes": job.limits.memory_bytes,
        "processes": job.limits.processes,
        "disk_bytes": job.limits.disk_bytes,
        "output_bytes": job.limits.output_bytes,
        "log_bytes": job.limits.log_bytes,
        "max_files": job.limits.files,
    }


def ordered_files(job: Job) -> Iterable[tuple[str, bytes]]:
    """The input files in the order in which the shim shall write them."""
    names = list(job.files)
    if job.disguise and job.disguise.reverse_files:
        names.reverse()
    return [(name, job.files[name]) for name in names]


def new_nonce() -> bytes:
    """A secret of one job: only the host and the shim know it."""
    return secrets.token_bytes(NONCE_BYTES)
