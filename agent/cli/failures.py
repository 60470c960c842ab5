"""What an exception means to the person at the terminal: a kind, one line, an exit code.

This is the one place that maps the folders' typed errors. They are looked up by name, so that
mapping a docker or jax failure does not import docker or jax.
"""

from __future__ import annotations

import json
import sys
import traceback
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import typer


class ExitCode(IntEnum):
    """Documented in docs/cli.md; scripts rely on them."""

    DONE = 0
    NEGATIVE = 1
    USAGE = 2
    INFRASTRUCTURE = 3
    INTERRUPTED = 130


Kind = Literal[
    "usage", "input", "not_found", "refused", "infrastructure", "interrupted", "internal"
]

EXIT_CODES: dict[Kind, ExitCode] = {
    "usage": ExitCode.USAGE,
    "input": ExitCode.USAGE,
    "not_found": ExitCode.USAGE,
    "refused": ExitCode.NEGATIVE,
    "infrastructure": ExitCode.INFRASTRUCTURE,
    "interrupted": ExitCode.INTERRUPTED,
    "internal": ExitCode.INFRASTRUCTURE,
}


class CliError(Exception):
    """A failure found by the command line itself."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind


_UsageError, _ClickError = typer.BadParameter.__mro__[1:3]

# The first class of an exception's MRO that stands here decides.
KINDS: dict[str, Kind] = {
    "reference_kernels.errors.UnknownOpError": "not_found",
    "reference_kernels.errors.TuningDataError": "input",
    "reference_kernels.errors.KernelError": "usage",
    "sandbox.errors.PolicyError": "usage",
    "sandbox.errors.SandboxError": "infrastructure",
    "evaluators.errors.UnknownTargetError": "not_found",
    "evaluators.errors.EvaluatorError": "infrastructure",
    "runs.errors.UnknownRunError": "not_found",
    "runs.errors.UnknownRecordError": "not_found",
    "runs.errors.UsageError": "usage",
    "runs.errors.InfrastructureError": "infrastructure",
    "runs.errors.RunStoreError": "refused",
    "agent.errors.SettingsError": "usage",
    "agent.errors.UnknownRunError": "not_found",
    "agent.errors.RecordingError": "input",
    "agent.errors.AgentError": "infrastructure",
    "builtins.KeyboardInterrupt": "interrupted",
    "builtins.MemoryError": "infrastructure",
    "builtins.OSError": "infrastructure",
    "sqlite3.Error": "infrastructure",
}


@dataclass(frozen=True)
class Failure:
    """One failed command, as it is shown."""

    kind: Kind
    message: str

    @property
    def exit_code(self) -> ExitCode:
        return EXIT_CODES[self.kind]

    def envelope(self) -> dict[str, dict[str, str | int]]:
        return {
            "error": {
                "kind": self.kind,
                "message": self.message,
                "exit_code": int(self.exit_code),
            }
        }


def describe(error: BaseException) -> Failure:
    """Say what an exception means, in one line."""
    if isinstance(error, CliError):
        return Failure(error.kind, _one_line(str(error)))
    if isinstance(error, _UsageError):
        return Failure("usage", _one_line(error.format_message()))  # type: ignore[attr-defined]
    if isinstance(error, typer.Abort):
        return Failure("interrupted", "interrupted")
    for cls in type(error).__mro__:
        kind = KINDS.get(f"{cls.__module__}.{cls.__qualname__}")
        if kind == "interrupted":
            return Failure(kind, "interrupted")
        if kind is not None:
            return Failure(kind, _one_line(_text(error)))
    name = type(error).__name__
    return Failure(
        "internal", _one_line(f"unexpected {name}: {error} (--debug shows the traceback)")
    )


def report(error: BaseException, *, as_json: bool, debug: bool) -> ExitCode:
    """Print a failure where it belongs and return its exit code."""
    failure = describe(error)
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    if as_json:
        print(json.dumps(failure.envelope()))
    else:
        print(f"kernelwright: {failure.message}", file=sys.stderr)
    return failure.exit_code


def _text(error: BaseException) -> str:
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return str(error) or type(error).__name__


def _one_line(text: str, limit: int = 600) -> str:
    """Collapse whitespace and drop control characters: some of it was written by a candidate."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
