"""A unified diff drawn for eyes: both texts side by side, or in one column with colours.

The text is a candidate's, so it is cleaned first, and nothing in it is read as markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING

from agent.cli.output import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

WIDE_COLUMNS = 120
"""From this width on two texts are readable side by side."""

# Sixteen colours of the terminal's own, so that it is readable on light and on dark.
THEME = "ansi_dark"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ALIKE = 0.4


@dataclass(frozen=True)
class Line:
    """One line of one side; `changed` when the other side has another in its place, or none."""

    number: int
    text: str
    changed: bool


@dataclass
class Hunk:
    """A stretch of a diff. Lines that stand beside each other are at the same index."""

    path: str
    head: str
    left: list[Line | None] = field(default_factory=list)
    right: list[Line | None] = field(default_factory=list)


def hunks(diff: str) -> Iterator[Hunk]:
    """The stretches of a unified diff, as `difflib` and `git` write them."""
    path = ""
    lines = iter(diff.split("\n"))
    for line in lines:
        if line.startswith("+++ "):
            path = line[4:].removeprefix("b/")
        match = _HUNK.match(line)
        if match:
            yield _hunk(path, line, match, lines)


def _hunk(path: str, head: str, match: re.Match[str], lines: Iterator[str]) -> Hunk:
    # Counted, since a removed line of the text may itself begin like a header.
    old, new = int(match[1]), int(match[3])
    old_left = int(match[2]) if match[2] else 1
    new_left = int(match[4]) if match[4] else 1
    made = Hunk(path, head)
    removed: list[Line] = []
    added: list[Line] = []

    def flush() -> None:
        for before, after in zip_longest(removed, added):
            made.left.append(before)
            made.right.append(after)
        removed.clear()
        added.clear()

    while old_left > 0 or new_left > 0:
        line = next(lines, None)
        if line is None:
            break
        sign, text = line[:1], line[1:]
        if sign == "-":
            removed.append(Line(old, text, True))
            old, old_left = old + 1, old_left - 1
        elif sign == "+":
            added.append(Line(new, text, True))
            new, new_left = new + 1, new_left - 1
        elif sign != "\\":
            flush()
            made.left.append(Line(old, text, False))
            made.right.append(Line(new, text, False))
            old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1
    flush()
    return made


def side_by_side(diff: str) -> RenderableType:
    """Before on the left, after on the right, with line numbers and the language's colours."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    path = None
    for hunk in hunks(printable(diff)):
        if hunk.path != path:
            path = hunk.path
            parts.append(Text(path, style="bold"))
        grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
        for _ in range(2):
            grid.add_column(justify="right", no_wrap=True)
            grid.add_column(width=1)
            grid.add_column(ratio=1, overflow="fold")
        left, right = _coloured(hunk.left, hunk.path), _coloured(hunk.right, hunk.path)
        for before, after, old, new in zip(hunk.left, hunk.right, left, right, strict=True):
            if before and after and before.changed:
                _mark_differences(old, new)
            grid.add_row(*_cells(before, old, "-", "red"), *_cells(after, new, "+", "green"))
        parts += [Text(hunk.head, style="cyan"), grid]
    return Group(*parts)


def unified(diff: str) -> Text:
    """The diff as it is, with removed and added lines in colour."""
    from rich.text import Text

    made = Text()
    for line in printable(diff).splitlines():
        first = line[:1]
        header = line.startswith(("--- ", "+++ "))
        style = "bold" if header else {"-": "red", "+": "green", "@": "cyan"}.get(first, "")
        made.append(line + "\n", style=style)
    made.rstrip()
    return made


def _cells(line: Line | None, text: Text, sign: str, style: str) -> tuple[Text, Text, Text]:
    from rich.text import Text

    if line is None:
        return Text(""), Text(""), Text("")
    if not line.changed:
        return Text(str(line.number), style="dim"), Text(""), text
    return Text(str(line.number), style=style), Text(sign, style=f"bold {style}"), text


def _coloured(lines: list[Line | None], path: str) -> list[Text]:
    """Each line with the colours of its language; the stretch is read as one text."""
    from rich.syntax import Syntax
    from rich.text import Text

    kind = {"py": "python", "json": "json"}.get(path.rpartition(".")[2], "text")
    plain = [line.text.expandtabs(4) if line else "" for line in lines]
    text = "\n".join(plain)
    drawn = Syntax(text, kind, theme=THEME, background_color="default").highlight(text)
    rows = drawn.split("\n", allow_blank=True)
    if [row.plain for row in rows[: len(plain)]] != plain:
        # A lexer that drops or joins lines must not change what is reviewed.
        return [Text(line) for line in plain]
    return rows[: len(plain)]


def _mark_differences(old: Text, new: Text) -> None:
    """Underline what differs within two lines that are alike."""
    matcher = SequenceMatcher(None, old.plain, new.plain, autojunk=False)
    if matcher.quick_ratio() < _ALIKE or matcher.ratio() < _ALIKE:
        return
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag != "equal":
            old.stylize("bold underline red", old_from, old_to)
            new.stylize("bold underline green", new_from, new_to)
