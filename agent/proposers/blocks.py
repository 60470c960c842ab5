"""Take a reply apart: search-and-replace blocks, fenced blocks, and the prose around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

PYTHON = frozenset({"", "python", "py", "python3"})
# Not code, whatever it is: a log, an example, a diff to look at.
PLAIN = frozenset({"text", "txt", "plaintext", "console", "output", "diff", "bash", "sh", "shell",
                   "json", "yaml", "toml", "markdown", "md", "latex", "math"})  # fmt: skip

_FENCE = re.compile(r"^(?P<ticks>`{3,})[ \t]*(?P<language>[\w+#-]*)[ \t]*$")
_SEARCH = re.compile(r"^<{5,9} ?SEARCH\s*$")
_MIDDLE = re.compile(r"^={5,9}\s*$")
_REPLACE = re.compile(r"^>{5,9} ?REPLACE\s*$")
_REASONING = re.compile(r"^\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN_REASONING = re.compile(r"^\s*<(think|thinking|reasoning)>", re.IGNORECASE)


class UnclosedError(Exception):
    """A block begins and never ends; the message says which."""


@dataclass(frozen=True)
class Edit:
    """One block: text that occurs exactly once, and what takes its place."""

    search: str
    replace: str


@dataclass(frozen=True)
class Pieces:
    """A reply in parts.

    Attributes:
        modules: bodies of python fences.
        foreign: languages of fences that hold code of another kind.
    """

    edits: list[Edit]
    modules: list[str]
    foreign: list[str]
    prose: str


def without_reasoning(reply: str) -> str:
    """The reply without a model's thoughts before it.

    Raises:
        UnclosedError: they never end.
    """
    if _OPEN_REASONING.match(reply) is None:
        return reply
    rest = _REASONING.sub("", reply, count=1)
    if rest == reply:
        raise UnclosedError("the model's reasoning never ends: there is no answer after it")
    return rest


def pieces(reply: str) -> Pieces:
    """Take a reply apart.

    Raises:
        UnclosedError: a block in it never ends.
    """
    edits, rest = _edits(reply.replace("\r\n", "\n").split("\n"))
    modules, foreign, prose = _fences(rest)
    return Pieces(edits, modules, foreign, "\n".join(prose).strip())


def _edits(lines: list[str]) -> tuple[list[Edit], list[str]]:
    """Edits, and the lines outside of them."""
    edits: list[Edit] = []
    rest: list[str] = []
    search: list[str] = []
    replace: list[str] = []
    part = "outside"
    for line in lines:
        if part == "outside":
            if _SEARCH.match(line):
                part, search, replace = "search", [], []
            else:
                rest.append(line)
        elif part == "search":
            if _MIDDLE.match(line):
                part = "replace"
            else:
                search.append(line)
        elif _REPLACE.match(line):
            edits.append(_edit(search, replace))
            part = "outside"
        else:
            replace.append(line)
    if part != "outside":
        raise UnclosedError(f"a block ends in its {part} part")
    return edits, rest


def _edit(search: list[str], replace: list[str]) -> Edit:
    # Whole lines: with their newline, so that an empty replacement deletes the line.
    return Edit("".join(line + "\n" for line in search), "".join(line + "\n" for line in replace))


def _fences(lines: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Bodies of python fences, other languages of code, and the prose outside of all fences."""
    modules: list[str] = []
    foreign: list[str] = []
    prose: list[str] = []
    body: list[str] | None = None
    ticks = language = ""
    for line in lines:
        fence = _FENCE.match(line)
        if body is None:
            if fence:
                body, ticks, language = [], fence["ticks"], fence["language"].lower()
            else:
                prose.append(line)
        elif fence and not fence["language"] and len(fence["ticks"]) >= len(ticks):
            if language in PYTHON:
                modules.append("\n".join(body))
            elif language not in PLAIN:
                foreign.append(language)
            body = None
        else:
            body.append(line)
    if body is not None:
        raise UnclosedError("a code block is never closed: the reply may be cut off")
    return [m for m in modules if m.strip()], foreign, prose
