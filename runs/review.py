"""A person's decisions on verdicts: accept (which promotes), reject, defer."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from runs.diffs import candidate_diff
from runs.errors import NotPromotableError, UsageError
from runs.identity import iso, stamp
from runs.promotion import promote as accept
from runs.queries import run_of_candidate
from runs.records import Promotion
from runs.store import RunStore

__all__ = ["accept", "defer", "reject"]


def reject(
    store: RunStore, verdict_digest: str, *, reviewer: str, reason: str, now: datetime
) -> Promotion:
    """Decide against a candidate, for a reason."""
    if not reason.strip():
        raise UsageError("a rejection needs a reason: say why, so that nobody has to ask again")
    return _decide(store, verdict_digest, "rejected", reviewer, reason, now)


def defer(
    store: RunStore, verdict_digest: str, *, reviewer: str, now: datetime, reason: str = ""
) -> Promotion:
    """Put a decision off."""
    return _decide(store, verdict_digest, "deferred", reviewer, reason, now)


def _decide(
    store: RunStore,
    verdict_digest: str,
    decision: Literal["rejected", "deferred"],
    reviewer: str,
    reason: str,
    now: datetime,
) -> Promotion:
    if not reviewer.strip():
        raise UsageError("a decision needs a reviewer: say who decided")
    verdict = store.verdict(verdict_digest)
    if verdict.effect is None:
        raise NotPromotableError(
            f"the verdict is {verdict.status} and measured no effect: there is nothing to decide"
        )
    candidate = store.candidate(verdict.candidate)
    incumbent = store.incumbent_of(verdict_digest)
    text = f"{candidate.implementation}.py"
    promotion = Promotion(
        id=f"{stamp(now)}-{verdict_digest[:8]}",
        kind="tuned" if candidate.files.get(text) == incumbent.files.get(text) else "source",
        run=run_of_candidate(store, candidate.digest),
        op=verdict.op,
        implementation=verdict.implementation,
        target=verdict.target,
        candidate=verdict.candidate,
        verdict=verdict_digest,
        incumbent=incumbent.digest,
        patch=candidate_diff(incumbent, candidate),
        ratio=verdict.effect.ratio,
        low=verdict.effect.low,
        high=verdict.effect.high,
        validity=verdict.validity,
        reviewer=reviewer,
        decision=decision,
        reason=reason,
        decided_at=iso(now),
    )
    store.record_promotion(promotion)
    return promotion
