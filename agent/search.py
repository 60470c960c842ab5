"""Which candidate the next round starts from, and which go to the promote tier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from evaluators.verdict import Status, Verdict
from runs.records import Proposal

GAIN = 0.01
"""Least relative improvement of the best ratio that counts as progress."""


class ParentPolicy(Protocol):
    """Chooses parents from the screen tier's verdicts."""

    def parent(
        self, incumbent: str, proposals: Iterable[Proposal], verdicts: Mapping[str, Verdict]
    ) -> str:
        """Digest of the candidate to start from.

        Args:
            incumbent: digest of the checkout's text.
            verdicts: candidate digest -> its screen-tier verdict.
        """
        ...


class Greedy:
    """The fastest candidate that is faster beyond doubt, else the incumbent."""

    def parent(
        self, incumbent: str, proposals: Iterable[Proposal], verdicts: Mapping[str, Verdict]
    ) -> str:
        best, best_ratio = incumbent, 1.0
        for proposal in proposals:
            # A tuned candidate has the incumbent's text: there is nothing in it to build on.
            if proposal.candidate is None or proposal.kind != "source":
                continue
            verdict = verdicts.get(proposal.candidate)
            if verdict is None or verdict.effect is None or not _sound(verdict):
                continue
            if verdict.effect.low > 1 and verdict.effect.ratio > best_ratio:
                best, best_ratio = proposal.candidate, verdict.effect.ratio
        return best


def _sound(verdict: Verdict) -> bool:
    return verdict.status in (Status.FASTER, Status.NO_GAIN)


def best(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The sound verdict with the highest ratio above 1."""
    found = None
    for verdict in verdicts:
        if verdict.effect is None or not _sound(verdict) or verdict.effect.ratio <= 1:
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
