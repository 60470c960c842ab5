"""Runs that fit a question, from those of a whole store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from runs.codec import decode
from runs.queries import RunSummary, run_summary
from runs.records import Run
from runs.run_rows import RunState
from runs.store import RunStore

Order = Literal["started", "best", "spent", "proposals"]


@dataclass(frozen=True)
class Wanted:
    """Which runs are asked for; None asks for all.

    Attributes:
        since: started then or later.
        best_over: its best `faster` verdict has a ratio above this.
        proposer: asked this proposer, whatever it answered.
    """

    op: str | None = None
    target: str | None = None
    state: RunState | None = None
    since: datetime | None = None
    best_over: float | None = None
    proposer: str | None = None


def select_runs(
    store: RunStore, wanted: Wanted, *, order: Order = "started", limit: int | None = None
) -> tuple[RunSummary, ...]:
    """The runs that fit: newest first, or the most first by what `order` names."""
    found = []
    for run in _runs(store):
        if not _record_fits(run, wanted):
            continue
        # A summary reads every verdict of its run, so it is made for those alone that may be shown.
        summary = run_summary(store, run.id)
        if _summary_fits(summary, wanted):
            found.append(summary)
            if order == "started" and limit is not None and len(found) >= limit:
                break
    found.sort(key=_MOST[order], reverse=True)
    return tuple(found[:limit])


def proposers_of(run: Run) -> tuple[str, ...]:
    """Who a run was set to ask."""
    shares: Any = run.settings.get("proposers", ())
    return tuple(str(share.get("name", "")) for share in shares)


def best_ratio(summary: RunSummary) -> float | None:
    best = summary.best
    return best.effect.ratio if best is not None and best.effect is not None else None


_MOST: dict[Order, Callable[[RunSummary], Any]] = {
    "started": lambda summary: (_started(summary.run), summary.run.id),
    "best": lambda summary: best_ratio(summary) or 0.0,
    "spent": lambda summary: (summary.spent.dollars, summary.spent.wall_ns),
    "proposals": lambda summary: summary.proposals,
}


def _runs(store: RunStore) -> list[Run]:
    with store.database.read() as connection:
        rows = connection.execute("SELECT record FROM runs").fetchall()
    runs = [decode(Run, row["record"]) for row in rows]
    return sorted(runs, key=lambda run: (_started(run), run.id), reverse=True)


def _started(run: Run) -> datetime:
    return datetime.fromisoformat(run.started_at)


def _record_fits(run: Run, wanted: Wanted) -> bool:
    return (
        wanted.op in (None, run.op)
        and wanted.target in (None, run.target)
        and (wanted.since is None or _started(run) >= wanted.since)
        and (wanted.proposer is None or wanted.proposer in proposers_of(run))
    )


def _summary_fits(summary: RunSummary, wanted: Wanted) -> bool:
    if wanted.state not in (None, summary.state):
        return False
    if wanted.best_over is None:
        return True
    ratio = best_ratio(summary)
    return ratio is not None and ratio > wanted.best_over
