"""Render the prompts. Templates are files; a missing variable is an error, never an empty string.

Whatever came out of a container or a model stands between `<data>` marks, which it cannot close.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

import jinja2

from agent.models import Message
from agent.proposers.protocol import Context, Tried
from reference_kernels.problem import Case

FOLDER = Path(__file__).parent / "prompts"
LAST_TRIED = 8


def data(text: object, label: str) -> str:
    """Untrusted text as a delimited block."""
    clean = "".join(
        c for c in str(text) if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs")
    )
    clean = re.sub(r"<(?=\s*/?\s*data\b)", "‹", clean, flags=re.IGNORECASE)
    return f'<data name="{label}">\n{clean}\n</data>'


def time_ns(duration_ns: float) -> str:
    """A duration with the unit that reads best."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if duration_ns >= size:
            return f"{duration_ns / size:.3g} {unit}"
    return f"{duration_ns:.3g} ns"


def shape(case: Case) -> str:
    """A case's dims, dtype and static arguments on one line."""
    parts = [f"{name}={size}" for name, size in case.dims]
    parts += [f"{name}={value!r}" for name, value in case.static]
    return f"{case.dtype}, " + ", ".join(parts)


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
    made.filters.update(data=data, time_ns=time_ns, shape=shape)
    return made


def render(context: Context, number: int) -> tuple[Message, ...]:
    """The messages of one request."""
    judged = [t for t in context.history if t.judgement is not None]
    timed = [t for t in judged if t.judgement is not None and t.judgement.ratio is not None]
    best = max(timed, key=_ratio, default=None)
    values = {
        "context": context,
        "problem": context.problem,
        "entries": context.problem.implementation(context.implementation).entries,
        "recent": context.history[-LAST_TRIED:],
        "best": best,
        "best_is_parent": best is not None
        and best.candidate is not None
        and best.candidate.digest == context.parent.digest,
        "parent_is_incumbent": context.parent.files == context.incumbent.files,
        "number": number,
        # Requests of one round know nothing of each other; a different angle keeps them apart.
        "angle": context.problem.menu[number % len(context.problem.menu)]
        if context.problem.menu
        else "",
    }
    return tuple(
        Message(role, environment().get_template(name).render(values))
        for role, name in (("system", "system.md.j2"), ("user", "propose.md.j2"))
    )


def _ratio(tried: Tried) -> float:
    return (tried.judgement.ratio if tried.judgement is not None else None) or 0.0
