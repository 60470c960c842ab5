"""Runs chosen and compared by what they were set to, found and spent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from runs.comparison import compare
from runs.errors import UnknownRunError, UsageError
from runs.records import Budget
from runs.selection import Order, Wanted, select_runs
from runs.store import RunStore

FIRST, SECOND, OTHER = "20261130-100000-aaaa", "20261201-100000-bbbb", "20261202-100000-cccc"


@pytest.fixture
def runs(store: RunStore, make: Any) -> RunStore:
    """Two runs of `toy`, the second with the greater gain and the greater bill; one of another op.

    Their times are in two zones: text does not sort as time does.
    """
    starts = ("2026-11-30T10:00:00+00:00", "2026-12-01T23:30:00+14:00", "2026-12-02T10:00:00+00:00")
    shares = ("tune", "llm", "rewrite")
    for name, started, share, op in zip(
        (FIRST, SECOND, OTHER), starts, shares, ("toy", "toy", "other"), strict=True
    ):
        settings = {"proposers": [{"name": share, "weight": 1}], "seed": 7, "model": None}
        store.start_run(
            make.run(name, op=op, started_at=started, settings=settings, budget=Budget(dollars=2))
        )
    for run, low, dollars in ((FIRST, 1.1, 0.5), (SECOND, 1.3, 1.0)):
        candidate = make.candidate(f"VALUE = {low}\n")
        parent = make.candidate("VALUE = 0\n")
        store.record_candidate(parent)
        store.record_candidate(candidate)
        store.record_proposal(make.proposal(1, candidate.digest, run=run))
        store.record_proposal(make.proposal(2, None, run=run, proposer="llm"))
        verdict = make.verdict(candidate, low=low, judged_at="2026-12-03T10:00:00+00:00")
        store.record_outcome(make.outcome(candidate, verdict), incumbent=parent)
        store.ledger.charge(run, "a", dollars=dollars, device_ns=20_000_000_000)
    store.finish_run(FIRST, "finished", at="2026-11-30T11:00:00+00:00", reason="rounds")
    return store


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({}, [OTHER, SECOND, FIRST]),
        ({"op": "toy"}, [SECOND, FIRST]),
        ({"target": "tpu"}, []),
        ({"state": "finished"}, [FIRST]),
        ({"proposer": "llm"}, [SECOND]),
        ({"best_over": 1.25}, [SECOND]),
        ({"best_over": 1.25, "op": "other"}, []),
        # 23:30 at +14 is 09:30 in UTC.
        ({"since": datetime(2026, 12, 1, 9, 30, tzinfo=UTC)}, [OTHER, SECOND]),
        ({"since": datetime(2026, 12, 1, 9, 31, tzinfo=UTC)}, [OTHER]),
    ],
)
def test_filters(runs: RunStore, wanted: dict[str, Any], ids: list[str]) -> None:
    assert [s.run.id for s in select_runs(runs, Wanted(**wanted))] == ids


@pytest.mark.parametrize(
    ("order", "ids"),
    [
        ("started", [OTHER, SECOND]),
        ("best", [SECOND, FIRST]),
        ("spent", [SECOND, FIRST]),
        ("proposals", [SECOND, FIRST]),
    ],
)
def test_order_and_limit(runs: RunStore, order: Order, ids: list[str]) -> None:
    found = select_runs(runs, Wanted(), order=order, limit=2)
    assert sorted(s.run.id for s in found) == sorted(ids)
    if order != "proposals":
        assert [s.run.id for s in found] == ids


def test_a_comparison_says_what_differs_and_what_a_percent_cost(runs: RunStore) -> None:
    found = compare(runs, [FIRST, SECOND])
    assert found.op == "toy"
    assert found.settings == {"proposers": ("tune:1", "llm:1")}
    first, second = found.runs
    assert first.proposed == {"llm": 1, "rewrite": 1}
    assert first.gain == pytest.approx(0.2)
    assert first.dollars_per_percent == pytest.approx(0.5 / 20)
    assert second.device_s_per_percent == pytest.approx(20 / 40)
    assert second.speed_of_light == 0.5
    assert found.caveats == ()


def test_a_comparison_warns_of_what_cannot_be_compared(runs: RunStore, make: Any) -> None:
    third = "20261205-100000-dddd"
    runs.start_run(
        make.run(third, target="tpu", case="other", started_at="2026-12-05T10:00:00+00:00")
    )
    found = compare(runs, [FIRST, third])
    assert found.caveats == ("their targets differ", "they were steered by different cases")
    assert found.settings["target"] == ("cpu", "tpu")
    assert found.runs[1].gain is None
    assert found.runs[1].dollars_per_percent is None


def test_what_is_no_comparison(runs: RunStore) -> None:
    with pytest.raises(UsageError, match="other and toy"):
        compare(runs, [FIRST, OTHER])
    with pytest.raises(UsageError, match="two runs"):
        compare(runs, [FIRST])
    with pytest.raises(UsageError, match="once"):
        compare(runs, [FIRST, SECOND, FIRST])
    with pytest.raises(UnknownRunError):
        compare(runs, [FIRST, "nope"])
