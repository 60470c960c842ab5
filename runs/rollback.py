"""Take one promotion back out of the library, exactly, or leave everything as it was."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from runs import git
from runs.edits import Edit, tuning_entries, tuning_text
from runs.errors import ChangedSinceError, DirtyCheckoutError, RunStoreError, UsageError
from runs.evidence import evidence_path, sha256
from runs.identity import iso
from runs.incumbent import read_text
from runs.landing import checkout_for_writing, land
from runs.records import Promotion
from runs.store import RunStore


def rollback(
    store: RunStore,
    promotion_id: str,
    *,
    checkout: Path,
    reviewer: str,
    commit: bool,
    now: datetime,
    reason: str = "",
) -> Promotion:
    """Reverse a promotion: the module's text or the tuning entries, and the evidence file.

    With `commit`, the reversal is a commit of its own, unless the promotion itself is uncommitted.

    Raises:
        ChangedSinceError: what it wrote has been changed, or a later promotion builds on it.
        DirtyCheckoutError: the files hold other uncommitted changes that a commit would take along.
        CheckoutError: `checkout` is no git checkout, or git refuses.
    """
    if not reviewer.strip():
        raise UsageError("a rollback needs a reviewer: say who decided")
    promotion = store.promotion(promotion_id)
    if promotion.decision != "accepted":
        raise RunStoreError(
            f"promotion {promotion_id} is {promotion.decision}: only an accepted one can be undone"
        )
    evidence_text = store.blobs.get(store.evidence_digest(promotion_id)).decode()
    evidence = json.loads(evidence_text)
    with checkout_for_writing(store, checkout):
        edits = _edits(store, checkout, promotion, evidence, evidence_text)
        paths = [edit.path for edit in edits]
        dirty = git.dirty(checkout, paths)
        if commit and dirty and promotion.commit is not None:
            raise DirtyCheckoutError(
                f"{', '.join(dirty)} has uncommitted changes: commit or stash them, then run again"
            )
        undone = promotion.model_copy(
            update={
                "decision": "rolled_back",
                "reviewer": reviewer,
                "reason": reason,
                "decided_at": iso(now),
                "commit": None,
            }
        )
        return land(store, checkout, undone, edits, message=_message(undone) if commit else None)


def _edits(
    store: RunStore,
    checkout: Path,
    promotion: Promotion,
    evidence: dict[str, Any],
    evidence_text: str,
) -> tuple[Edit, ...]:
    _check_nothing_built_on(store, promotion)
    edits = []
    if evidence["source"]:
        edits.append(_source(store, checkout, promotion, evidence["source"]))
    if evidence["tuning"]:
        edits.append(_tuning(checkout, promotion, evidence["tuning"], evidence["environment"]))
    path = evidence_path(promotion)
    lying = read_text(checkout, path)
    if lying is not None:
        if lying != evidence_text:
            raise _changed(path, promotion)
        edits.append(Edit(path, lying, None))
    return tuple(edits)


def _check_nothing_built_on(store: RunStore, promotion: Promotion) -> None:
    """A new text cannot go while later promotions of the same module rest on it."""
    if promotion.kind != "source":
        return
    standing = store.promotions(op=promotion.op, decision="accepted")
    ids = [each.id for each in standing if each.implementation == promotion.implementation]
    later = ids[ids.index(promotion.id) + 1 :]
    if later:
        raise ChangedSinceError(
            f"promotion {later[-1]} builds on {promotion.id}: roll that one back first"
        )


def _source(
    store: RunStore, checkout: Path, promotion: Promotion, recorded: dict[str, str]
) -> Edit:
    now = read_text(checkout, recorded["file"])
    if now is None or sha256(now) != recorded["after_sha256"]:
        raise _changed(recorded["file"], promotion)
    before = store.incumbent_of(promotion.verdict).files[f"{promotion.implementation}.py"]
    if sha256(before) != recorded["before_sha256"]:
        raise RunStoreError(
            f"the store's text of the incumbent is not what promotion {promotion.id} replaced:"
            " revert its commit with git instead"
        )
    return Edit(recorded["file"], now, before)


def _tuning(
    checkout: Path,
    promotion: Promotion,
    recorded: dict[str, Any],
    environment: dict[str, Any],
) -> Edit:
    path = recorded["file"]
    text = read_text(checkout, path)
    entries = tuning_entries(text, path)
    if any(entries.get(key) != entry for key, entry in recorded["after"].items()):
        raise _changed(path, promotion)
    merged = {**entries, **recorded["before"]}
    restored = {key: entry for key, entry in merged.items() if entry is not None}
    if not restored and recorded["new_file"]:
        return Edit(path, text, None)
    return Edit(path, text, tuning_text(environment["device_kind"], restored))


def _changed(path: str, promotion: Promotion) -> ChangedSinceError:
    return ChangedSinceError(
        f"{path} has changed since promotion {promotion.id}: put back what it wrote, or revert by"
        " hand; nothing was touched"
    )


def _message(promotion: Promotion) -> str:
    return (
        f"Roll back {promotion.op}/{promotion.implementation} on {promotion.target}\n\n"
        f"This reverses promotion {promotion.id}.\nVerdict: {promotion.verdict}\n"
        f"Reason: {promotion.reason or 'none given'}\nReviewed-by: {promotion.reviewer}\n"
    )
