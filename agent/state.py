"""The graph's state: digests and counters. Whatever they stand for is in the run store."""

from __future__ import annotations

from typing import TypedDict


class State(TypedDict):
    """Where a run stands.

    Attributes:
        round: rounds done.
        first: number of the current round's first proposal.
        numbers: numbers of the current round's proposals.
        parents: digests of the candidates that they start from, one each.
        repairs: numbers of the failed proposals that they are to mend, -1 for an ordinary one.
        best: digest of the best screened candidate, empty for none.
        best_ratio: its ratio, 1 for none.
        stale: rounds since the best got better.
        stop: the stop reason, empty while the search goes on.
        why: the stop reason in a sentence with its numbers.
        cut: why the search had stopped, when a cap cut its confirmations off; else empty.
        reviewed: candidates that a review has decided on.
    """

    round: int
    first: int
    numbers: list[int]
    parents: list[str]
    repairs: list[int]
    best: str
    best_ratio: float
    stale: int
    stop: str
    why: str
    cut: str
    reviewed: list[str]


class Branch(TypedDict):
    """One proposal of a round: its number, and the round's plan."""

    number: int
    first: int
    parents: list[str]
    repairs: list[int]


NO_REPAIR = -1


def initial() -> State:
    """The state of a run that has not begun."""
    return State(
        round=0,
        first=0,
        numbers=[],
        parents=[],
        repairs=[],
        best="",
        best_ratio=1.0,
        stale=0,
        stop="",
        why="",
        cut="",
        reviewed=[],
    )
