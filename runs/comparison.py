"""Runs of one op side by side: what was set differently, what came of it, what it cost."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluators.verdict import Verdict
from runs.errors import UsageError
from runs.queries import RunSummary, run_summary
from runs.records import Run
from runs.store import RunStore

NANO = 1_000_000_000


@dataclass(frozen=True)
class Compared:
    """One run of a comparison.

    Attributes:
        proposed: how many proposals each proposer made.
        gain: best ratio less 1, None where nothing was found faster.
        speed_of_light: of the best candidate's slowest cell, as a fraction.
        dollars_per_percent, device_s_per_percent: what each percent of the gain cost.
    """

    summary: RunSummary
    proposed: dict[str, int]
    gain: float | None
    speed_of_light: float | None
    dollars_per_percent: float | None
    device_s_per_percent: float | None


@dataclass(frozen=True)
class Comparison:
    """Several runs of one op.

    Attributes:
        settings: those that differ: name -> one value a run, in the order of `runs`.
        caveats: why ratios of these runs may not be set against each other, in words.
    """

    op: str
    runs: tuple[Compared, ...]
    settings: dict[str, tuple[Any, ...]]
    caveats: tuple[str, ...]


def compare(store: RunStore, run_ids: Sequence[str]) -> Comparison:
    """Set runs against each other.

    Raises:
        UnknownRunError
        UsageError: fewer than two runs, one of them twice, or runs of several ops.
    """
    if len(set(run_ids)) < 2 or len(set(run_ids)) < len(run_ids):
        raise UsageError("a comparison needs two runs or more, each of them once")
    summaries = [run_summary(store, run_id) for run_id in run_ids]
    ops = sorted({summary.run.op for summary in summaries})
    if len(ops) > 1:
        raise UsageError(f"runs of one op can be compared, not of {' and '.join(ops)}")
    return Comparison(
        op=ops[0],
        runs=tuple(_compared(store, summary) for summary in summaries),
        settings=_differing([_settings(summary.run) for summary in summaries]),
        caveats=_caveats(summaries),
    )


def _compared(store: RunStore, summary: RunSummary) -> Compared:
    best, spent = summary.best, summary.spent
    gain = best.effect.ratio - 1 if best is not None and best.effect is not None else None
    percent = 100 * gain if gain else None
    proposed = Counter(proposal.proposer for proposal in store.proposals(summary.run.id))
    return Compared(
        summary=summary,
        proposed=dict(sorted(proposed.items())),
        gain=gain,
        speed_of_light=_speed_of_light(best),
        dollars_per_percent=spent.dollars / percent if percent else None,
        device_s_per_percent=spent.device_ns / NANO / percent if percent else None,
    )


def _speed_of_light(verdict: Verdict | None) -> float | None:
    cells = verdict.timings if verdict is not None else ()
    return min((cell.speed_of_light for cell in cells), default=None)


def _settings(run: Run) -> dict[str, Any]:
    """Everything that a run was told, flat."""
    values: dict[str, Any] = {
        "implementation": run.implementation,
        "target": run.target,
        "case": run.case,
        "base_commit": run.base_commit[:12],
    }
    for name, value in run.settings.items():
        # The run's own record has resolved these, and has the caps apart.
        if name in values or name in ("op", "budget"):
            continue
        values[name] = _brief(name, value)
    for name, cap in run.budget.model_dump().items():
        values[f"budget_{name}"] = cap
    return values


def _brief(name: str, value: Any) -> Any:
    if name == "proposers":
        return ", ".join(f"{share['name']}:{share.get('weight', 1)}" for share in value)
    if name == "patches":
        return ", ".join(hashlib.sha256(text.encode()).hexdigest()[:12] for text in value)
    if name == "incumbent":
        return str(value)[:12]
    return value


def _differing(settings: Sequence[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    names = dict.fromkeys(name for values in settings for name in values)
    rows = {name: tuple(values.get(name) for values in settings) for name in names}
    return {name: row for name, row in rows.items() if any(value != row[0] for value in row)}


def _caveats(summaries: Sequence[RunSummary]) -> tuple[str, ...]:
    bests = [summary.best for summary in summaries if summary.best is not None]
    environments = [best.environment for best in bests if best.environment is not None]
    facts: dict[str, set[Any]] = {
        "their targets differ": {summary.run.target for summary in summaries},
        "their modules differ": {summary.run.implementation for summary in summaries},
        "they were steered by different cases": {summary.run.case for summary in summaries},
        "they started from different incumbents": {
            summary.run.settings.get("incumbent") for summary in summaries
        },
        "their best candidates were judged at different tiers": {best.tier for best in bests},
        "they were judged on different machines": {e.machine for e in environments},
        "they were judged with different toolchains": {e.toolchain for e in environments},
    }
    return tuple(words for words, values in facts.items() if len(values) > 1)
