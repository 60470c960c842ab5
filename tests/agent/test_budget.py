"""Caps hold, charges count once, waiting counts against nothing, and all of it survives."""

from __future__ import annotations

import pytest

from agent.budget import (
    Meter,
    OverBudgetError,
    Spent,
    StopReason,
    TimeLeft,
    device_ns,
    exceeded,
    judgement_ns,
)
from evaluators.verdict import Tier, Verdict
from runs.errors import BudgetExceededError
from runs.records import Budget, Run
from runs.search_rows import SearchRows
from runs.store import RunStore
from tests.agent import toy
from tests.agent.conftest import start_run
from tests.agent.judge import verdict

SECOND = 1_000_000_000


class Clock:
    now_ns = 0

    def __call__(self) -> int:
        return self.now_ns

    def pass_s(self, seconds: float) -> None:
        self.now_ns += round(seconds * SECOND)


def test_working_time_counts_and_waiting_does_not(store: RunStore, run: Run) -> None:
    clock = Clock()
    meter = Meter(store, run, clock_ns=clock)
    clock.pass_s(2)
    meter.queued(True)
    clock.pass_s(100)
    meter.queued(True)
    assert meter.spent().wall_s == 2
    clock.pass_s(100)
    meter.queued(False)
    clock.pass_s(1)
    assert meter.spent().wall_s == 3


def test_another_process_goes_on_with_what_was_spent(store: RunStore, run: Run) -> None:
    clock = Clock()
    first = Meter(store, run, clock_ns=clock)
    clock.pass_s(5)
    first.charge_judgement(verdict(toy.module(), 1.1))
    first.tick()
    # Time between two processes is nobody's.
    clock.pass_s(1000)
    second = Meter(RunStore(store.home), run, clock_ns=clock)
    clock.pass_s(1)
    spent = second.spent()
    assert (spent.wall_s, spent.device_s, spent.candidates) == (6, 3, 1)


def test_a_judgement_is_booked_once(store: RunStore, run: Run) -> None:
    meter = Meter(store, run)
    screened = verdict(toy.module(), 1.1)
    for _ in range(3):
        meter.charge_judgement(screened)
    meter.charge_judgement(verdict(toy.module(), 1.1, tier="promote"))
    assert (meter.spent().device_s, meter.spent().candidates) == (6, 1)


def test_device_time_leaves_out_building_and_queueing() -> None:
    stages = {"build": 9, "baseline": 9, "queue": 9, "start": 1, "numerics": 2, "timing": 3}
    assert device_ns(verdict(toy.module(), 1.1, stage_ns=stages)) == 6
    assert device_ns(verdict(toy.module(), 1.1, stage_ns={**stages, "judge": 10})) == 10


@pytest.mark.parametrize(
    ("spent", "budget", "reason"),
    [
        (Spent(dollars=2), Budget(dollars=2), StopReason.DOLLARS),
        (Spent(tokens=5), Budget(tokens=5), StopReason.TOKENS),
        (Spent(device_s=2), Budget(device_s=1), StopReason.DEVICE_S),
        (Spent(wall_s=2), Budget(wall_s=2), StopReason.WALL_S),
        (Spent(candidates=3), Budget(candidates=3), StopReason.CANDIDATES),
        (Spent(9, 9, 9, 9, 9, 9), Budget(), None),
        (Spent(), Budget(dollars=0.01, tokens=1, device_s=1, wall_s=1, candidates=1), None),
        (Spent(), Budget(candidates=0), StopReason.CANDIDATES),
    ],
)
def test_the_first_cap_that_is_used_up(
    spent: Spent, budget: Budget, reason: StopReason | None
) -> None:
    assert exceeded(spent, budget) is reason


def test_a_judgement_that_would_go_over_is_refused(store: RunStore) -> None:
    run = start_run(store, Budget(device_s=8, candidates=2))
    meter = Meter(store, run)
    earlier = [verdict(toy.module(), 1.1)]
    meter.check_judgement("screen", ())
    meter.charge_judgement(earlier[0])
    meter.check_judgement("screen", earlier)
    other = toy.module(toy.SOURCE + "\nX = 1\n")
    earlier.append(verdict(other, 1.1))
    meter.charge_judgement(earlier[1])
    # 6 of 8 seconds are used and one takes 3.
    with pytest.raises(OverBudgetError) as refusal:
        meter.check_judgement("screen", earlier)
    assert refusal.value.reason is StopReason.DEVICE_S
    with pytest.raises(OverBudgetError):
        meter.check_judgement("promote", earlier)


