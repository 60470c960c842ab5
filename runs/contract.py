"""Run an op's contract suite on a patched copy of the checkout, in a sandbox of its own.

The suite imports the candidate's module, and no candidate's Python runs on the host.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from evaluators import locks
from runs.errors import ContractFailedError
from sandbox import Backend, Job, JobResult, Limits, Mount

_TAIL_LINES = 30
_MEMORY_BYTES = 8 << 30


class HasBackend(Protocol):
    """Whatever knows where jobs run: the judge."""

    @property
    def backend(self) -> Backend: ...


def run_contract(checkout: Path, op: str, judge: HasBackend, *, wall_s: float) -> None:
    """The op's contract suite passes on `checkout`.

    Args:
        judge: its backend runs the suite, with the checkout mounted read-only.
        wall_s: after so many seconds it has failed.

    Raises:
        ContractFailedError: it fails, hangs, or is not there; the message ends with its last lines.
        InfrastructureError: the sandbox failed.
    """
    suite = f"tests/reference_kernels/test_{op}.py"
    if not (checkout / suite).is_file():
        raise ContractFailedError(f"{op} has no contract suite: write and commit {suite} first")
    with locks.machine("build"):
        result = judge.backend.run(_job(checkout, suite, wall_s))
    if result.ok:
        return
    tail = "\n".join(result.log.replace(str(checkout), "<checkout>").splitlines()[-_TAIL_LINES:])
    raise ContractFailedError(
        f"{op}'s contract suite {_how(result, wall_s)} on the patched checkout; nothing was"
        f" written:\n{tail}"
    )


def _job(checkout: Path, suite: str, wall_s: float) -> Job:
    configured = (checkout / "pyproject.toml").is_file()
    return Job(
        command=(
            *("{python}", "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider"),
            *("--rootdir", "{mount:0}"),
            *(("-c", "{mount:0}/pyproject.toml") if configured else ()),
            f"{{mount:0}}/{suite}",
        ),
        mounts=(Mount(source=checkout, target="/checkout", on_path=True),),
        environment={"JAX_PLATFORMS": "cpu", "HYPOTHESIS_STORAGE_DIRECTORY": "{work}/tmp"},
        limits=Limits(wall_s=wall_s, memory_bytes=_MEMORY_BYTES, processes=512),
        label="contract",
    )


def _how(result: JobResult, wall_s: float) -> str:
    if result.outcome == "timeout":
        return f"did not end within {wall_s:.0f} s"
    if result.outcome in ("exited", "signalled"):
        return "fails"
    return f"went over its limit of {result.outcome}"
