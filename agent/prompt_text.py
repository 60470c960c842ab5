"""Filters of the prompt templates: data marks, units, tables, and texts cut to size."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from reference_kernels.problem import Case

# As `evaluators.inside.operations.Operation` writes itself.
_OPERATION = re.compile(
    r"^(?P<name>.+): (?P<share>[\d.]+) % of the run, (?P<own>[\d.,]+ us) of its own,"
    r" (?P<calls>\S+) x a run$"
)


def data(text: object, label: str) -> str:
    """Untrusted text as a delimited block, which it cannot close."""
    return f'<data name="{label}">\n{cleaned(text)}\n</data>'


def cleaned(text: object) -> str:
    """The text without control and invisible characters, its data marks made harmless."""
    clean = "".join(
        c for c in str(text) if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs")
    )
    return re.sub(r"<(?=\s*/?\s*data\b)", "‹", clean, flags=re.IGNORECASE)


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


def distance(speed_of_light: float) -> str:
    """How far a time is from the roofline."""
    share = f"{100 * speed_of_light:.1f} % of the speed of light"
    return f"{share}, {1 / speed_of_light:.3g} x the roofline" if speed_of_light > 0 else share


def table(operations: Sequence[str]) -> str:
    """A profile's operations as a table; a line of another form stays as it is."""
    rows, others = (
        ["| operation | share of the run | own time | calls a run |", "|---|---|---|---|"],
        [],
    )
    for line in operations:
        found = _OPERATION.match(line)
        if found is None:
            others.append(line)
        else:
            name = found["name"].replace("|", "\\|")
            rows.append(f"| {name} | {found['share']} % | {found['own']} | {found['calls']} |")
    return "\n".join([*(rows if len(rows) > 2 else []), *others])


def head(text: str, lines: int) -> str:
    """The first lines of a text, and how many more there are."""
    every = text.splitlines()
    if len(every) <= lines:
        return text.rstrip("\n")
    return "\n".join([*every[:lines], f"[{len(every) - lines} more lines]"])


def tail(text: str, characters: int) -> str:
    """The end of a text: errors come last."""
    if len(text) <= characters:
        return text
    return f"[{len(text) - characters} characters before this]\n{text[-characters:]}"
