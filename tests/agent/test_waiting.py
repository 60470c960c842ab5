"""Patience: generous with infrastructure, short with a judge that fails, and free of charge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agent import events
from agent.budget import Meter
from agent.nodes.waiting import patiently
from agent.run import resume, start
from agent.runtime import Patience
from agent.settings import Settings
from evaluators.errors import JudgeFaultError, MachineBusyError
from runs.queries import run_summaries
from runs.records import Budget
from runs.store import RunStore
from sandbox.errors import InfrastructureError
from tests.agent.judge import DiaryJudge
from tests.agent.toy_run import install, make_checkout

LOST = "no Docker daemon answers"


@dataclass
class Trying:
    """Fails in the given ways, then gives 7; remembers its waits."""

    errors: list[Exception]
    pauses_s: list[float] = field(default_factory=list)
    told: list[tuple[str, float]] = field(default_factory=list)

    def attempt(self) -> int:
        if self.errors:
            raise self.errors.pop(0)
        return 7

    def go(self, **changes: Any) -> int:
        patience = replace(Patience(sleep=self.pauses_s.append), **changes)
        return patiently(self.attempt, patience, lambda why, s: self.told.append((why, s)))


def lost(times: int) -> list[Exception]:
    return [InfrastructureError(LOST) for _ in range(times)]


def test_waits_grow_to_a_cap_and_are_told() -> None:
    trying = Trying(lost(9))
    assert trying.go() == 7
    assert trying.pauses_s == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert trying.told == [(LOST, pause_s) for pause_s in trying.pauses_s]


def test_an_outage_is_waited_out_for_half_an_hour_and_no_longer() -> None:
    trying = Trying(lost(1000))
    with pytest.raises(InfrastructureError, match=LOST):
        trying.go()
    assert sum(trying.pauses_s) == 1800.0


def test_a_failing_judge_is_tried_few_times_whatever_else_happens() -> None:
    fault: Exception = JudgeFaultError("the canary died too")
    trying = Trying([fault, *lost(3), fault, *lost(3), fault])
    with pytest.raises(JudgeFaultError):
        trying.go()
    assert trying.errors == []
    assert len(trying.pauses_s) == 8


def test_each_kind_of_wait_has_its_own_end() -> None:
    busy: Exception = MachineBusyError("somebody times")
    assert Trying([busy] * 4).go(busy_s=20.0) == 7
    with pytest.raises(MachineBusyError):
        Trying([busy] * 5).go(busy_s=20.0)
    trying = Trying([*lost(4), busy])
    assert trying.go(outage_s=10.0, busy_s=1.0) == 7
    # The last of an outage's waits is what is left.
    assert trying.pauses_s == [1.0, 2.0, 4.0, 3.0, 5.0]


class Clock:
    """A clock that `sleep` alone moves."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


def test_waiting_counts_against_no_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than half an hour of outage in a run that may work for two minutes."""
    install(monkeypatch.setattr)
    clock, errors, heard = Clock(), lost(40), []
    monkeypatch.setitem(Meter.__init__.__kwdefaults__, "clock_ns", clock)

    def judging(candidate: object, done: int) -> None:
        clock.sleep(2.0)
        if errors and done == 1:
            raise errors.pop(0)

    judge = DiaryJudge(tmp_path / "diary", before=judging)
    store = RunStore(tmp_path / "home")
    settings = Settings(op="toy", rounds=2, width=2, patience=9, budget=Budget(wall_s=120.0))
    patience = Patience(sleep=clock.sleep, outage_s=3600.0)
    checkout = make_checkout(tmp_path / "checkout")
    result = start(settings, store, judge, checkout, heard.append, patience=patience)

    waited_s = [e.pause_s for e in heard if isinstance(e, events.Waiting)]
    assert len(waited_s) == 40
    assert sum(waited_s) > 2000
    stages = [e.stage for e in heard if isinstance(e, events.Judging)]
    assert stages.count("waiting") == 40
    judged = len(judge.done())
    # What it tried in vain is working time, what it slept is not.
    assert result.spent.wall_s == pytest.approx(2.0 * (judged + 40))
    assert result.spent.device_s == pytest.approx(3.0 * judged)


def test_a_run_whose_patience_ended_is_failed_and_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch.setattr)
    errors = lost(1000)

    def judging(candidate: object, done: int) -> None:
        if errors and done == 1:
            raise errors[0]

    judge, store = DiaryJudge(tmp_path / "diary", before=judging), RunStore(tmp_path / "home")
    checkout = make_checkout(tmp_path / "checkout")
    patience = Patience(sleep=lambda seconds: None)
    settings = Settings(op="toy", rounds=2, width=2, patience=9)
    with pytest.raises(InfrastructureError, match=LOST):
        start(settings, store, judge, checkout, patience=patience)
    (summary,) = run_summaries(store)
    assert (summary.state, summary.end_reason) == ("failed", LOST)
    errors.clear()
    result = resume(summary.run.id, store, judge, checkout, patience=patience)
    assert len(judge.done()) == len(set(judge.done()))
    assert result.spent.candidates == 4
