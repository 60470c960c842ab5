"""Standard output: tables for a person or one JSON document for a program, never both."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.measure import Measurement
    from rich.table import Table

LEAST_COLUMNS = 12


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
    """Print lines, without control sequences whoever wrote them, and tables."""
    made = console()
    for line in lines:
        made.print(printable(line) if isinstance(line, str) else line)


def console() -> Console:
    """Standard output with rich's markup switched off: names and logs are not ours."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 160
    return Console(highlight=False, markup=False, emoji=False, width=width)


class Rows:
    """A plain table; where a terminal is too narrow for it, one line a value."""

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self._columns = columns
        self._rows = [[printable(str(cell)) for cell in row] for row in rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        if self.__rich_measure__(console, options).minimum <= options.max_width:
            yield self._table()
            return
        names = [name.lstrip(">") for name in self._columns]
        width = max(map(len, names))
        for row in self._rows:
            yield Text("")
            for name, cell in zip(names, row, strict=True):
                if cell:
                    yield Text(f" {name:{width}}  {cell}")
        yield Text("")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        # What fits is asked without the limit: a table itself never says more than it.
        roomy = options.update(max_width=10_000)
        return Measurement.get(console, roomy, self._table())

    def _table(self) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for index, name in enumerate(self._columns):
            right = name.startswith(">")
            whole = right or index == 0
            longest = max((len(row[index]) for row in self._rows), default=0)
            made.add_column(
                name.lstrip(">"),
                justify="right" if right else "left",
                no_wrap=whole,
                overflow="ignore" if whole else "fold",
                # Without it a narrow terminal makes a column of names vanish.
                min_width=None if whole else max(len(name), min(longest, LEAST_COLUMNS)),
            )
        for row in self._rows:
            made.add_row(*map(Text, row))
        return made


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Rows:
    """A plain table; columns named `>name` are aligned to the right."""
    return Rows(columns, rows)


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
