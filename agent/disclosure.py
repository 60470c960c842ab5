"""What a verdict may tell a proposer. Held-out cases and seeds stop here."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable

from agent.proposers.protocol import Judgement, Measured
from evaluators.verdict import ErrorCell, Verdict
from reference_kernels.problem import Problem

LOG_CHARACTERS = 4000
WORST_ERRORS = 8
TIGHTEST_MARGINS = 3
NOT_SHOWN = "(about a held-out case: not shown)"


def judgement(verdict: Verdict, problem: Problem) -> Judgement:
    """What a proposer may know of a verdict.

    Args:
        problem: the whole op: its held-out cases are what is left out.
    """
    hidden = {c.name for c in problem.cases if "holdout" in c.tags}
    shown = [cell for cell in verdict.errors if cell.case not in hidden]
    gates = [f"{g.name}: {scrubbed(g.detail, hidden)}" for g in verdict.gates if not g.passed]
    failed = _worst((cell for cell in shown if not cell.passed), WORST_ERRORS)
    passed = _worst((cell for cell in shown if cell.passed), TIGHTEST_MARGINS)
    effect = verdict.effect
    # The profile is that of the first timed cell.
    profiled = not verdict.timings or verdict.timings[0].case not in hidden
    operations = (verdict.facts.get("top_operations") or ()) if profiled else ()
    return Judgement(
        status=verdict.status.value,
        reason=scrubbed(verdict.reason, hidden),
        ratio=effect.ratio if effect else None,
        low=effect.low if effect else None,
        high=effect.high if effect else None,
        cells=tuple(
            Measured(
                entry=cell.entry,
                case=cell.case,
                baseline=cell.baseline,
                candidate_ns=cell.candidate_median_ns,
                baseline_ns=cell.baseline_median_ns,
                roofline_ns=cell.roofline_ns,
                speed_of_light=cell.speed_of_light,
                ratio=cell.ratio,
            )
            for cell in verdict.timings
            if cell.case not in hidden
        ),
        errors=(*gates, *(_line(cell) for cell in failed)),
        margins=() if failed else tuple(_line(cell) for cell in passed if cell.error > 0),
        operations=tuple(scrubbed(str(line), hidden) for line in operations),
        log=scrubbed(verdict.log, hidden)[-LOG_CHARACTERS:],
    )


def scrubbed(text: str, hidden: Iterable[str]) -> str:
    """The text without its lines about a held-out case, which may say its shape or its inputs."""
    names = tuple(hidden)
    lines = (NOT_SHOWN if any(n in line for n in names) else line for line in text.splitlines())
    return "\n".join(lines)


def _worst(cells: Iterable[ErrorCell], count: int) -> list[ErrorCell]:
    """The largest errors over their allowance, one for each array and slice of a case."""
    found: dict[tuple[str, ...], ErrorCell] = {}
    for cell in cells:
        key = (cell.entry, cell.case, cell.leaf, cell.kind, cell.where)
        if key not in found or _excess(cell) > _excess(found[key]):
            found[key] = cell
    return sorted(found.values(), key=lambda cell: -_excess(cell))[:count]


def _excess(cell: ErrorCell) -> float:
    """Error over allowance; infinite for what no allowance covers."""
    if cell.allowed > 0 and math.isfinite(cell.error):
        return cell.error / cell.allowed
    return 0.0 if cell.error == 0 else math.inf


def _line(cell: ErrorCell) -> str:
    where = f" at {cell.where}" if cell.where else ""
    what = f"{cell.entry}{cell.leaf} on {cell.case}, {cell.distribution} inputs: {cell.kind}{where}"
    if cell.kind == "nonfinite":
        return f"{what}: {cell.error:g} elements differ from the truth in being infinite or NaN"
    # JSON has no infinity: a judge writes the largest float for it.
    if not cell.error < sys.float_info.max:
        return f"{what}: not what it must be"
    excess = _excess(cell)
    times = f"{excess:.3g} x the allowed" if math.isfinite(excess) else "allowed"
    return f"{what}: error {cell.error:.3g}, {times} {cell.allowed:.3g}"
