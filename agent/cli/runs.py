"""`kernelwright runs`: what was tried, found and spent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import output, verdicts, wiring
from agent.cli.options import Debug, Home, Json

if TYPE_CHECKING:
    from rich.table import Table

    from runs.queries import RunSummary
    from runs.records import Promotion

RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or its beginning.")]


def list_runs(home: Home = None, json: Json = False, debug: Debug = False) -> None:
    """List the runs, newest first."""
    from runs.queries import run_summaries

    summaries = run_summaries(wiring.store(home))
    if json:
        output.dump_json({"runs": [_summary_view(summary) for summary in summaries]})
        return
    if not summaries:
        output.show("no runs yet: kernelwright optimize OP starts one")
        return
    rows = [
        (
            s.run.id,
            s.run.op,
            s.run.implementation,
            s.run.target,
            s.state,
            s.proposals,
            " ".join(f"{status}:{count}" for status, count in sorted(s.statuses.items())),
            verdicts.effect_text(s.best).strip() if s.best else "",
            f"${s.spent.dollars:.2f}",
        )
        for s in summaries
    ]
    columns = (
        "run",
        "op",
        "module",
        "target",
        "state",
        ">proposals",
        "verdicts",
        ">best",
        ">spent",
    )
    output.show(output.table(columns, rows))


def show_run(run: RunId, home: Home = None, json: Json = False, debug: Debug = False) -> None:
    """Show what one run tried and found."""
    from runs.ranking import ranked

    store = wiring.store(home)
    record = store.run(store.resolve("run", run))
    candidates = ranked(store, record.id)
    proposals = store.proposals(record.id)
    promotions = store.promotions(run=record.id)
    spent = store.ledger.spent(record.id)
    if json:
        output.dump_json(
            {
                "run": record,
                "spent": spent,
                "proposals": list(proposals),
                "candidates": [verdicts.candidate_view(c) for c in candidates],
                "promotions": list(promotions),
            }
        )
        return
    caps = {name: cap for name, cap in record.budget.model_dump().items() if cap is not None}
    failed = [p for p in proposals if p.candidate is None]
    output.show(
        f"run {record.id}: {record.op}/{record.implementation} on {record.target}, "
        f"steered by {record.case}",
        f"started {record.started_at} from commit {output.short(record.base_commit)}",
        f"spent ${spent.dollars:.2f}, {spent.tokens} tokens, {spent.candidates} candidates, "
        f"device {spent.device_ns / 1e9:.1f} s, wall {spent.wall_ns / 1e9:.1f} s; "
        f"caps: {', '.join(f'{name} {cap:g}' for name, cap in caps.items()) or 'none'}",
        verdicts.candidates_table(candidates),
    )
    if failed:
        rows = [(p.id, p.proposer, p.failure) for p in failed]
        output.show(output.table(("no candidate", "proposer", "why"), rows))
    if promotions:
        output.show(promotions_table(promotions))


def _summary_view(summary: RunSummary) -> dict[str, Any]:
    """A summary as plain data; the best verdict by its name and numbers, without raw samples."""
    best = summary.best
    view = {field.name: getattr(summary, field.name) for field in dataclasses.fields(summary)}
    view["promotions"] = [promotion.id for promotion in summary.promotions]
    if best is not None:
        view["best"] = {
            "verdict": best.digest,
            "candidate": best.candidate,
            "status": best.status,
            "tier": best.tier,
            "effect": best.effect,
        }
    return view


def promotions_table(promotions: Iterable[Promotion]) -> Table:
    rows = [
        (p.id, p.decision, output.short(p.candidate), p.reviewer, p.reason, p.commit or "")
        for p in promotions
    ]
    return output.table(("promotion", "decision", "candidate", "who", "why", "commit"), rows)
