"""Budgets: hard, atomic, and the same after a restart."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from runs.errors import (
    BudgetExceededError,
    ConflictingRecordError,
    IntentStateError,
    UnknownRecordError,
    UnknownRunError,
)
from runs.records import Budget
from runs.store import RunStore


@pytest.fixture
def run(store, make):
    run = make.run(budget=Budget(dollars=1.0, tokens=1000, device_s=2.0, candidates=3))
    store.start_run(run)
    return run


def log(store, run, name="r/1", dollars=0.4, tokens=100, prompt=b"prompt"):
    return store.ledger.log_intent(
        name,
        run.id,
        purpose="propose",
        prompt=prompt,
        worst_dollars=dollars,
        worst_tokens=tokens,
        at="t0",
    )


def test_life_of_a_paid_request(store, run):
    ledger = store.ledger
    intent = log(store, run)
    assert intent.state == "open"
    assert store.blobs.get(intent.prompt_digest) == b"prompt"
    assert ledger.spent(run.id).reserved_dollars == 0.4
    digest = ledger.store_reply("r/1", b"reply", at="t1")
    assert ledger.store_reply("r/1", b"reply", at="t1") == digest
    assert store.blobs.get(digest) == b"reply"
    assert [each.id for each in ledger.open_intents(run.id)] == ["r/1"]
    for _ in range(2):
        ledger.settle_intent("r/1", dollars=0.1, tokens_in=30, tokens_out=10, at="t2")
    spent = ledger.spent(run.id)
    assert (spent.dollars, spent.tokens) == (0.1, 40)
    assert (spent.reserved_dollars, spent.reserved_tokens) == (0.0, 0)
    assert ledger.open_intents(run.id) == ()


def test_a_resumed_run_finds_its_reply_and_does_not_pay_twice(store, run):
    log(store, run)
    store.ledger.store_reply("r/1", b"reply", at="t1")
    again = log(RunStore(store.home), run)
    assert again.state == "replied"
    assert store.blobs.get(again.reply_digest) == b"reply"
    assert store.ledger.spent(run.id).reserved_dollars == 0.4
    with pytest.raises(ConflictingRecordError, match="id of its own"):
        log(store, run, prompt=b"another")


def test_a_request_without_a_reply_is_charged_at_its_worst(store, run):
    log(store, run)
    for _ in range(2):
        store.ledger.abandon_intent("r/1", at="t1", reason="killed")
    spent = store.ledger.spent(run.id)
    assert (spent.dollars, spent.tokens, spent.reserved_dollars) == (0.4, 100, 0.0)
    with pytest.raises(IntentStateError):
        store.ledger.settle_intent("r/1", dollars=0, tokens_in=0, tokens_out=0, at="t2")
    with pytest.raises(IntentStateError):
        store.ledger.store_reply("r/1", b"late", at="t2")


def test_the_worst_case_must_fit(store, run):
    log(store, run, "r/1", 0.4)
    log(store, run, "r/2", 0.6)
    with pytest.raises(BudgetExceededError, match="dollars left"):
        log(store, run, "r/3", 0.001)
    with pytest.raises(BudgetExceededError, match="tokens"):
        log(store, run, "r/3", 0.0, tokens=900)
    with pytest.raises(UnknownRecordError):
        store.ledger.intent("r/3")


def test_charges_count_once(store, run):
    ledger = store.ledger
    assert ledger.charge(run.id, "judge:1", device_ns=10**9, wall_ns=5)
    assert not ledger.charge(run.id, "judge:1", device_ns=10**9, wall_ns=5)
    spent = RunStore(store.home).ledger.spent(run.id)
    assert (spent.device_ns, spent.wall_ns) == (10**9, 5)


def test_capped_charge_writes_nothing_when_refused(store, run):
    ledger = store.ledger
    for number in range(3):
        assert ledger.charge(run.id, f"c{number}", candidates=1, capped=True)
    with pytest.raises(BudgetExceededError, match="candidates left"):
        ledger.charge(run.id, "c3", candidates=1, capped=True)
    assert not ledger.charge(run.id, "c2", candidates=1, capped=True)
    spent = ledger.spent(run.id)
    assert spent.candidates == 3
    assert spent.exhausted(run.budget) == "candidates: 3 of 3 used"
    assert spent.exhausted(Budget()) is None


def test_parallel_requests_cannot_overspend_together(store, run):
    def ask(number: int) -> bool:
        try:
            log(store, run, f"r/{number}", 0.3, tokens=1)
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(ask, range(12)))
    assert granted == 3


def test_money_does_not_drift(store, run):
    for number in range(10):
        store.ledger.charge(run.id, f"c{number}", dollars=0.1)
    assert store.ledger.spent(run.id).dollars == 1.0


def test_unknown_run_is_refused(store):
    with pytest.raises(UnknownRunError):
        store.ledger.spent("nothing")
    with pytest.raises(UnknownRunError):
        store.ledger.charge("nothing", "x", tokens=1)
