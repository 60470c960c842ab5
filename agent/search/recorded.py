"""The search of a replay: it chooses nothing."""

from __future__ import annotations

from collections.abc import Mapping

from agent.search.history import History, Parent


class Recorded:
    """Gives each proposal the parent that it had, whatever the verdicts say now.

    Args:
        parents: number of a proposal -> digest of the candidate that it started from.
    """

    def __init__(self, parents: Mapping[int, str]) -> None:
        self._parents = parents

    def parents(self, history: History, width: int) -> tuple[Parent, ...]:
        first = history.next_number
        return tuple(
            Parent(self._parents.get(number, history.incumbent))
            for number in range(first, first + width)
        )