def test_candidates_cap_screenings_and_no_confirmation(store: RunStore) -> None:
    run = start_run(store, Budget(candidates=1))
    meter = Meter(store, run)
    meter.charge_judgement(verdict(toy.module(), 1.1))
    with pytest.raises(OverBudgetError):
        meter.check_judgement("screen", ())
    meter.check_judgement("promote", ())
    assert meter.used_up() is StopReason.CANDIDATES


def timed(seconds: float, tier: Tier = "screen", number: int = 0) -> Verdict:
    stages = {"build": 2 * SECOND, "queue": 99 * SECOND, "timing": round(seconds * SECOND)}
    return verdict(toy.module(f"{toy.SOURCE}X = {number}\n"), 1.1, tier=tier, stage_ns=stages)


def refusal(meter: Meter, tier: Tier, earlier: list[Verdict], to_confirm: int = 0) -> str:
    try:
        meter.check_judgement(tier, earlier, to_confirm=to_confirm)
    except OverBudgetError as error:
        return error.reason.value
    return ""


def test_a_judgement_works_but_does_not_queue() -> None:
    assert judgement_ns(timed(3.0)) == 5 * SECOND
    assert device_ns(timed(3.0)) == 3 * SECOND


def test_a_screening_leaves_room_to_confirm(store: RunStore) -> None:
    meter = Meter(store, start_run(store, Budget(device_s=50)))
    earlier = [timed(3.0)]
    meter.charge_judgement(earlier[0])
    # 3 s are used; a confirmation is expected to take 33 s, and 60 % of the cap are 30 s.
    assert refusal(meter, "screen", earlier, to_confirm=0) == ""
    assert refusal(meter, "screen", earlier, to_confirm=1) == ""
    for number in range(1, 6):
        earlier.append(timed(3.0, number=number))
        meter.charge_judgement(earlier[-1])
    assert meter.spent().device_s == 18
    assert refusal(meter, "screen", earlier, to_confirm=1) == "device_s"
    assert refusal(meter, "screen", earlier, to_confirm=0) == ""
    assert refusal(meter, "promote", earlier) == ""
    # Once one was seen, its length is known.
    earlier.append(timed(6.0, "promote"))
    meter.charge_judgement(earlier[-1])
    assert refusal(meter, "screen", earlier, to_confirm=3) == ""
    assert refusal(meter, "screen", earlier, to_confirm=4) == "device_s"


def test_the_wall_counts_building_too(store: RunStore) -> None:
    clock = Clock()
    meter = Meter(store, start_run(store, Budget(wall_s=20)), clock_ns=clock)
    clock.pass_s(16)
    assert refusal(meter, "screen", [timed(1.0)]) == ""
    assert refusal(meter, "screen", [timed(3.0)]) == "wall_s"
    clock.pass_s(4)
    assert refusal(meter, "screen", []) == "wall_s"


def test_the_tightest_cap_is_what_is_left(store: RunStore) -> None:
    clock = Clock()
    meter = Meter(store, start_run(store, Budget(wall_s=20, device_s=8)), clock_ns=clock)
    assert meter.time_left() == TimeLeft(8.0, StopReason.DEVICE_S)
    clock.pass_s(15)
    assert meter.time_left() == TimeLeft(5.0, StopReason.WALL_S)
    clock.pass_s(15)
    assert meter.time_left() == TimeLeft(0.0, StopReason.WALL_S)


def test_no_cap_on_time_is_no_deadline(store: RunStore, run: Run) -> None:
    assert Meter(store, run).time_left() is None


def test_what_was_cut_short_is_charged_each_time(store: RunStore, run: Run) -> None:
    for meter in (Meter(store, run), Meter(store, run)):
        meter.charge_cut_short(2 * SECOND)
        meter.charge_cut_short(2 * SECOND)
    assert (meter.spent().device_s, meter.spent().candidates) == (8, 0)


def test_caps_set_anew_hold_for_the_ledger_too(store: RunStore) -> None:
    run = start_run(store, Budget(tokens=10))
    SearchRows(store.database, run.id).set_caps(Budget(tokens=20), at="2026-11-30T23:16:00+00:00")
    assert Meter(store, run).budget == Budget(tokens=20)
    assert store.ledger.charge(run.id, "x", tokens=15, capped=True)
    with pytest.raises(BudgetExceededError):
        store.ledger.charge(run.id, "y", tokens=15, capped=True)


def test_wall_time_left(store: RunStore) -> None:
    clock = Clock()
    meter = Meter(store, start_run(store, Budget(wall_s=10)), clock_ns=clock)
    clock.pass_s(4)
    assert meter.wall_left_s() == 6
    clock.pass_s(40)
    assert meter.wall_left_s() == 0
