"""How far a search has come: the best so far, who is worth confirming, what is left to gain."""

from __future__ import annotations

from collections.abc import Iterable

from agent.search.history import SOUND
from evaluators.verdict import Status, Verdict

GAIN = 0.01
"""Least relative improvement of the best ratio that counts as progress."""


def best(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The sound verdict with the highest ratio above 1."""
    found = None
    for verdict in verdicts:
        if verdict.effect is None or verdict.status not in SOUND or verdict.effect.ratio <= 1:
            continue
        if found is None or found.effect is None or verdict.effect.ratio > found.effect.ratio:
            found = verdict
    return found


def shortlist(verdicts: Iterable[Verdict], count: int) -> tuple[str, ...]:
    """Digests of the `count` candidates to confirm, best first: those `faster` at the screen."""
    ranked = sorted(
        (v for v in verdicts if v.status is Status.FASTER and v.effect is not None),
        key=lambda v: -(v.effect.low if v.effect else 0.0),
    )
    return tuple(dict.fromkeys(v.candidate for v in ranked))[:count]


def speed_of_light(verdict: Verdict) -> float:
    """Fraction of the roofline that the slowest timed cell reaches."""
    return min((cell.speed_of_light for cell in verdict.timings), default=0.0)


def reached(verdicts: Iterable[Verdict]) -> float:
    """Fraction of the roofline that the best candidate reaches, or the baseline beside them all."""
    timed = [v for v in verdicts if v.timings and v.status is not Status.SUSPECT]
    leader = best(timed)
    if leader is not None:
        return speed_of_light(leader)
    if not timed:
        return 0.0
    return min(cell.roofline_ns / cell.baseline_median_ns for cell in timed[-1].timings)
