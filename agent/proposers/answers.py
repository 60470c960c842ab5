"""Read a model's reply: one whole file, or search-and-replace blocks against the parent.

A reply is untrusted text. It either becomes the full text of a module that parses, or a typed
failure that can be recorded and told to the next request.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

MAX_REPLY_CHARACTERS = 1_000_000
MAX_SOURCE_CHARACTERS = 200_000
RATIONALE_CHARACTERS = 2000

_FENCE = re.compile(r"^(?P<ticks>`{3,})[ \t]*(?P<language>[\w+-]*)[ \t]*$")
_SEARCH = re.compile(r"^<{5,9} ?SEARCH\s*$")
_MIDDLE = re.compile(r"^={5,9}\s*$")
_REPLACE = re.compile(r"^>{5,9} ?REPLACE\s*$")


class AnswerError(Exception):
    """A reply that gives no module. `kind` is closed: see the subclasses."""

    kind = "unparsable"

    def __str__(self) -> str:
        return f"{self.kind}: {super().__str__()}"


class EmptyAnswerError(AnswerError):
    kind = "empty"


class UnparsableAnswerError(AnswerError):
    kind = "unparsable"


class NoMatchError(AnswerError):
    kind = "no_match"


class AmbiguousMatchError(AnswerError):
    kind = "ambiguous"


class SourceSyntaxError(AnswerError):
    kind = "syntax_error"


class TooLargeError(AnswerError):
    kind = "too_large"


@dataclass(frozen=True)
class Edit:
    """One block: text that occurs exactly once, and what takes its place."""

    search: str
    replace: str


@dataclass(frozen=True)
class Parsed:
    """A module's full text, and what the model said around it."""

    source: str
    rationale: str


def parse(reply: str, parent: str) -> Parsed:
    """Turn a reply into a module.

    Args:
        parent: the text that search-and-replace blocks refer to.

    Raises:
        AnswerError: one of its subclasses says what is wrong.
    """
    if not reply.strip():
        raise EmptyAnswerError("the reply has no text")
    if len(reply) > MAX_REPLY_CHARACTERS:
        raise TooLargeError(f"the reply has {len(reply)} characters")
    lines = reply.replace("\r\n", "\n").split("\n")
    edits, rest = _edits(lines)
    blocks, prose = _fences(rest)
    blocks = [block for block in blocks if block.strip()]
    if edits and blocks:
        raise UnparsableAnswerError("the reply has both edits and a whole file")
    if edits:
        source = apply(parent, edits)
    elif len(blocks) == 1:
        source = blocks[0]
    elif not blocks:
        raise UnparsableAnswerError("the reply has neither a python block nor edits")
    else:
        raise UnparsableAnswerError(f"the reply has {len(blocks)} python blocks instead of one")
    return Parsed(valid(source), "\n".join(prose).strip()[:RATIONALE_CHARACTERS])


def valid(source: str) -> str:
    """The text with one newline at its end, when it is Python of a sensible size.

    Raises:
        TooLargeError, SourceSyntaxError: it is not.
    """
    if len(source) > MAX_SOURCE_CHARACTERS:
        raise TooLargeError(f"the module has {len(source)} characters")
    try:
        source.encode()
        ast.parse(source)
    except SyntaxError as error:
        raise SourceSyntaxError(f"line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceSyntaxError(str(error) or type(error).__name__) from error
    return source.rstrip("\n") + "\n"


def apply(parent: str, edits: list[Edit]) -> str:
    """Apply edits in order; each search text must occur exactly once in what is there by then.

    Raises:
        NoMatchError, AmbiguousMatchError: it does not.
    """
    text = parent
    for index, edit in enumerate(edits, 1):
        if not edit.search.strip():
            raise NoMatchError(f"block {index} searches for nothing")
        count = text.count(edit.search)
        if count == 0:
            raise NoMatchError(f"block {index}: its search text is not in the file")
        if count > 1:
            raise AmbiguousMatchError(f"block {index}: its search text occurs {count} times")
        text = text.replace(edit.search, edit.replace, 1)
    return text


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
        raise UnparsableAnswerError(f"a block ends in its {part} part")
    return edits, rest


def _edit(search: list[str], replace: list[str]) -> Edit:
    # Whole lines: with their newline, so that an empty replacement deletes the line.
    return Edit("".join(line + "\n" for line in search), "".join(line + "\n" for line in replace))


def _fences(lines: list[str]) -> tuple[list[str], list[str]]:
    """Bodies of python fences, and the prose outside of all fences."""
    blocks: list[str] = []
    prose: list[str] = []
    body: list[str] | None = None
    ticks = python = ""
    for line in lines:
        fence = _FENCE.match(line)
        if body is None:
            if fence:
                body, ticks, python = [], fence["ticks"], fence["language"].lower()
            else:
                prose.append(line)
        elif fence and not fence["language"] and len(fence["ticks"]) >= len(ticks):
            if python in ("", "python", "py", "python3"):
                blocks.append("\n".join(body))
            body = None
        else:
            body.append(line)
    if body is not None:
        raise UnparsableAnswerError("a code block is never closed: the reply may be cut off")
    return blocks, prose
