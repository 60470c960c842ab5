"""Files, commit and record of one decision: all three, or none, even across `kill -9`.

A journal in the checkout's git folder says what is being written. The store's record is what
settles it: a journal found without that record is undone by whoever comes next.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runs import git
from runs.edits import Edit, apply_edits, undo_edits
from runs.errors import CheckoutError, UnknownRecordError
from runs.files import TEMPORARY_PREFIX, write_atomic
from runs.incumbent import read_text
from runs.records import Promotion
from runs.store import RunStore

JOURNAL = "kernelwright-promotion.json"


@contextmanager
def checkout_for_writing(store: RunStore, checkout: Path) -> Iterator[None]:
    """The checkout, for one promotion or rollback at a time, without a half of an earlier one.

    Raises:
        CheckoutError: it is no git checkout, another is at work, or a half cannot be undone.
    """
    git.check_checkout(checkout)
    with git.only_one(checkout):
        _recover(store, checkout)
        yield


def land(
    store: RunStore,
    checkout: Path,
    promotion: Promotion,
    edits: tuple[Edit, ...],
    *,
    message: str | None,
    evidence: str | None = None,
) -> Promotion:
    """Write the edits, commit what then differs, record the decision; undo all if one fails.

    Args:
        message: of the commit; None leaves the files uncommitted.
        evidence: digest of the evidence's blob.
    """
    paths = [edit.path for edit in edits]
    journal = {
        "home": str(store.home.resolve()),
        "base": git.head(checkout),
        "promotion": promotion.id,
        "decision": promotion.decision,
        "decided_at": promotion.decided_at,
        "edits": [asdict(edit) for edit in edits],
    }
    write_atomic(_journal(checkout), json.dumps(journal).encode())
    try:
        apply_edits(checkout, edits)
        # Undoing a promotion that was never committed leaves nothing to commit.
        changed = git.dirty(checkout, paths) if message is not None else ()
        if message is not None and changed:
            commit = git.commit_paths(checkout, changed, message)
            promotion = promotion.model_copy(update={"commit": commit})
        store.record_promotion(promotion, evidence=evidence)
    except BaseException:
        _recover(store, checkout)
        raise
    _journal(checkout).unlink(missing_ok=True)
    return promotion


def _journal(checkout: Path) -> Path:
    return git.folder(checkout) / JOURNAL


def _recover(store: RunStore, checkout: Path) -> None:
    """Undo what a journal says, unless its decision is on record."""
    path = _journal(checkout)
    if not path.exists():
        return
    journal = json.loads(path.read_bytes())
    home = Path(journal["home"])
    owner = store if home == store.home.resolve() else RunStore(home)
    if not _settled(owner, journal):
        edits = [Edit(**edit) for edit in journal["edits"]]
        if git.head(checkout) != journal["base"] and not git.uncommit(
            checkout, journal["base"], journal["promotion"]
        ):
            raise CheckoutError(
                f"promotion {journal['promotion']} was interrupted and the branch has moved since:"
                f" undo it by hand if it is in the log, then delete {JOURNAL} in the git folder"
            )
        git.unstage(checkout, [edit.path for edit in edits])
        undo_edits(
            checkout, [edit for edit in edits if read_text(checkout, edit.path) == edit.after]
        )
        _sweep(checkout, edits)
    path.unlink(missing_ok=True)


def _settled(store: RunStore, journal: dict[str, Any]) -> bool:
    try:
        last = store.promotion(journal["promotion"])
    except UnknownRecordError:
        return False
    return (last.decision, last.decided_at) == (journal["decision"], journal["decided_at"])


def _sweep(checkout: Path, edits: list[Edit]) -> None:
    # What a killed process was writing aside.
    for folder in {(checkout / edit.path).parent for edit in edits}:
        for stray in folder.glob(f"{TEMPORARY_PREFIX}*"):
            stray.unlink(missing_ok=True)
