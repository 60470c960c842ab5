"""Read a model's reply: one whole file, or search-and-replace blocks against the parent.

A reply is untrusted text. It either becomes the full text of a module that parses and has the
module's names, or a typed failure that can be recorded and told to the next request. What a module
does is for the sandbox and the judge; this only spares them what cannot be one.
"""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent.proposers.blocks import Edit, UnclosedError, pieces, without_reasoning

MAX_REPLY_CHARACTERS = 1_000_000
MAX_SOURCE_CHARACTERS = 200_000
RATIONALE_CHARACTERS = 2000

_REFUSAL = re.compile(
    r"^\W*(i['’]?m sorry|sorry|i apologi[sz]e|i can(['’]t|not| not)|i won['’]t|i will not"
    r"|i am unable|i am not able|unfortunately,? i|as an ai\b)",
    re.IGNORECASE,
)
_DATA_MARK = re.compile(r"<\s*/?\s*data\b[^>\n]*>", re.IGNORECASE)
_INSTRUCTION = re.compile(
    r"\b(ignore|disregard|override|forget)\s+((all|any|the|these|those|your|previous|prior|above"
    r"|earlier|of)\s+)+(instructions?|rules|system prompt)\b",
    re.IGNORECASE,
)
# Text that reads otherwise than it runs fools whoever reviews the diff.
_BIDIRECTIONAL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class AnswerError(Exception):
    """A reply that gives no module. `kind` is closed: see the subclasses."""

    kind = "unparsable"

    def __str__(self) -> str:
        return f"{self.kind}: {super().__str__()}"


class EmptyAnswerError(AnswerError):
    kind = "empty"


class RefusedAnswerError(AnswerError):
    kind = "refused"


class TruncatedAnswerError(AnswerError):
    kind = "truncated"


class BinaryAnswerError(AnswerError):
    kind = "binary"


class InjectedAnswerError(AnswerError):
    kind = "injected"


class UnparsableAnswerError(AnswerError):
    kind = "unparsable"


class WrongLanguageError(AnswerError):
    kind = "wrong_language"


class NotTheModuleError(AnswerError):
    kind = "not_the_module"


class NoMatchError(AnswerError):
    kind = "no_match"


class AmbiguousMatchError(AnswerError):
    kind = "ambiguous"


class SourceSyntaxError(AnswerError):
    kind = "syntax_error"


class TooLargeError(AnswerError):
    kind = "too_large"


@dataclass(frozen=True)
class Parsed:
    """A module's full text, and what the model said around it."""

    source: str
    rationale: str


def parse(reply: str, parent: str, names: Iterable[str] = ()) -> Parsed:
    """Turn a reply into a module.

    Args:
        parent: the text that search-and-replace blocks refer to.
        names: what the module must define.

    Raises:
        AnswerError: one of its subclasses says what is wrong.
    """
    if len(reply) > MAX_REPLY_CHARACTERS:
        raise TooLargeError(f"the reply has {len(reply)} characters")
    refuse_binary(reply)
    try:
        reply = without_reasoning(reply)
        if not reply.strip():
            raise EmptyAnswerError("the reply has no text")
        found = pieces(reply)
    except UnclosedError as error:
        raise UnparsableAnswerError(str(error)) from error
    if found.edits and found.modules:
        raise UnparsableAnswerError("the reply has both edits and a whole file")
    if len(found.modules) > 1:
        raise UnparsableAnswerError(
            f"the reply has {len(found.modules)} python blocks instead of one"
        )
    if not found.edits and not found.modules:
        raise _nothing(found.prose, found.foreign)
    _refuse_injected(found.prose)
    source = apply(parent, found.edits) if found.edits else found.modules[0]
    source = valid(source, names)
    if _DATA_MARK.search(source) and not _DATA_MARK.search(parent):
        raise InjectedAnswerError("the module holds the marks that set data apart in a prompt")
    return Parsed(source, found.prose[:RATIONALE_CHARACTERS])


def refuse_binary(text: str) -> None:
    """Refuse what is no text.

    Raises:
        BinaryAnswerError: it has control characters, half characters, or turns its own direction.
    """
    for character in set(text):
        category = unicodedata.category(character)
        control = category == "Cc" and character not in "\n\r\t\f"
        if control or category == "Cs" or character in _BIDIRECTIONAL:
            raise BinaryAnswerError(f"the reply holds U+{ord(character):04X}, which is no text")


def valid(source: str, names: Iterable[str] = ()) -> str:
    """The text with one newline at its end, when it is Python of a sensible size with these names.

    Raises:
        TooLargeError, SourceSyntaxError, NotTheModuleError: it is not.
    """
    if len(source) > MAX_SOURCE_CHARACTERS:
        raise TooLargeError(f"the module has {len(source)} characters")
    # A doubtful escape sequence is the author's affair, not ours to print.
    warnings.filterwarnings("ignore", category=SyntaxWarning, module="<unknown>")
    try:
        source.encode()
        tree = ast.parse(source)
    except SyntaxError as error:
        raise SourceSyntaxError(f"line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceSyntaxError(str(error) or type(error).__name__) from error
    missing = [name for name in names if name not in set(_defined(tree.body))]
    if missing:
        raise NotTheModuleError(f"the module does not define {', '.join(missing)}")
    return source.rstrip("\n") + "\n"


def defined(source: str) -> frozenset[str]:
    """Names that a module defines or imports at its top level."""
    return frozenset(_defined(ast.parse(source).body))


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


def _nothing(prose: str, foreign: list[str]) -> AnswerError:
    """Why a reply without module and edits has none."""
    if foreign:
        return WrongLanguageError(f"the reply is in {', '.join(dict.fromkeys(foreign))}")
    if _REFUSAL.match(prose):
        return RefusedAnswerError(" ".join(prose.split())[:200])
    return UnparsableAnswerError("the reply has neither a python block nor edits")


def _refuse_injected(prose: str) -> None:
    """Refuse a reply that speaks to the reader of later prompts.

    They quote it between marks, so this is no defence: it saves the request that it would spoil.
    """
    found = _DATA_MARK.search(prose) or _INSTRUCTION.search(prose)
    if found:
        raise InjectedAnswerError(
            f"the reply gives orders or imitates the prompt: {found[0][:80]!r}"
        )


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Import() | ast.ImportFrom():
                yield from (alias.asname or alias.name for alias in node.names)
            case ast.Assign():
                yield from _targets(node.targets)
            case ast.AnnAssign() if node.value is not None:
                yield from _targets([node.target])
            case ast.If() | ast.Try():
                yield from _defined(node.body)
                yield from _defined(node.orelse)
            case ast.With():
                yield from _defined(node.body)


def _targets(targets: list[ast.expr]) -> Iterator[str]:
    for target in targets:
        yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
