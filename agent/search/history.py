"""What a search policy is shown, what it answers, and the one method it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from evaluators.verdict import Status, Verdict
from runs.records import Proposal

SOUND = frozenset({Status.FASTER, Status.NO_GAIN})
"""Statuses of a candidate that may be built on."""


@dataclass(frozen=True)
class History:
    """The rounds that are over.

    Attributes:
        incumbent: digest of the checkout's text.
        proposals: by number.
        verdicts: candidate digest -> its screen-tier verdict.
        repairs: number of a follow-up -> number of the failed proposal that it was to mend.
    """

    incumbent: str
    proposals: Mapping[int, Proposal] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    repairs: Mapping[int, int] = field(default_factory=dict)

    @property
    def next_number(self) -> int:
        return max(self.proposals, default=-1) + 1

    def sources(self) -> dict[str, int]:
        """Candidates that bring a new text -> the first proposal that did."""
        found: dict[str, int] = {}
        for number in sorted(self.proposals):
            proposal = self.proposals[number]
            # A tuned candidate has the incumbent's text: there is nothing in it to build on.
            if proposal.candidate is not None and proposal.kind == "source":
                found.setdefault(proposal.candidate, number)
        found.pop(self.incumbent, None)
        return found


@dataclass(frozen=True)
class Parent:
    """What one proposal of a round starts from.

    Attributes:
        candidate: digest of the text.
        repairs: number of the failed proposal that this one is to mend, None for an ordinary slot.
    """

    candidate: str
    repairs: int | None = None


@runtime_checkable
class Search(Protocol):
    """Chooses parents. The contract is `agent/search/testing.py`."""

    def parents(self, history: History, width: int) -> tuple[Parent, ...]:
        """One parent for each of the next round's `width` proposals."""
        ...
