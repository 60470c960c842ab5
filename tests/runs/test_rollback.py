"""The way back: exactly one promotion, or nothing."""

from __future__ import annotations

import json

import pytest

from runs.errors import ChangedSinceError, DirtyCheckoutError, RunStoreError, UsageError
from runs.promotion import promote
from runs.rollback import rollback
from tests.runs.conftest import KEY, MODULE, NEW_TEXT, OLD_TEXT, TUNED


@pytest.fixture
def promoted(store, make, checkout, relowering, now, contract_passes):
    """Judge and promote a candidate."""

    def promote_it(candidate=None, commit=True):
        candidate = candidate or make.candidate(NEW_TEXT)
        store.record_candidate(candidate)
        verdict = store.record_outcome(make.outcome(candidate), incumbent=checkout.incumbent())
        return promote(
            store,
            verdict,
            checkout=checkout.folder,
            evaluator=relowering,
            reviewer="ann",
            commit=commit,
            now=now,
        )

    return promote_it


@pytest.fixture
def back(store, checkout, now):
    def roll_it(promotion, **changes):
        arguments = {
            "checkout": checkout.folder,
            "reviewer": "bob",
            "commit": True,
            "now": now,
            "reason": "slower in production",
            **changes,
        }
        return rollback(store, promotion.id, **arguments)

    return roll_it


def test_source_goes_back(store, checkout, promoted, back):
    files = checkout.state()[2]
    promotion = promoted()
    undone = back(promotion)
    head, status, now = checkout.state()
    assert (now, status) == (files, "")
    assert (undone.decision, undone.commit) == ("rolled_back", head.strip())
    assert [each.decision for each in store.promotion_history(promotion.id)] == [
        "accepted",
        "rolled_back",
    ]
    message = checkout.git("log", "-1", "--format=%B")
    assert f"reverses promotion {promotion.id}" in message
    assert "slower in production" in message
    assert checkout.git("diff", "HEAD~2", "HEAD") == ""


def test_it_can_be_promoted_again(checkout, promoted, back):
    back(promoted())
    assert promoted().decision == "accepted"
    assert checkout.read(MODULE) == NEW_TEXT


def test_uncommitted_promotion_goes_back_without_a_commit(checkout, promoted, back):
    state = checkout.state()
    undone = back(promoted(commit=False))
    assert undone.commit is None
    assert checkout.state() == state


def test_without_commit(checkout, promoted, back):
    promotion = promoted()
    head = checkout.state()[0]
    assert back(promotion, commit=False).commit is None
    assert checkout.state()[0] == head
    assert checkout.read(MODULE) == OLD_TEXT


def test_tuned_entry_goes_back_and_leaves_the_others(checkout, promoted, back, make):
    first = promoted(make.candidate(OLD_TEXT, {KEY: {"block": 8}}))
    second = promoted(make.candidate(OLD_TEXT, {KEY: {"block": 16}}))
    data = json.loads(checkout.read(TUNED))
    data["entries"]["toy|xla|other"] = {"config": {"block": 2}, "evidence": "e" * 64}
    checkout.write(TUNED, json.dumps(data))
    checkout.commit("another entry")
    back(second)
    entries = json.loads(checkout.read(TUNED))["entries"]
    assert {key: entry["config"]["block"] for key, entry in entries.items()} == {
        f"toy|xla|{KEY}": 8,
        "toy|xla|other": 2,
    }
    assert entries[f"toy|xla|{KEY}"]["evidence"] == first.verdict


def test_tuning_file_that_it_made_goes_with_it(checkout, promoted, back, make):
    files = checkout.state()[2]
    back(promoted(make.candidate(OLD_TEXT, {KEY: {"block": 8}})))
    assert checkout.state()[2] == files


def test_source_leaves_the_configs(checkout, promoted, back, make):
    promoted(make.candidate(OLD_TEXT, {KEY: {"block": 8}}))
    files = checkout.state()[2]
    back(promoted())
    assert checkout.state()[2] == files


@pytest.mark.parametrize("commit", [True, False])
def test_changed_file_is_refused(store, checkout, promoted, back, commit):
    promotion = promoted()
    checkout.write(MODULE, NEW_TEXT + "# tweak\n")
    checkout.commit("tweak")
    state = checkout.state()
    with pytest.raises(ChangedSinceError, match=r"xla\.py has changed since promotion"):
        back(promotion, commit=commit)
    assert checkout.state() == state
    assert store.promotion(promotion.id) == promotion


def test_changed_entry_is_refused(checkout, promoted, back, make):
    first = promoted(make.candidate(OLD_TEXT, {KEY: {"block": 8}}))
    promoted(make.candidate(OLD_TEXT, {KEY: {"block": 16}}))
    state = checkout.state()
    with pytest.raises(ChangedSinceError, match=r"toy_cpu\.json has changed"):
        back(first)
    assert checkout.state() == state


def test_changed_evidence_is_refused(checkout, promoted, back):
    promotion = promoted()
    checkout.write(f"reference_kernels/toy/evidence/{promotion.id}.json", "{}")
    with pytest.raises(ChangedSinceError, match="evidence"):
        back(promotion)


def test_what_builds_on_it_goes_first(checkout, promoted, back, make):
    source = promoted()
    tuned = promoted(make.candidate(NEW_TEXT, {KEY: {"block": 8}}))
    state = checkout.state()
    with pytest.raises(ChangedSinceError, match=f"{tuned.id} builds on"):
        back(source)
    assert checkout.state() == state
    back(tuned)
    back(source)
    assert checkout.read(MODULE) == OLD_TEXT


def test_other_changes_in_the_file_are_not_committed_along(checkout, promoted, back, make):
    promotion = promoted(make.candidate(OLD_TEXT, {KEY: {"block": 8}}))
    data = json.loads(checkout.read(TUNED))
    data["entries"]["toy|xla|other"] = {"config": {}, "evidence": "e" * 64}
    checkout.write(TUNED, json.dumps(data))
    state = checkout.state()
    with pytest.raises(DirtyCheckoutError, match="commit or stash"):
        back(promotion)
    assert checkout.state() == state


def test_only_an_accepted_promotion_goes_back(promoted, back):
    promotion = promoted()
    with pytest.raises(UsageError, match="reviewer"):
        back(promotion, reviewer="")
    back(promotion)
    with pytest.raises(RunStoreError, match="rolled_back: only an accepted"):
        back(promotion)


def test_failing_hook_leaves_everything(store, checkout, promoted, back):
    promotion = promoted()
    hook = checkout.folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    state = checkout.state()
    with pytest.raises(RunStoreError):
        back(promotion)
    assert checkout.state() == state
    assert store.promotion(promotion.id) == promotion
