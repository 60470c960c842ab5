"""`runs list` and `runs compare` as a person calls them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from agent.cli import runs
from agent.cli.failures import CliError
from runs.records import Budget, Run
from runs.store import RunStore

LATER = "20261201-080000-bbbb"


@pytest.fixture
def two(filled: Any) -> RunStore:
    """The filled run and a later one on another target, of another proposer, that found nothing."""
    first = filled.store.run(filled.run)
    filled.store.start_run(
        Run(
            **{
                **first.model_dump(),
                "id": LATER,
                "target": "tpu",
                "budget": Budget(dollars=1.5),
                "started_at": "2026-12-01T08:00:00+00:00",
                "settings": {**first.settings, "proposers": [{"name": "tune", "weight": 1}]},
            }
        )
    )
    filled.store.finish_run(LATER, "failed", at="2026-12-01T09:00:00+00:00", reason="disk full")
    return filled.store


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        ("", 2),
        ("--op rms_norm", 2),
        ("--op gated_delta_rule", 0),
        ("--target tpu", 1),
        ("--state failed", 1),
        ("--state open --target tpu", 0),
        ("--since 2026-12-01", 1),
        ("--since 2026-11-30T00:00:00+00:00", 2),
        ("--since 520w", 2),
        ("--best-over 1.05", 1),
        ("--best-over 1.5", 0),
        ("--proposer tune", 1),
        ("--limit 1", 1),
        ("--sort best --limit 1 --best-over 1", 1),
    ],
)
def test_list_filters(flags: str, count: int, call: Any, two: RunStore) -> None:
    found = call("runs", "list", *flags.split(), "--json")
    assert found.code == 0, found.stderr
    assert len(found.json["runs"]) == count
    text = call("runs", "list", *flags.split()).stdout
    assert ("no run fits" in text) == (count == 0)


def test_newest_first_unless_it_is_sorted(call: Any, two: RunStore, filled: Any) -> None:
    ids = [r["run"]["id"] for r in call("runs", "list", "--json").json["runs"]]
    assert ids == [LATER, filled.run]
    ids = [r["run"]["id"] for r in call("runs", "list", "--sort", "best", "--json").json["runs"]]
    assert ids == [filled.run, LATER]


def test_since() -> None:
    now = datetime(2026, 12, 10, tzinfo=UTC)
    assert runs.started_since("36h", now) == datetime(2026, 12, 8, 12, tzinfo=UTC)
    assert runs.started_since("2w", now) == datetime(2026, 11, 26, tzinfo=UTC)
    zoned = runs.started_since("2026-11-30T23:00:00+14:00")
    assert zoned == datetime(2026, 11, 30, 9, tzinfo=UTC)
    assert runs.started_since("2026-11-30").tzinfo is not None
    assert runs.started_since("999999w", now).year == 1
    with pytest.raises(CliError, match="36h"):
        runs.started_since("soon")


def test_compare(call: Any, two: RunStore, filled: Any) -> None:
    found = call("runs", "compare", filled.run, LATER, "--json")
    assert found.code == 0, found.stderr
    assert found.json["op"] == "rms_norm"
    assert found.json["settings"]["proposers"] == ["llm:1", "tune:1"]
    assert found.json["settings"]["budget_dollars"] == [None, 1.5]
    assert "their targets differ" in found.json["caveats"]
    first, second = found.json["runs"]
    assert first["gain"] == pytest.approx(0.1)
    assert first["best"]["candidate"] == filled.winner.digest
    assert first["proposed"] == {"rewrite": 3}
    assert second["best"] is None
    text = call("runs", "compare", filled.run, LATER).stdout
    for words in ("x1.100 [1.080, 1.120]", "nothing faster", "disk full", "mind that their"):
        assert words in text
    assert "seed" not in text
