"""Round trips, idempotence and look-ups of the run store."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluators.verdict import ErrorCell
from runs.errors import (
    AmbiguousIdError,
    ConflictingRecordError,
    CorruptBlobError,
    UnknownRecordError,
    UnknownRunError,
)
from runs.records import Budget, Promotion, Proposal, Run
from sandbox.records import Candidate

text = st.text(max_size=30)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
amounts = st.floats(0, 1e6, allow_nan=False)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | text
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
runs = st.builds(
    Run,
    id=st.text("0123456789-abcdef", min_size=1, max_size=20),
    op=text,
    implementation=text,
    target=text,
    case=text,
    budget=st.builds(Budget, dollars=st.none() | amounts, tokens=st.none() | st.integers(0, 10**9)),
    base_commit=text,
    settings=st.dictionaries(text, json_values, max_size=4),
    started_at=text,
)
candidates = st.builds(
    Candidate,
    op=st.just("toy"),
    implementation=st.just("xla"),
    target=st.just("cpu"),
    files=st.fixed_dictionaries({"xla.py": st.text(max_size=200)}),
)
quiet = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quiet
@given(run=runs)
def test_run_comes_back_as_it_went_in(store, run):
    with_id = run.model_copy(update={"id": f"{run.id}-{run.digest[:16]}"})
    store.start_run(with_id)
    store.start_run(with_id)
    assert store.run(with_id.id) == with_id
    assert store.run(with_id.id).digest == with_id.digest


@quiet
@given(candidate=candidates)
def test_candidate_comes_back_as_it_went_in(store, candidate):
    digest = store.record_candidate(candidate)
    assert store.record_candidate(candidate) == digest == candidate.digest
    assert store.candidate(digest) == candidate


@quiet
@given(
    words=text,
    numbers=st.tuples(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**15)),
    dollars=amounts,
)
def test_proposal_comes_back_as_it_went_in(store, make, words, numbers, dollars):
    store.start_run(make.run())
    proposal = make.proposal(
        0,
        None,
        rationale=words,
        failure=words,
        tokens_in=numbers[0],
        tokens_out=numbers[1],
        duration_ns=numbers[2],
        dollars=dollars,
    )
    proposal = proposal.model_copy(update={"id": f"{proposal.run}/{proposal.digest[:16]}"})
    store.record_proposal(proposal)
    assert proposal in store.proposals(proposal.run)


@quiet
@given(facts=st.dictionaries(text, json_values, max_size=4), low=st.floats(1.01, 50))
def test_verdict_comes_back_as_it_went_in(store, make, facts, low):
    candidate = make.candidate()
    store.record_candidate(candidate)
    verdict = make.verdict(candidate, low=low, facts=facts)
    digest = store.record_outcome(make.outcome(candidate, verdict), incumbent=make.candidate("old"))
    assert digest == verdict.digest
    assert store.verdict(digest) == verdict


def test_digests_do_not_depend_on_the_order_of_settings(make):
    assert make.run(settings={"a": 1, "b": 2}).digest == make.run(settings={"b": 2, "a": 1}).digest


@pytest.mark.parametrize("error", [math.inf, math.nan])
def test_errors_that_are_no_numbers_survive(store, make, error):
    candidate = make.candidate()
    store.record_candidate(candidate)
    cell = ErrorCell(
        entry="forward", case="tiny", distribution="d", leaf="y", kind="k", error=error, allowed=0.1
    )
    verdict = make.failed(candidate, "wrong", errors=(cell,))
    store.record_outcome(make.outcome(candidate, verdict), incumbent=candidate)
    stored = store.verdict(verdict.digest).errors[0]
    assert repr(stored.error) == repr(error)
    assert not stored.passed


def test_same_id_with_other_content_is_refused(store, make):
    store.start_run(make.run())
    with pytest.raises(ConflictingRecordError, match="another id"):
        store.start_run(make.run(op="other"))
    store.record_proposal(make.proposal(0, None))
    with pytest.raises(ConflictingRecordError, match="another id"):
        store.record_proposal(make.proposal(0, None, rationale="changed"))


def test_what_a_record_names_is_stored_first(store, make):
    with pytest.raises(UnknownRunError, match="kernelwright runs"):
        store.record_proposal(make.proposal(0, None))
    store.start_run(make.run())
    with pytest.raises(UnknownRecordError):
        store.record_proposal(make.proposal(0, "c" * 64))
    candidate = make.candidate()
    with pytest.raises(UnknownRecordError, match="candidate"):
        store.record_outcome(make.outcome(candidate), incumbent=candidate)
    assert store.verdicts() == ()
    assert store.samples.series() == ()


def test_proposals_keep_their_order(store, make):
    store.start_run(make.run())
    for number in (2, 0, 1):
        store.record_proposal(make.proposal(number, None))
    ids = [proposal.id[-1] for proposal in store.proposals("20261130-231500-ab12")]
    assert ids == ["2", "0", "1"]


def test_verdict_recorded_twice_is_one(store, make):
    candidate = make.candidate()
    store.record_candidate(candidate)
    for _ in range(2):
        store.record_outcome(make.outcome(candidate), incumbent=make.candidate("old"))
    assert len(store.verdicts()) == 1
    assert len(store.samples.series(clock=None)) == 5
    assert store.build(make.build(candidate).digest) == make.build(candidate)


def test_find_verdict_by_what_was_judged(store, make):
    candidate, old = make.candidate(), make.candidate("old")
    store.record_candidate(candidate)
    screened = make.screened(candidate)
    store.record_outcome(make.outcome(candidate, screened), incumbent=old)

    def find(**changes):
        wanted = {"tier": "screen", "toolchain": "a" * 64, "case": "tiny", **changes}
        return store.find_verdict(candidate.digest, **wanted)

    assert find() == screened
    assert find(case=None) == screened
    assert find(incumbent=old.digest) == screened
    assert find(tier="promote") is None
    assert find(toolchain="b" * 64) is None
    assert find(case="large") is None
    assert find(incumbent="c" * 64) is None
    assert store.find_verdict("c" * 64, tier="screen", toolchain="a" * 64) is None


def test_find_verdict_of_a_failed_build(store, make):
    candidate = make.candidate("def forward(:")
    store.record_candidate(candidate)
    verdict = make.failed(candidate, builds=())
    outcome = dataclasses.replace(make.outcome(candidate, verdict), builds=())
    store.record_outcome(outcome, incumbent=candidate, cases=["tiny"], toolchain="t1")
    found = store.find_verdict(candidate.digest, tier="screen", toolchain="t1", case="tiny")
    assert found == verdict


def test_the_latest_verdict_wins(store, make):
    candidate = make.candidate()
    store.record_candidate(candidate)
    for low in (1.1, 1.3):
        store.record_outcome(
            make.outcome(candidate, make.verdict(candidate, low=low)), incumbent=candidate
        )
    found = store.find_verdict(candidate.digest, tier="promote", toolchain="a" * 64)
    assert found.effect.low == 1.3


def test_bytes_must_have_their_digest(store, make):
    candidate = make.candidate()
    store.record_candidate(candidate)
    outcome = dataclasses.replace(make.outcome(candidate), blobs={"c" * 64: b"something"})
    with pytest.raises(CorruptBlobError, match="another digest"):
        store.record_outcome(outcome, incumbent=candidate)
    assert store.verdicts() == ()


def test_short_ids(store, make):
    first, second = make.run("2026-aa"), make.run("2026-ab")
    store.start_run(first)
    store.start_run(second)
    assert store.resolve("run", "2026-aa") == "2026-aa"
    digest = store.record_candidate(make.candidate())
    assert store.resolve("candidate", digest[:6]) == digest
    with pytest.raises(AmbiguousIdError, match="more of it"):
        store.resolve("run", "2026-a")
    with pytest.raises(UnknownRunError):
        store.resolve("run", "%")
    with pytest.raises(UnknownRecordError):
        store.resolve("verdict", "abc")


def test_run_states(store, make):
    from runs.queries import run_summary

    run = make.run()
    store.start_run(run)
    assert run_summary(store, run.id).state == "open"
    store.finish_run(run.id, "stopped", at="2026-12-01T00:00:00+00:00", reason="budget")
    summary = run_summary(store, run.id)
    assert (summary.state, summary.end_reason) == ("stopped", "budget")
    store.reopen_run(run.id)
    assert run_summary(store, run.id).ended_at is None
    with pytest.raises(UnknownRunError):
        store.finish_run("nothing", "failed", at="")


def test_decisions_are_appended(store, make):
    candidate = make.candidate()
    store.record_candidate(candidate)
    verdict = store.record_outcome(make.outcome(candidate), incumbent=candidate)
    promotion = Promotion(
        id="p1",
        kind="source",
        run=None,
        op="toy",
        implementation="xla",
        target="cpu",
        candidate=candidate.digest,
        verdict=verdict,
        incumbent=candidate.digest,
        patch="",
        ratio=1.3,
        low=1.2,
        high=1.4,
        validity=(),
        reviewer="ann",
        decision="accepted",
        decided_at="t1",
    )
    store.record_promotion(promotion)
    store.record_promotion(promotion)
    undone = promotion.model_copy(update={"decision": "rolled_back", "decided_at": "t2"})
    store.record_promotion(undone)
    assert store.promotion("p1") == undone
    assert store.promotion_history("p1") == (promotion, undone)
    assert store.promotions(decision="accepted") == ()
    assert store.promotions(op="toy", candidate=candidate.digest) == (undone,)
    with pytest.raises(UnknownRecordError):
        store.promotion("p2")


def test_proposal_record_is_closed(make):
    with pytest.raises(ValueError, match="extra"):
        Proposal(**{**make.proposal(0, None).model_dump(), "note": "x"})
