"""The graph's state: digests and counters. Whatever they stand for is in the run store."""

from __future__ import annotations

from typing import TypedDict


class State(TypedDict):
    """Where a run stands.

    Attributes:
        round: rounds done.
        first: number of the current round's first proposal.
        numbers: numbers of the current round's proposals.
        parent: digest of the candidate they start from.
        best: digest of the best screened candidate, empty for none.
        best_ratio: its ratio, 1 for none.
        stale: rounds since the best got better.
        stop: the stop reason, empty while the search goes on.
        reviewed: candidates that a review has decided on.
    """

    round: int
    first: int
    numbers: list[int]
    parent: str
    best: str
    best_ratio: float
    stale: int
    stop: str
    reviewed: list[str]


class Branch(TypedDict):
    """One proposal of a round: all that its node is told."""

    number: int
    first: int
    parent: str


def initial(parent: str) -> State:
    """The state of a run that has not begun."""
    return State(
        round=0,
        first=0,
        numbers=[],
        parent=parent,
        best="",
        best_ratio=1.0,
        stale=0,
        stop="",
        reviewed=[],
    )
