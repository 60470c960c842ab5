"""What goes to standard error while something runs."""

from __future__ import annotations

import pytest

from agent import events
from agent.budget import Spent, StopReason
from agent.cli.events import Reporter, fraction
from agent.cli.progress import Progress
from runs.records import Budget

RUN = "20261130-120000-aaaa"


def test_one_line_an_event_and_no_escape_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter(Progress(stage_lines=False))
    spent, budget = Spent(candidates=1), Budget(candidates=4)
    said: list[tuple[events.Event, str]] = [
        (events.Started(RUN, "rms_norm", "xla", "cpu", "tiny", resumed=False), "steered by tiny"),
        (events.Proposed(RUN, 1, "llm", "source", "c" * 64, "", "fuse\x1b[31m\nit", 0.0), "fuse"),
        (events.Proposed(RUN, 2, "llm", "source", None, "no\ncode", "", 0.1), "no code"),
        (events.Duplicate(RUN, 3, 1), "same program as #1"),
        (events.Duplicate(RUN, 4, None), "the incumbent"),
        (events.Judged(RUN, 1, "c" * 64, "screen", "faster", 1.1, 1.05, 1.15, "yes"), "x1.100"),
        (events.Judged(RUN, 1, "c" * 64, "screen", "wrong", None, None, None, "no"), "wrong: no"),
        (events.RoundDone(RUN, 1, 8, None), "round 1 of at most 8"),
        (events.Confirming(RUN, ("c" * 64,)), "cccccccccccc"),
        (
            events.Finished(RUN, "awaiting_review", StopReason.PLATEAU, None, None, ()),
            "awaiting review",
        ),
    ]
    for event, _ in said:
        reporter(event)
    reporter(events.Judging(RUN, 1, "c" * 64, "screen", "compile"))
    reporter(events.BudgetUsed(RUN, spent, budget))
    found = capsys.readouterr()
    assert found.out == ""
    lines = found.err.splitlines()
    assert len(lines) == len(said)
    for line, (_, words) in zip(lines, said, strict=True):
        assert words in line
        assert line.isprintable()
    assert reporter.run == RUN


def test_the_bar_shows_the_tightest_cap() -> None:
    spent = Spent(dollars=1.0, candidates=3, wall_s=10.0)
    assert fraction(spent, Budget(dollars=4.0, candidates=4)) == 0.75
    assert fraction(spent, Budget(wall_s=5.0)) == 1.0
    assert fraction(spent, Budget()) == 0.0
    assert fraction(spent, Budget(dollars=0.0)) == 1.0


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
