"""A run's candidates in the order in which a person should look at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evaluators.verdict import Status, Tier, Verdict
from runs.diffs import candidate_diff
from runs.errors import UnknownRecordError
from runs.queries import strongest_verdicts, verdicts_of_run
from runs.records import Proposal
from runs.store import RunStore

_AFTER_FASTER: tuple[Status, ...] = (
    Status.NO_GAIN,
    Status.UNMEASURED,
    Status.SLOWER,
    Status.SUSPECT,
    Status.UNSTABLE,
    Status.WRONG,
    Status.CRASHED,
    Status.RESOURCE_LIMIT,
    Status.REJECTED,
    Status.BUILD_FAILED,
)


@dataclass(frozen=True)
class Ranked:
    """One candidate for review; what a verdict would say is None while there is none.

    Attributes:
        candidate, proposal, parent, verdict: digests, but for the proposal's id.
        rationale: the proposer's words, untrusted.
        diff: against the incumbent that it was judged against.
        decision: what was decided on it last.
    """

    rank: int
    candidate: str
    proposal: str
    proposer: str
    kind: Literal["source", "tuned"]
    parent: str
    status: Status | None
    tier: Tier | None
    promotable: bool
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float | None
    reason: str
    rationale: str
    verdict: str | None
    diff: str
    decision: str | None


def ranked(store: RunStore, run_id: str) -> tuple[Ranked, ...]:
    """Promotable first by the lower bound of the gain, then `faster` of a screening, then the rest.

    Raises:
        UnknownRunError
    """
    store.run(run_id)
    proposals = _first_proposals(store.proposals(run_id))
    verdicts = strongest_verdicts(verdicts_of_run(store, run_id))
    decisions = {promotion.candidate: promotion.decision for promotion in store.promotions()}
    ordered = sorted(proposals, key=lambda digest: _order(verdicts.get(digest)))
    rows = []
    for rank, digest in enumerate(ordered, start=1):
        verdict = verdicts.get(digest)
        diff = _diff(store, digest, verdict, proposals)
        rows.append(_row(rank, proposals[digest], verdict, diff, decisions.get(digest)))
    return tuple(rows)


def _first_proposals(proposals: tuple[Proposal, ...]) -> dict[str, Proposal]:
    """Candidate digest -> the proposal that brought it first."""
    found: dict[str, Proposal] = {}
    for proposal in proposals:
        if proposal.candidate is not None:
            found.setdefault(proposal.candidate, proposal)
    return found


def _order(verdict: Verdict | None) -> tuple[int, int, float]:
    if verdict is None:
        return 3, 0, 0.0
    low = verdict.effect.low if verdict.effect else 0.0
    if verdict.status is Status.FASTER:
        return 0 if verdict.promotable else 1, 0, -low
    return 2, _AFTER_FASTER.index(verdict.status), -low


def _diff(
    store: RunStore, digest: str, verdict: Verdict | None, proposals: dict[str, Proposal]
) -> str:
    if verdict is not None:
        incumbent = store.incumbent_of(verdict.digest)
    else:
        root, seen = digest, set()
        while root in proposals and root not in seen:
            seen.add(root)
            root = proposals[root].parent
        try:
            incumbent = store.candidate(root)
        except UnknownRecordError:
            return ""
    return candidate_diff(incumbent, store.candidate(digest))


def _row(
    rank: int, proposal: Proposal, verdict: Verdict | None, diff: str, decision: str | None
) -> Ranked:
    assert proposal.candidate is not None
    effect = verdict.effect if verdict else None
    return Ranked(
        rank=rank,
        candidate=proposal.candidate,
        proposal=proposal.id,
        proposer=proposal.proposer,
        kind=proposal.kind,
        parent=proposal.parent,
        status=verdict.status if verdict else None,
        tier=verdict.tier if verdict else None,
        promotable=verdict.promotable if verdict else False,
        ratio=effect.ratio if effect else None,
        low=effect.low if effect else None,
        high=effect.high if effect else None,
        confidence=effect.confidence if effect else None,
        reason=verdict.reason if verdict else "not judged yet",
        rationale=proposal.rationale,
        verdict=verdict.digest if verdict else None,
        diff=diff,
        decision=decision,
    )
