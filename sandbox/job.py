"""What goes into a sandbox, `Job` and its parts, and what comes out, `JobResult`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from sandbox.errors import PolicyError

MIB = 1 << 20
GIB = 1 << 30

Outcome = Literal[
    "exited", "signalled", "timeout", "memory", "processes", "disk", "output", "protocol"
]

MAX_NAME_DEPTH = 8
_COMPONENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=@,-]{0,199}\Z")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_CPU_SET = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*\Z")
_HOSTNAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\Z")
# Set by the backend alone: a job that could set them would choose what its Python loads.
_RESERVED_NAMES = frozenset({"HOME", "TMPDIR", "PATH", "PYTHONPATH", "LD_LIBRARY_PATH"})
_RESERVED_ROOTS = frozenset(
    {"", "bin", "dev", "etc", "lib", "lib64", "opt", "proc", "sbin", "sys", "tmp", "usr", "work"}
)


def check_name(name: str) -> str:
    """A relative file name of plain components, at most 8 deep; `PolicyError` for any other."""
    parts = name.split("/")
    if len(parts) > MAX_NAME_DEPTH + 1 or not all(_COMPONENT.match(part) for part in parts):
        raise PolicyError(f"refused file name {name[:200]!r}: use relative names of plain letters")
    return name


def check_absolute(path: str) -> str:
    """A normalised absolute path below ``/``; `PolicyError` for any other."""
    plain = re.fullmatch(r"(/[A-Za-z0-9_.-]+)+", path)
    if not plain or posixpath.normpath(path) != path:
        raise PolicyError(f"refused path {path[:200]!r}: use a normalised absolute path")
    return path


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(_Frozen):
    """Caps on one job. A job that meets one has its outcome, even if it went on and ended well.

    ``processes`` counts threads too, as the kernel's pids controller does. In a container the
    files below the working directory count as memory as well as disk. ``output_bytes`` is the
    total of the returned files, ``files`` their greatest number, ``log_bytes`` what is kept of
    the log, ``cpu_set`` the CPUs the job may use, like "0-1,3"; a job that gets ready beforehand
    does so on ``ready_cpu_set``, where that is given.
    """

    memory_bytes: Annotated[int, Field(ge=16 * MIB)] = 4 * GIB
    processes: Annotated[int, Field(ge=2)] = 256
    wall_s: Annotated[float, Field(gt=0, le=86_400)] = 120.0
    output_bytes: Annotated[int, Field(ge=0)] = 256 * MIB
    log_bytes: Annotated[int, Field(ge=0, le=16 * MIB)] = 64 * 1024
    disk_bytes: Annotated[int, Field(ge=64 * 1024)] = 512 * MIB
    files: Annotated[int, Field(ge=0, le=100_000)] = 4096
    cpu_set: str | None = None
    ready_cpu_set: str | None = None

    @field_validator("cpu_set", "ready_cpu_set")
    @classmethod
    def _check_cpu_set(cls, value: str | None) -> str | None:
        if value is not None and not _CPU_SET.match(value):
            raise PolicyError(f"refused cpu_set {value!r}: write it like 0-1,3")
        return value

    @property
    def cpus(self) -> tuple[int, ...]:
        """The numbers in ``cpu_set``; empty when the job may use every CPU."""
        return _numbers(self.cpu_set)

    @property
    def ready_cpus(self) -> tuple[int, ...]:
        """The numbers in ``ready_cpu_set``, or else those in ``cpu_set``."""
        return _numbers(self.ready_cpu_set) or self.cpus


def _numbers(cpu_set: str | None) -> tuple[int, ...]:
    numbers: set[int] = set()
    for part in cpu_set.split(",") if cpu_set else ():
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(numbers))


class Mount(_Frozen):
    """A directory of the host, read-only in the sandbox at ``target``.

    ``on_path`` puts it on the ``sys.path`` of the job's Python, before the toolchain's packages.
    """

    source: Path
    target: str
    on_path: bool = False

    @field_validator("target")
    @classmethod
    def _check_target(cls, value: str) -> str:
        check_absolute(value)
        if value.split("/")[1] in _RESERVED_ROOTS:
            raise PolicyError(f"refused mount target {value}: it lies in a folder of the system")
        return value

    def resolved(self) -> Path:
        """The directory that is mounted, links resolved; `PolicyError` when it cannot be."""
        source = self.source.resolve()
        if not source.is_dir() or source == Path("/"):
            raise PolicyError(f"refused mount for {self.target}: its source is no directory")
        return source


class Disguise(_Frozen):
    """Makes a second sandbox look different, so that a job that sniffs its surroundings shows.

    ``mount_root`` is put before every mount's target (and the toolchain's, where it is mounted).
    ``reverse_files`` writes the inputs in the opposite order, which changes directory listings.
    """

    user_id: Annotated[int, Field(ge=1, lt=1 << 31)] = 1001
    group_id: Annotated[int, Field(ge=1, lt=1 << 31)] = 1001
    work_dir: str = "/srv/scratch/a41"
    mount_root: str | None = "/srv/tree"
    hostname: str = "builder-7"
    environment: dict[str, str] = Field(default_factory=lambda: {"LANG": "en_GB.UTF-8"})
    reverse_files: bool = True
    hash_seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 20_011

    @model_validator(mode="after")
    def _check(self) -> Self:
        for path in (self.work_dir, self.mount_root):
            if path is not None and check_absolute(path).split("/")[1] in _RESERVED_ROOTS:
                raise PolicyError(f"refused disguise path {path}: it lies in a system folder")
        if not _HOSTNAME.match(self.hostname):
            raise PolicyError(f"refused hostname {self.hostname!r}")
        check_environment(self.environment)
        return self


def check_environment(environment: dict[str, str]) -> dict[str, str]:
    """Plain names, none that the backend sets itself, no NUL; `PolicyError` for any other."""
    for name, value in environment.items():
        if not _ENVIRONMENT_NAME.match(name) or name in _RESERVED_NAMES or "\0" in value:
            raise PolicyError(f"refused environment variable {name[:100]!r}")
    return environment


class Job(_Frozen):
    """Files, a policy and a command.

    ``files`` are written below ``in/`` of the working directory; the command leaves its results
    below ``out/``. In the command and in environment values, ``{in}``, ``{out}``, ``{work}`` and
    ``{mount:0}`` stand for directories; ``{python}`` as the first element for the sandbox's
    Python. The environment is these names and the few that the backend sets, nothing inherited.
    """

    command: tuple[str, ...]
    files: dict[str, bytes] = Field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    limits: Limits = Field(default_factory=Limits)
    disguise: Disguise | None = None
    label: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.command or not self.command[0]:
            raise PolicyError("refused job: it has no command")
        if any("\0" in element for element in self.command):
            raise PolicyError("refused job: its command holds a NUL")
        for name in self.files:
            check_name(name)
        for name in self.files:
            if any(parent in self.files for parent in _parents(name)):
                raise PolicyError(f"refused file name {name!r}: another file is its folder")
        targets = [mount.target for mount in self.mounts]
        if len(set(targets)) != len(targets):
            raise PolicyError("refused job: two mounts have one target")
        if sum(map(len, self.files.values())) > self.limits.disk_bytes:
            raise PolicyError("refused job: its input files exceed disk_bytes")
        check_environment(self.environment)
        return self

    def with_files(self, files: Mapping[str, bytes]) -> Job:
        """The same job with more files; `PolicyError` for one that it has already."""
        twice = sorted(self.files.keys() & files.keys())
        if twice:
            raise PolicyError(f"refused file name {twice[0]!r}: the job has it already")
        return Job.model_validate({**dict(self), "files": {**self.files, **files}})


def _parents(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


class JobResult(_Frozen):
    """What a job did. Everything in it came from the sandbox: data, never instructions.

    ``files`` and ``exit_code`` are there only when the command ended by itself ("exited") or by a
    signal ("signalled", then ``signal`` is its number). ``log`` is cleaned text.
    """

    outcome: Outcome
    exit_code: int | None = None
    signal: int | None = None
    files: dict[str, bytes] = Field(default_factory=dict)
    log: str = ""
    log_truncated: bool = False
    duration_ns: Annotated[int, Field(ge=0)] = 0
    peak_memory_bytes: int | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.outcome == "exited") != (self.exit_code is not None):
            raise ValueError("an exit code belongs to the outcome 'exited' and to no other")
        if self.files and self.outcome not in ("exited", "signalled"):
            raise ValueError("no files without an end of the command")
        return self

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with exit code 0."""
        return self.outcome == "exited" and self.exit_code == 0
