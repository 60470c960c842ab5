"""Check what a person typed before anything is started, with a message that names the choices."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from agent.cli.failures import CliError

if TYPE_CHECKING:
    from reference_kernels.problem import Problem

SOURCE_BYTES = 1 << 20


def problem(
    op: str,
    *,
    case: str | None = None,
    implementation: str | None = None,
    target: str | None = None,
) -> Problem:
    """The op's `Problem`; the other names are known to be good once this returns."""
    from reference_kernels import catalog

    found = catalog.problem(op)
    if target is not None:
        from evaluators import targets

        targets.target(target)
    if case is not None:
        # A held-out case may be named by who knows it, and is listed for nobody.
        shown = (c.name for c in found.cases if "holdout" not in c.tags)
        _one_of("case", case, op, (c.name for c in found.cases), shown)
    if implementation is not None:
        _one_of("implementation", implementation, op, (i.name for i in found.implementations))
    return found


def _one_of(
    what: str, name: str, op: str, names: Iterable[str], shown: Iterable[str] | None = None
) -> None:
    known = list(names)
    if name not in known:
        choices = ", ".join(known if shown is None else shown)
        raise CliError("not_found", f"{op} has no {what} {name!r}; it has: {choices}")


def source(path: Path) -> str:
    """The text of a candidate's file, or a usage error that says what is wrong with it."""
    try:
        if path.is_dir():
            raise CliError("input", f"{path} is a folder, not a file")
        if path.exists() and not path.is_file():
            raise CliError("input", f"{path} is no regular file")
        size = path.stat().st_size
        if size > SOURCE_BYTES:
            raise CliError(
                "input", f"{path} has {size} bytes; a candidate has at most {SOURCE_BYTES}"
            )
        data = path.read_bytes()
    except OSError as error:
        raise CliError("input", f"cannot read {path}: {error.strerror}") from None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise CliError("input", f"{path} is not UTF-8 text") from None
    if "\0" in text:
        raise CliError("input", f"{path} is binary, not Python source")
    if not text.strip():
        raise CliError("input", f"{path} is empty")
    return text
