"""What fails gets a bounded number of follow-ups, told the compiler's log, then is given up."""

from __future__ import annotations

from collections.abc import Iterator

from agent.search.history import History, Parent, Search
from evaluators.verdict import Status
from runs.records import Proposal

MENDABLE = frozenset({
    Status.BUILD_FAILED, Status.REJECTED, Status.CRASHED, Status.WRONG, Status.UNSTABLE,
    Status.RESOURCE_LIMIT,
})  # fmt: skip
MENDABLE_REPLIES = frozenset({
    "ambiguous", "no_match", "not_the_module", "syntax_error", "too_large", "truncated",
    "unparsable",
})  # fmt: skip
"""Kinds of `agent.proposers.answers.AnswerError` that a second try may mend: no refusals."""
REPAIRERS = frozenset({"llm"})
"""Proposers that can make something of a log."""


class Repairing:
    """A policy whose first slots mend what failed.

    Args:
        limit: most follow-ups of one original proposal, follow-ups of follow-ups included.
    """

    def __init__(self, search: Search, limit: int) -> None:
        self._search = search
        self._limit = limit

    def parents(self, history: History, width: int) -> tuple[Parent, ...]:
        # However much fails, the search itself keeps a slot, if there are two.
        room = max(1, width - 1)
        repairs = tuple(self._due(history))[:room] if width else ()
        return (*repairs, *self._search.parents(history, width - len(repairs)))

    def _due(self, history: History) -> Iterator[Parent]:
        followed = set(history.repairs.values())
        first = history.sources()
        for number in sorted(history.proposals):
            proposal = history.proposals[number]
            if number in followed or proposal.proposer not in REPAIRERS:
                continue
            if follow_ups(history, number) >= self._limit:
                continue
            if proposal.candidate is None:
                if has_reply(proposal):
                    # Its edits would have changed this text.
                    yield Parent(proposal.parent, number)
                continue
            verdict = history.verdicts.get(proposal.candidate)
            is_first = first.get(proposal.candidate) == number
            if is_first and verdict is not None and verdict.status in MENDABLE:
                yield Parent(proposal.candidate, number)


def follow_ups(history: History, number: int) -> int:
    """How many repairs led to a proposal, 0 for an original one."""
    count = 0
    while number in history.repairs:
        number, count = history.repairs[number], count + 1
    return count


def has_reply(proposal: Proposal) -> bool:
    """Whether a failed proposal left a text that nearly was a module."""
    kind = proposal.failure.partition(":")[0]
    return proposal.reply_digest is not None and kind in MENDABLE_REPLIES
