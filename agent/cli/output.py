"""Standard output: tables for a person or one JSON document for a program, never both."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def dump_json(document: Mapping[str, Any]) -> None:
    """Print the one document of a verb."""
    sys.stdout.write(json.dumps(document, indent=2, default=_plain) + "\n")
    sys.stdout.flush()


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def show(*lines: Any) -> None:
    """Print lines and tables, with rich's markup switched off: names and logs are not ours."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 160
    console = Console(highlight=False, markup=False, width=width)
    for line in lines:
        console.print(line)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A plain table; columns named `>name` are aligned to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        right = name.startswith(">")
        whole = right or name == columns[0]
        made.add_column(
            name.lstrip(">"),
            justify="right" if right else "left",
            no_wrap=whole,
            overflow="ignore" if whole else "fold",
        )
    for row in rows:
        made.add_row(*(Text(printable(str(cell))) for cell in row))
    return made


def printable(text: str) -> str:
    """Text without control sequences; newlines and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)


def percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def milliseconds(ns: float) -> str:
    return f"{ns / 1e6:.3f}"


def short(digest: str) -> str:
    """The first twelve digits of a digest, enough to name a record on the command line."""
    return digest[:12]
