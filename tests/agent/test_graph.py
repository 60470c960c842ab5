"""Whole runs with a real store and a judge of our own: the loop, its stops, review."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from agent import events
from agent.budget import StopReason
from agent.errors import RunBusyError, SettingsError, UnknownRunError
from agent.holding import held
from agent.run import RunResult, steering_case
from agent.settings import Settings, Share
from evaluators.errors import JudgeFaultError, MachineBusyError
from runs.queries import run_summaries
from runs.records import Budget, Promotion
from sandbox.errors import InfrastructureError
from sandbox.records import Candidate
from tests.agent import toy
from tests.agent.bench import Bench, constant
from tests.agent.openai_server import serving, text
from tests.agent.toy_run import install

OTHER = toy.SOURCE.replace("jnp.exp(w) * jnp.exp(w)", "jnp.exp(2 * w)")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    install(monkeypatch.setattr)
    return Bench(tmp_path)


def test_a_run_proposes_judges_confirms_and_waits_for_review(bench: Bench) -> None:
    result = bench.start(rounds=3, patience=9, width=2)
    assert result.stop is StopReason.ROUNDS
    assert result.status == "awaiting_review"
    assert result.best is not None
    assert len(result.promotable) == 1
    screened = [d for tier, _, d in bench.judge.done() if tier == "screen"]
    confirmed = [row for row in bench.judge.done() if row[0] == "promote"]
    assert len(set(screened)) == len(screened) == 6
    assert [d for _, _, d in confirmed] == list(result.promotable)
    # The interval of a promotion is corrected for everything that was measured.
    assert confirmed[0][1] == 6
    assert [m for tier, m, _ in bench.judge.done() if tier == "screen"] == [1, 2, 3, 4, 5, 6]
    assert result.spent.candidates == 6
    assert result.spent.device_s == 7 * 3
    proposals = bench.store.proposals(result.run)
    assert [p.id for p in sorted(proposals, key=lambda p: p.id)] == [
        f"{result.run}/{n}" for n in range(6)
    ]
    assert Counter(p.proposer for p in proposals) == {"rewrite": 4, "tune": 2}
    assert len({p.kind for p in proposals}) == 2


def test_events_tell_the_story_and_are_plain_data(bench: Bench) -> None:
    result = bench.start(rounds=2, patience=9)
    names = [event.to_json()["event"] for event in bench.events]
    assert names[0] == "started"
    assert names[-1] == "finished"
    assert Counter(names)["proposed"] == 4
    assert Counter(names)["judged"] == 4 + len(result.promotable)
    assert [e.round for e in bench.seen(events.RoundDone)] == [1, 2]
    assert {event.run for event in bench.events} == {result.run}
    finished = bench.seen(events.Finished)[0]
    assert (finished.best, finished.promotable) == (result.best, result.promotable)
    assert set(result.to_json()) >= {"run", "status", "stop", "best", "promotable", "spent"}


def test_later_rounds_build_on_the_best(bench: Bench) -> None:
    # Each rewrite on top of another is faster still.
    def deeper(candidate: Candidate) -> float:
        parent = {p.candidate: p.parent for p in bench.store.proposals(bench.run())}
        depth, at = 0, candidate.digest
        while at in parent:
            depth, at = depth + 1, parent[at]
        return 1 + 0.1 * depth

    bench.judge.ratio = deeper
    result = bench.start(rounds=3, width=1, proposers=(Share(name="rewrite"),))
    assert result.best_ratio == pytest.approx(1.3)
    proposals = bench.store.proposals(result.run)
    assert [p.parent for p in proposals[1:]] == [p.candidate for p in proposals[:-1]]


def test_a_plateau_stops_after_its_patience(bench: Bench) -> None:
    bench.judge.ratio = constant(0.9)
    result = bench.start(patience=2, rounds=50)
    assert (result.stop, result.status, result.best) == (StopReason.PLATEAU, "finished", None)
    assert len(bench.seen(events.RoundDone)) == 2
    assert not [row for row in bench.judge.done() if row[0] == "promote"]


def test_wrong_candidates_are_never_confirmed(bench: Bench) -> None:
    bench.judge.ratio = constant(None)
    result = bench.start(patience=1)
    assert (result.best, result.promotable, result.status) == (None, (), "finished")


def test_the_roofline_stops_it(bench: Bench) -> None:
    bench.judge.ratio = constant(2.0)
    result = bench.start(stop_at_speed_of_light=0.2)
    assert result.stop is StopReason.ROOFLINE
    assert len(bench.seen(events.RoundDone)) == 1


def test_a_run_with_nothing_left_to_propose_is_exhausted(bench: Bench) -> None:
    bench.judge.ratio = constant(0.9)
    result = bench.start(proposers=(Share(name="tune"),), patience=50, rounds=50, width=3)
    assert result.stop is StopReason.EXHAUSTED
    # Four points, in rounds of three; no number is judged twice.
    assert len(bench.judge.done()) == 4


def test_a_cap_on_candidates_is_exact(bench: Bench) -> None:
    result = bench.start(budget=Budget(candidates=3), rounds=50, patience=50, width=2)
    assert result.stop is StopReason.CANDIDATES
    assert result.spent.candidates == 3
    # What was found is confirmed all the same.
    assert [row[0] for row in bench.judge.done()][:3] == ["screen"] * 3


def test_a_cap_on_device_seconds_is_not_passed(bench: Bench) -> None:
    result = bench.start(budget=Budget(device_s=10), rounds=50, patience=50)
    assert result.stop is StopReason.DEVICE_S
    assert result.spent.device_s <= 10


def test_a_used_up_budget_stops_before_the_first_round(bench: Bench) -> None:
    result = bench.start(budget=Budget(candidates=0))
    assert (result.stop, bench.judge.done()) == (StopReason.CANDIDATES, [])


def test_duplicates_are_seen_before_they_are_judged(bench: Bench) -> None:
    commented = f"# Another word.\n{OTHER}"
    same = toy.SOURCE.replace("A toy module.", "Other words.")
    result = bench.start(
        proposers=(Share(name="patch"),), patches=(OTHER, commented, same), width=3, rounds=2,
        promote=0,
    )  # fmt: skip
    assert len(bench.judge.done()) == 1
    # The incumbent's own text is not even proposed.
    assert [(d.number, d.of) for d in bench.seen(events.Duplicate)] == [(1, 0)]
    assert result.stop is StopReason.EXHAUSTED


def test_infrastructure_is_retried_then_raised_and_the_run_goes_on_later(bench: Bench) -> None:
    faults = iter([JudgeFaultError("canary"), None, InfrastructureError("disk"),
                   InfrastructureError("disk full")])  # fmt: skip

    def fail(candidate: Candidate, done: int) -> None:
        error = next(faults, None)
        if error is not None:
            raise error

    bench.judge.before = fail
    with pytest.raises(InfrastructureError, match="disk full"):
        bench.start(rounds=2, patience=9)
    summary = run_summaries(bench.store)[0]
    assert summary.state == "failed"
    result = bench.resume(summary.run.id)
    assert result.stop is StopReason.ROUNDS
    screened = [d for tier, _, d in bench.judge.done() if tier == "screen"]
    assert len(set(screened)) == len(screened) == 4


def test_a_busy_machine_is_waited_for(bench: Bench) -> None:
    busy = iter([True, True])

    def wait(candidate: Candidate, done: int) -> None:
        if next(busy, False):
            raise MachineBusyError("somebody times")

    bench.judge.before = wait
    result = bench.start(rounds=1)
    assert result.spent.candidates == 2
    assert [e.stage for e in bench.seen(events.Judging)].count("waiting") == 2
    bench.judge.before = lambda candidate, done: (_ for _ in ()).throw(MachineBusyError("again"))
    with pytest.raises(MachineBusyError):
        bench.start(rounds=1, seed=5)


def promotion(result: RunResult, decision: str) -> Promotion:
    return Promotion(
        id="20261130-231500-abcdef01", kind="source", run=result.run, op="toy",
        implementation="xla", target="cpu", candidate=result.promotable[0], verdict="v" * 64,
        incumbent="i" * 64, patch="", ratio=1.1, low=1.05, high=1.2, validity=(),
        reviewer="me", decision=decision, decided_at="2026-11-30T23:15:00+00:00",  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_run_ends_when_its_review_is_done(bench: Bench) -> None:
    result = bench.start(rounds=2, patience=9)
    judged = bench.judge.done()
    assert bench.resume(result.run).status == "awaiting_review"
    (digest,) = result.promotable
    assert bench.resume(result.run, decision={digest: "rejected"}).status == "finished"
    # Once over it stays over, and nothing more was judged.
    again = bench.resume(result.run)
    assert (again.status, again.best) == ("finished", result.best)
    assert bench.judge.done() == judged
    assert run_summaries(bench.store)[0].state == "finished"


def test_settings_must_fit_the_op(bench: Bench) -> None:
    for settings in (
        {"case": "nowhere"}, {"case": toy.HELD_OUT}, {"implementation": "assembler"},
        {"proposers": (Share(name="oracle"),)},
        {"proposers": (Share(name="llm"),), "model": "openai/x", "budget": Budget(dollars=1)},
    ):  # fmt: skip
        with pytest.raises(SettingsError):
            bench.start(**settings)
    assert bench.judge.done() == []
    assert steering_case(toy.PROBLEM, Settings(op="toy")).name == "steering"


def test_a_run_is_one_process_work(bench: Bench) -> None:
    result = bench.start(rounds=1)
    with held(bench.store, result.run), pytest.raises(RunBusyError):
        bench.resume(result.run)
    with pytest.raises(UnknownRunError):
        bench.resume("20000101-000000-0000")


def test_a_model_is_told_where_the_incumbents_time_goes(bench: Bench) -> None:
    """The incumbent is judged once, before the first prompt, and counts as no candidate."""
    with serving([text("no code")]) as server:
        result = bench.start(
            rounds=2, width=1, model="openai/scripted", base_url=server.base_url, retries=0,
            proposers=(Share(name="llm"),), budget=Budget(candidates=1), promote=0,
        )  # fmt: skip
    own = bench.store.run(result.run).settings["incumbent"]
    looked = [digest for tier, _, digest in bench.judge.done()]
    assert len(looked) == 1
    assert bench.store.candidate(looked[0]).files == {
        "xla.py": bench.store.candidate(own).files["xla.py"]
    }
    assert result.best is None
    assert result.spent.candidates == 0
    assert result.spent.device_s > 0
    prompt = json.dumps(server.requests[0]["messages"])
    assert "no_gain" in prompt or "slower" in prompt or "faster" in prompt


def test_offline_proposers_need_no_look(bench: Bench) -> None:
    bench.start(rounds=1, proposers=(Share(name="rewrite"),))
    assert all(judged.number >= 0 for judged in bench.seen(events.Judged))
