"""What goes to standard error while something runs."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from rich.console import Console

from agent import events
from agent.budget import Spent, StopReason
from agent.cli.events import Reporter
from agent.cli.panel import RunPanel, duration
from agent.cli.progress import Progress
from agent.cli.standing import Best, Standing, resuming
from runs.records import Budget

RUN = "20261130-120000-aaaa"
DIGEST = "c" * 64


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def standing(clock: Clock) -> Standing:
    return Standing(width=2, rounds=4, budget=Budget(dollars=4.0), spent=Spent(), clock=clock)


def started() -> events.Event:
    return events.Started(RUN, "rms_norm", "xla", "cpu", "tiny", resumed=False)


def proposed(number: int, candidate: str | None = DIGEST) -> events.Event:
    return events.Proposed(RUN, number, "llm", "source", candidate, "why not", "fuse", 0.5)


def judged(number: int, low: float, tier: str = "screen", status: str = "faster") -> events.Event:
    return events.Judged(RUN, number, DIGEST, tier, status, low + 0.05, low, low + 0.1, "yes")


def finished() -> events.Event:
    return events.Finished(
        RUN, "awaiting_review", StopReason.PLATEAU, "no gain in 3 rounds", None, None, ()
    )


def drawn(standing: Standing, width: int = 100) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(RunPanel(standing))
    lines = stream.getvalue().splitlines()
    assert all(len(line) == width for line in lines)
    return lines


def row(standing: Standing, name: str) -> str:
    [found] = [line for line in drawn(standing) if line.strip("│ ").startswith(name)]
    return " ".join(found.strip("│ ").split())


def test_one_line_an_event_and_no_escape_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter(Progress(stage_lines=False))
    spent, budget = Spent(candidates=1), Budget(candidates=4)
    evil = events.Proposed(RUN, 1, "llm", "source", DIGEST, "", "fuse\x1b[31m\nit", 0.0)
    said: list[tuple[events.Event, str]] = [
        (started(), "steered by tiny"),
        (evil, "fuse"),
        (events.Proposed(RUN, 2, "llm", "source", None, "no\ncode", "", 0.1), "no code"),
        (events.Duplicate(RUN, 3, 1), "same program as #1"),
        (events.Duplicate(RUN, 4, None), "the incumbent"),
        (events.Waiting(RUN, 1, "no\x1b[2J daemon", 30.0), "waits 30 s"),
        (judged(1, 1.05), "x1.100"),
        (events.Judged(RUN, 1, DIGEST, "screen", "wrong", None, None, None, "no"), "wrong: no"),
        (events.RoundDone(RUN, 1, 8, None), "round 1 of at most 8"),
        (events.Confirming(RUN, (DIGEST,)), "cccccccccccc"),
        (finished(), "awaiting review"),
    ]
    for event, _ in said:
        reporter(event)
    reporter(events.Judging(RUN, 1, DIGEST, "screen", "compile"))
    reporter(events.BudgetUsed(RUN, spent, budget))
    found = capsys.readouterr()
    assert found.out == ""
    lines = found.err.splitlines()
    assert len(lines) == len(said)
    for line, (_, words) in zip(lines, said, strict=True):
        assert words in line
        assert line.isprintable()
    assert reporter.run == RUN


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(quiet=True)
    with progress.running("start"):
        progress.stage("build")
        progress.say("judged")
    assert capsys.readouterr() == ("", "")


def test_standard_output_is_for_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(quiet=True).running("start"):
        print("a library has an opinion")
    with Progress(quiet=True).showing(RunPanel(Standing()), lambda: ""):
        print("another")
    print("result")
    found = capsys.readouterr()
    assert found.out == "result\n"
    assert "opinion" in found.err
    assert sys.stdout is not sys.stderr


def test_repeated_stages_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    with progress.running("start"):
        for stage in ("build", "build", "judge"):
            progress.stage(stage)
    assert [line.split("] ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "start",
        "build",
        "judge",
    ]


def test_what_is_running(standing: Standing, clock: Clock) -> None:
    assert "starting" in row(standing, "now")
    standing.see(started())
    clock.now += 65
    assert row(standing, "now") == "now 1:05 asking the proposers"
    standing.see(proposed(0))
    assert "1 of 2 proposals are in" in row(standing, "now")
    standing.see(events.Judging(RUN, 0, DIGEST, "screen", "build"))
    clock.now += 10
    standing.see(events.Judging(RUN, 0, DIGEST, "screen", "timing"))
    clock.now += 5
    assert row(standing, "now") == "now 5 s of 15 s #0 screen: timing"
    assert "rms_norm/xla on cpu" in drawn(standing)[0]
    assert RUN in drawn(standing)[0]


def test_the_round(standing: Standing) -> None:
    standing.see(started())
    assert "round" not in drawn(standing)[0]
    standing.see(proposed(1))
    assert "round 1/4" in drawn(standing)[0]
    standing.see(events.RoundDone(RUN, 1, 4, None))
    assert "round 2/4" in drawn(standing)[0]
    # A resumed run has proposals from before; their numbers say how far it was.
    standing.see(proposed(5))
    assert "round 3/4" in drawn(standing)[0]
    standing.see(events.RoundDone(RUN, 4, 4, None))
    assert "round 4/4" in drawn(standing)[0]


def test_the_best_so_far(standing: Standing) -> None:
    assert row(standing, "best") == "best nothing faster yet"
    standing.see(judged(1, 1.2, status="no_gain"))
    assert "nothing" in row(standing, "best")
    standing.see(judged(2, 1.2))
    standing.see(judged(3, 1.1))
    assert row(standing, "best") == "best x1.250 [1.200, 1.300] #2, screen tier"
    # What was confirmed counts for more than what was screened.
    standing.see(judged(3, 1.05, tier="promote"))
    assert "#3, promote tier" in row(standing, "best")
    standing.see(judged(4, 1.5))
    assert "#3, promote tier" in row(standing, "best")


def test_every_cap_is_a_bar_with_numbers(clock: Clock) -> None:
    budget = Budget(dollars=4.0, tokens=10_000, device_s=60, wall_s=7200, candidates=8)
    spent = Spent(dollars=1.5, tokens=2_500, device_s=30.4, wall_s=3725.0, candidates=3)
    standing = Standing(budget=budget, spent=spent, clock=clock)
    assert row(standing, "dollars").endswith("$1.50 of $4.00")
    assert row(standing, "tokens").endswith("2,500 of 10,000")
    assert row(standing, "device").endswith("30 s of 1:00")
    assert row(standing, "wall").endswith("1:02:05 of 2:00:00")
    assert row(standing, "candidates").endswith("3 of 8")
    assert not [line for line in drawn(standing) if "spent" in line]
    uncapped = Standing(budget=Budget(candidates=0), spent=spent, clock=clock)
    text = row(uncapped, "spent")
    assert text == "spent dollars $1.50, tokens 2,500, device 30 s, wall 1:02:05"
    assert row(uncapped, "candidates").endswith("3 of 0")


def test_wall_time_goes_on_but_not_in_a_queue(standing: Standing, clock: Clock) -> None:
    standing.see(started())
    clock.now += 10
    assert standing.wall_s == 10
    standing.see(events.BudgetUsed(RUN, Spent(wall_s=12.0), Budget()))
    clock.now += 3
    assert standing.wall_s == 15
    standing.see(events.Judging(RUN, 0, DIGEST, "screen", "queue"))
    clock.now += 100
    assert standing.wall_s == 15
    standing.see(events.Judging(RUN, 0, DIGEST, "screen", "build"))
    clock.now += 2
    assert standing.wall_s == 17
    standing.see(finished())
    clock.now += 50
    assert standing.wall_s == 17


def test_a_paid_request_shows_before_the_next_verdict(standing: Standing) -> None:
    standing.see(started())
    standing.ask = lambda run: Spent(dollars=0.75, tokens=99)
    standing.see(proposed(0))
    assert "$0.75 of $4.00" in row(standing, "dollars")
    assert "tokens 99" in row(standing, "spent")


def test_an_event_of_tomorrow_is_no_fault(standing: Standing) -> None:
    before = drawn(standing)[1:]
    standing.see(events.Event(RUN))
    assert drawn(standing)[1:] == before


def test_untrusted_text_stays_in_its_line(standing: Standing) -> None:
    standing.see(events.Waiting(RUN, 1, "[bold]no\x1b[2J\n daemon" + "!" * 300, 1.0))
    lines = drawn(standing)
    assert any("[bold]no" in line for line in lines)
    assert all(line.isprintable() for line in lines)


def test_a_resumed_run_shows_what_it_had(filled: Any) -> None:
    filled.store.ledger.charge(filled.run, "x", dollars=0.25, wall_ns=90_000_000_000)
    found = resuming(filled.store, filled.run)
    assert found.best == Best(1.1, 1.08, 1.12, "promote")
    assert found.budget == Budget(candidates=3)
    assert "$0.25" in row(found, "spent")
    assert "promote tier" in row(found, "best")
    assert filled.run in drawn(found)[0]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.9, "0 s"), (59.9, "59 s"), (60, "1:00"), (3661, "1:01:01")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
