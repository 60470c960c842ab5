"""Render the prompts, and keep them within a model's window.

Templates are files; a missing variable is an error, never an empty string. The first message is the
same in every request of a run, to the byte: providers keep the beginning of a prompt that they know
and charge less for it. What differs stands in the second. Whatever came out of a container or a
model stands between `<data>` marks, which it cannot close.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import jinja2

from agent import prompt_text
from agent.errors import AgentError
from agent.models import Message
from agent.proposers.protocol import Context, Tried
from evaluators.verdict import CORRECT, Status

FOLDER = Path(__file__).parent / "prompts"
STABLE = ("system", "op", "incumbent")
"""Sections of the first message; then those of the second."""
VARIABLE = ("parent", "repair", "best", "tried", "answer")
FAILED = frozenset(Status) - CORRECT


class PromptTooLongError(AgentError):
    """What can never be left out of a prompt does not fit the model's window."""


@dataclass(frozen=True)
class Detail:
    """How much a prompt tells of what can be left out.

    Attributes:
        tried: how many of the last proposals.
        log_characters, diff_lines, rationale_characters: of each of them.
        operations: rows of a profile.
        errors: lines about numerics.
        best: the best proposal so far, where it is not the parent.
        incumbent: the library's text, where it is not the parent.
    """

    tried: int = 8
    log_characters: int = 4000
    diff_lines: int = 160
    rationale_characters: int = 2000
    operations: int = 12
    errors: int = 8
    best: bool = True
    incumbent: bool = True


FULL = Detail()


def ladder() -> Iterator[Detail]:
    """From everything to the least, in the order in which things are given up.

    The oldest proposals go first, then logs, diffs, reasons, profile, numerics, the best and the
    incumbent. The last proposal keeps a line of each kind: a failure is never left out.
    """
    detail = FULL
    yield detail
    for change in (
        *({"tried": n} for n in (6, 4, 3, 2)),
        *({"log_characters": n} for n in (1500, 400)),
        *({"diff_lines": n} for n in (60, 20, 8)),
        {"rationale_characters": 300},
        *({"operations": n} for n in (6, 3)),
        {"errors": 3},
        {"best": False},
        {"tried": 1},
        {"diff_lines": 0, "operations": 0, "rationale_characters": 0},
        {"incumbent": False},
    ):
        detail = replace(detail, **change)
        yield detail


@dataclass(frozen=True)
class Section:
    """One part of a prompt; `stable` ones are the same in every request of a run."""

    name: str
    text: str
    stable: bool


@dataclass(frozen=True)
class Size:
    """How large a section is."""

    name: str
    characters: int
    tokens: int


@cache
def environment() -> jinja2.Environment:
    """The one environment; a name that is not given raises."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    for each in (
        prompt_text.data,
        prompt_text.time_ns,
        prompt_text.shape,
        prompt_text.distance,
        prompt_text.table,
        prompt_text.head,
        prompt_text.tail,
    ):
        made.filters[each.__name__] = each
    return made


def sections(context: Context, number: int, detail: Detail = FULL) -> tuple[Section, ...]:
    """The parts of one request, in order; those that have nothing to say are left out."""
    values = _values(context, number, detail)
    found = [
        Section(name, environment().get_template(f"{name}.md.j2").render(values), name in STABLE)
        for name in (*STABLE, *VARIABLE)
        if _said(name, values)
    ]
    return tuple(found)


def messages(parts: tuple[Section, ...]) -> tuple[Message, ...]:
    """The stable sections as the system's message, the others as the user's."""
    return tuple(
        Message(role, "\n".join(part.text for part in parts if part.stable is stable))
        for role, stable in (("system", True), ("user", False))
    )


def render(
    context: Context,
    number: int,
    *,
    room_tokens: int | None = None,
    count: Callable[[str], int] = len,
) -> tuple[Message, ...]:
    """The messages of one request, as detailed as the room allows.

    Args:
        room_tokens: the most that both messages may have together; None for no limit.
        count: tokens of a text.

    Raises:
        PromptTooLongError: the task, the parent and the last failure alone are too long.
    """
    needed = 0
    for detail in ladder():
        made = messages(sections(context, number, detail))
        if room_tokens is None:
            return made
        needed = sum(count(message.content) for message in made)
        if needed <= room_tokens:
            return made
    raise PromptTooLongError(
        f"the task, the parent and the last failure alone take about {needed} tokens, and the"
        f" model's window has room for {max(0, room_tokens or 0)}"
    )


def sizes(
    context: Context, number: int, count: Callable[[str], int], detail: Detail = FULL
) -> tuple[Size, ...]:
    """How large each section of a request is."""
    return tuple(
        Size(part.name, len(part.text), count(part.text))
        for part in sections(context, number, detail)
    )


def _values(context: Context, number: int, detail: Detail) -> dict[str, object]:
    timed = [
        t for t in context.history if t.judgement is not None and t.judgement.ratio is not None
    ]
    best = max(timed, key=_ratio, default=None)
    parent_is_incumbent = context.parent.files == context.incumbent.files
    menu = context.problem.menu
    return {
        "context": context,
        "problem": context.problem,
        "detail": detail,
        "entries": context.problem.implementation(context.implementation).entries,
        "recent": _recent(context, detail.tried),
        "repair": context.repair,
        "best": best,
        "best_is_parent": best is not None and _is_parent(best, context),
        "origin": next((t for t in context.history if _is_parent(t, context)), None),
        "parent_is_incumbent": parent_is_incumbent,
        # Requests of one round know nothing of each other; a different angle keeps them apart.
        "angle": menu[number % len(menu)] if menu else "",
    }


def _said(name: str, values: dict[str, object]) -> bool:
    detail = values["detail"]
    assert isinstance(detail, Detail)
    if name == "incumbent":
        return detail.incumbent or bool(values["parent_is_incumbent"])
    if name == "best":
        return values["best"] is not None and not values["best_is_parent"] and detail.best
    if name == "repair":
        return values["repair"] is not None
    return name != "tried" or bool(values["recent"])


def _recent(context: Context, count: int) -> tuple[Tried, ...]:
    """The last proposals; with the last that failed, however long ago."""
    recent = context.history[-count:]
    if context.repair is not None:
        # A section of its own says all of that one.
        return tuple(t for t in recent if t.number != context.repair.number)
    last = next((t for t in reversed(context.history) if _failed(t)), None)
    return recent if last is None or last in recent else (last, *recent)


def _failed(tried: Tried) -> bool:
    judged = tried.judgement
    return bool(tried.failure) or (judged is not None and judged.status in FAILED)


def _is_parent(tried: Tried, context: Context) -> bool:
    return tried.candidate is not None and tried.candidate.digest == context.parent.digest


def _ratio(tried: Tried) -> float:
    return (tried.judgement.ratio if tried.judgement is not None else None) or 0.0
