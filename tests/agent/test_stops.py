"""Why a run stops, in numbers; caps that hold to the second; caps that are set anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import events
from agent.budget import StopReason
from agent.errors import SettingsError
from agent.settings import Share
from evaluators.errors import DeadlineError, JudgeFaultError
from runs.records import Budget
from sandbox.records import Candidate
from tests.agent.bench import Bench, constant
from tests.agent.toy_run import install

LONG = {"rounds": 50, "patience": 50}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    install(monkeypatch.setattr)
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("settings", "ratio", "why"),
    [
        ({"rounds": 1}, 1.1, "rounds: all of 1 round done"),
        ({"rounds": 50, "patience": 2}, 0.9, "plateau: 2 rounds without 1 % progress"),
        (
            {"stop_at_speed_of_light": 0.2},
            2.0,
            "roofline: at 20 % of the speed of light, 20 % were asked for",
        ),
        (
            {**LONG, "proposers": (Share(name="tune"),), "width": 3},
            0.9,
            "exhausted: no proposer has anything left to propose",
        ),
        ({**LONG, "budget": Budget(candidates=3)}, 0.9, "candidates: 3 of 3 used"),
        (
            {**LONG, "budget": Budget(device_s=10)},
            0.9,
            "device_s: 9 of 10 used, and what comes next would not fit",
        ),
    ],
)
def test_the_reason_has_its_numbers(
    bench: Bench, settings: dict[str, object], ratio: float, why: str
) -> None:
    bench.judge.ratio = constant(ratio)
    result = bench.start(**settings)
    assert result.why == why
    assert result.to_json()["why"] == why
    assert bench.seen(events.Finished)[0].why == why
    assert bench.end_reason().removesuffix("; awaiting review") == why
    # And it is still known when the run is looked at again.
    assert bench.resume(result.run).why == why


def test_a_baseline_at_the_roofline_leaves_nothing_to_gain(bench: Bench) -> None:
    bench.judge.ratio = constant(0.9)
    result = bench.start(stop_at_speed_of_light=0.1, **LONG)
    assert (result.stop, result.best) == (StopReason.ROOFLINE, None)


def test_no_judgement_runs_past_a_cap(bench: Bench) -> None:
    bench.judge.ratio = constant(0.9)
    bench.judge.takes_s = {"screen": 4.0}
    result = bench.start(budget=Budget(device_s=10), **LONG)
    assert bench.judge.left == [10, 6]
    assert (result.stop, result.spent.device_s) == (StopReason.DEVICE_S, 8)


def test_a_judgement_that_time_cuts_short_is_charged_and_ends_the_run(bench: Bench) -> None:
    def slower_and_slower(candidate: Candidate, done: int) -> None:
        bench.judge.takes_s = {"screen": 4.0 if done < 2 else 40.0, "promote": 1.0}

    bench.judge.before = slower_and_slower
    bench.judge.ratio = constant(0.9)
    result = bench.start(budget=Budget(device_s=15), width=3, **LONG)
    assert bench.judge.left == [15, 11, 7]
    assert (result.stop, result.spent.device_s) == (StopReason.DEVICE_S, 15)
    assert result.why == "device_s: 15 of 15 used"
    # What was found before is kept, and what was cut short has no verdict.
    assert len(bench.verdicts(result.run)) == result.spent.candidates == 2
    assert len(bench.proposals(result.run)) == 3


def test_the_wall_is_a_deadline_too(bench: Bench) -> None:
    def out_of_time(candidate: Candidate, done: int) -> None:
        raise DeadlineError(3_000_000_000)

    bench.judge.before = out_of_time
    result = bench.start(budget=Budget(wall_s=500, device_s=1000), **LONG)
    assert result.stop is StopReason.WALL_S
    assert 490 < (bench.judge.left[0] or 0) <= 500
    assert result.spent.device_s == 3
    assert (result.status, result.best, result.promotable) == ("finished", None, ())


def test_waiting_is_nobodys_time(bench: Bench) -> None:
    faults = iter([JudgeFaultError("canary")])

    def fail(candidate: Candidate, done: int) -> None:
        error = next(faults, None)
        if error is not None:
            raise error

    bench.judge.before = fail
    bench.judge.takes_s = {"screen": 4.0, "promote": 4.0}
    result = bench.start(budget=Budget(device_s=100), rounds=1, width=1)
    assert result.spent.device_s == 4.0 * len(bench.judge.done())


def test_time_is_kept_back_to_confirm_what_was_found(bench: Bench) -> None:
    bench.judge.ratio = constant(1.2)
    bench.judge.takes_s = {"screen": 2.0, "promote": 20.0}
    result = bench.start(budget=Budget(device_s=40), **LONG)
    assert result.stop is StopReason.DEVICE_S
    assert len(result.promotable) == 1
    # 22 s for a confirmation that nobody has seen yet, and 2 s for each screening before it.
    assert result.spent.candidates == 9
    assert result.spent.device_s == 38


def test_nothing_is_confirmed_beyond_the_cap(bench: Bench) -> None:
    bench.judge.ratio = constant(1.2)
    bench.judge.takes_s = {"screen": 2.0, "promote": 500.0}
    result = bench.start(budget=Budget(device_s=40), **LONG)
    assert (result.stop, result.spent.device_s) == (StopReason.DEVICE_S, 40)
    assert result.why == "device_s: 40 of 40 used; 0 of 1 confirmed"
    assert result.promotable == ()
    # It ends with all that it found.
    assert result.best is not None
    assert len(bench.verdicts(result.run)) == result.spent.candidates >= 3


CANDIDATES = (
    ("dollars", 1.0), ("tokens", 10), ("device_s", 1.0), ("wall_s", 1.0), ("candidates", 1),
)  # fmt: skip


@pytest.mark.parametrize(("name", "cap"), CANDIDATES)
def test_a_run_that_a_cap_ended_stays_ended(bench: Bench, name: str, cap: float) -> None:
    result = bench.start(budget=Budget(**{name: 0}), **LONG)
    assert (result.stop.value, result.why) == (name, f"{name}: 0 of 0 used") or name == "wall_s"
    judged = bench.judge.done()
    for _ in range(2):
        again = bench.resume(result.run)
        assert (again.stop, again.why, again.status) == (result.stop, result.why, "finished")
    assert bench.judge.done() == judged == []
    # Another cap than the one that ended it changes nothing either.
    other = next(n for n, _ in CANDIDATES if n != name)
    assert bench.resume(result.run, budget=Budget(**{other: 10**6})).stop is result.stop
    assert bench.judge.done() == []


def test_a_cap_set_anew_lets_the_search_go_on(bench: Bench) -> None:
    bench.judge.ratio = constant(0.9)
    ended = bench.start(budget=Budget(candidates=3), rounds=6, patience=9)
    assert ended.stop is StopReason.CANDIDATES
    result = bench.resume(ended.run, budget=Budget(candidates=6))
    # The caps hold for all that the run ever spent.
    assert (result.stop, result.spent.candidates) == (StopReason.CANDIDATES, 6)
    assert result.why == "candidates: 6 of 6 used"
    assert len(set(bench.screened())) == len(bench.screened()) == 6
    assert bench.resume(ended.run).spent.candidates == 6
    assert bench.resume(ended.run, budget=Budget(candidates=100)).stop is StopReason.ROUNDS
    assert len(set(bench.screened())) == len(bench.screened())
    # Rounds are counted once, though a cap cut into some.
    assert [e.round for e in bench.seen(events.RoundDone)][-1] == 6


def test_what_a_cap_cut_off_in_a_round_is_judged_then(bench: Bench) -> None:
    bench.judge.ratio = constant(0.9)
    bench.judge.takes_s = {"screen": 4.0}
    ended = bench.start(budget=Budget(device_s=9), width=4, rounds=1)
    assert (len(bench.proposals(ended.run)), ended.spent.candidates) == (4, 2)
    result = bench.resume(ended.run, budget=Budget(device_s=100))
    assert (result.stop, result.spent.candidates) == (StopReason.ROUNDS, 4)
    assert len(bench.proposals(ended.run)) == 4


def test_a_cap_set_anew_confirms_what_was_left_over(bench: Bench) -> None:
    bench.judge.ratio = constant(1.2)
    bench.judge.takes_s = {"screen": 2.0, "promote": 500.0}
    ended = bench.start(budget=Budget(device_s=40), rounds=1, width=1)
    assert ended.why.endswith("0 of 1 confirmed")
    result = bench.resume(ended.run, budget=Budget(device_s=1000))
    assert result.stop is StopReason.ROUNDS
    assert (result.status, len(result.promotable)) == ("awaiting_review", 1)
    assert len(bench.screened()) == 1


def test_a_run_that_waits_for_review_may_go_on_searching(bench: Bench) -> None:
    bench.judge.ratio = constant(1.2)
    ended = bench.start(budget=Budget(candidates=2), **LONG)
    assert ended.status == "awaiting_review"
    result = bench.resume(ended.run, budget=Budget(candidates=4))
    assert (result.status, result.spent.candidates) == ("awaiting_review", 4)
    assert set(result.promotable) == set(ended.promotable)


def test_no_cap_is_set_below_what_was_spent(bench: Bench) -> None:
    ended = bench.start(budget=Budget(candidates=2), **LONG)
    with pytest.raises(SettingsError, match="2 candidates are spent"):
        bench.resume(ended.run, budget=Budget(candidates=1))
    assert bench.resume(ended.run).why == ended.why
