"""Greedy and beam: who is built on, decided by intervals and not by numbers alone."""

from __future__ import annotations

from collections.abc import Iterable

from agent.search.history import SOUND, History, Parent
from evaluators.verdict import Effect


class Greedy:
    """Every slot starts from the one candidate that is better beyond doubt, else the incumbent."""

    def parents(self, history: History, width: int) -> tuple[Parent, ...]:
        return (Parent(in_order(history)[0]),) * width


class Beam:
    """The best few share a round's slots, the better ones more of them.

    With fewer slots than candidates the last ones wait.

    Args:
        size: how many candidates, the incumbent among them where it is one of the best.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def parents(self, history: History, width: int) -> tuple[Parent, ...]:
        beam = in_order(history)[: self.size]
        weights = dict(zip(beam, range(len(beam), 0, -1), strict=True))
        given = dict.fromkeys(beam, 0)
        for _ in range(width):
            # Whose turn it is: the fewest slots for its weight, a tie to whom has none yet.
            turn = min(beam, key=lambda digest: ((given[digest] + 1) / weights[digest],
                                                 given[digest]))  # fmt: skip
            given[turn] += 1
        return tuple(Parent(digest) for digest in beam for _ in range(given[digest]))


def in_order(history: History) -> tuple[str, ...]:
    """Candidates to build on: those surely better than the incumbent, the incumbent, the rest."""
    better: dict[str, Effect] = {}
    others: dict[str, Effect] = {}
    for digest in history.sources():
        verdict = history.verdicts.get(digest)
        if verdict is None or verdict.effect is None or verdict.status not in SOUND:
            continue
        pile = better if verdict.effect.low > 1 else others
        pile[digest] = verdict.effect
    return (*_ranked(better), history.incumbent, *_ranked(others))


def _ranked(effects: dict[str, Effect]) -> Iterable[str]:
    """Again and again the earliest that no other surely beats: noise makes nobody better."""
    left = dict(effects)
    while left:
        bar = max(effect.low for effect in left.values())
        first = next(digest for digest, effect in left.items() if effect.high >= bar)
        del left[first]
        yield first
