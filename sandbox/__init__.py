"""Runs commands where they can do no harm: files, a policy and a command in; files out."""

import contextlib
from typing import Any, Literal

from sandbox.backend import Backend, Claim
from sandbox.errors import InfrastructureError, PolicyError, SandboxError
from sandbox.job import Disguise, Job, JobResult, Limits, Mount
from sandbox.logs import clean_log
from sandbox.records import Artefact, Build, Candidate

__all__ = [
    "Artefact",
    "Backend",
    "Build",
    "Candidate",
    "Claim",
    "Disguise",
    "InfrastructureError",
    "Job",
    "JobResult",
    "Limits",
    "Mount",
    "PolicyError",
    "SandboxError",
    "backends",
    "clean_log",
    "open_backend",
    "reap",
]


def backends() -> dict[str, type]:
    """Every backend by its name."""
    # Imported here so that reading a record does not load the Docker SDK.
    from sandbox.docker_backend import DockerBackend
    from sandbox.subprocess_backend import SubprocessBackend

    return {"docker": DockerBackend, "subprocess": SubprocessBackend}


def open_backend(name: Literal["docker", "subprocess"], **options: Any) -> Backend:
    """Open a backend that can run a job now, or raise `InfrastructureError` in one line."""
    known = backends()
    if name not in known:
        raise PolicyError(f"unknown sandbox backend {name!r}: use one of {', '.join(known)}")
    return known[name](**options)


def reap() -> int:
    """Remove what dead owners left behind, containers and folders. Returns how many."""
    from sandbox.docker_backend import DockerBackend
    from sandbox.subprocess_backend import SubprocessBackend

    removed = SubprocessBackend().reap()
    with contextlib.suppress(InfrastructureError):
        removed += DockerBackend().reap()
    return removed
