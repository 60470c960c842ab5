"""`kernelwright runs`: what was tried, found and spent."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import offers, output, verdicts, wiring
from agent.cli.failures import CliError
from agent.cli.options import Debug, Home, Json, RunId

if TYPE_CHECKING:
    from runs.queries import RunSummary
    from runs.records import Promotion


class StateName(StrEnum):
    OPEN = "open"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


class OrderName(StrEnum):
    STARTED = "started"
    BEST = "best"
    SPENT = "spent"
    PROPOSALS = "proposals"


def list_runs(
    op: Annotated[
        str | None, typer.Option(help="Runs of this op.", autocompletion=offers.ops)
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Runs for this target.", autocompletion=offers.targets)
    ] = None,
    state: Annotated[
        StateName | None,
        typer.Option(help="Runs in this state; one that waits for review is stopped."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Runs started then or later: 2026-11-30, 2026-11-30T18:00, or 36h, 7d ago.",
        ),
    ] = None,
    best_over: Annotated[
        float | None,
        typer.Option(metavar="RATIO", help="Runs whose best candidate is faster than this ratio."),
    ] = None,
    proposer: Annotated[str | None, typer.Option(help="Runs that asked this proposer.")] = None,
    sort: Annotated[
        OrderName, typer.Option(help="Newest first, or the most first.")
    ] = OrderName.STARTED,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many.", show_default=False)
    ] = None,
    home: Home = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """List the runs, newest first."""
    moment = started_since(since) if since is not None else None
    from runs.selection import Wanted, select_runs

    wanted = Wanted(
        op=op,
        target=target,
        state=state.value if state else None,
        since=moment,
        best_over=best_over,
        proposer=proposer,
    )
    summaries = select_runs(wiring.store(home), wanted, order=sort.value, limit=limit)
    if json:
        output.dump_json({"runs": [summary_view(summary) for summary in summaries]})
        return
    if not summaries:
        nothing = "no runs yet: kernelwright optimize OP starts one"
        output.show(nothing if wanted == Wanted() else "no run fits; without filters all are shown")
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


def started_since(text: str, now: datetime | None = None) -> datetime:
    """A moment from an ISO date or time (local unless it names a zone), or from `36h`, `7d`."""
    ago = re.fullmatch(r"(\d{1,6})([mhdw])", text.strip())
    if ago:
        unit = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[ago[2]]
        moment = now or datetime.now(UTC)
        try:
            return moment - timedelta(**{unit: int(ago[1])})
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    try:
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise CliError(
            "usage", f"--since {text!r} is no date: write 2026-11-30, 2026-11-30T18:00, 36h or 7d"
        ) from None


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


def summary_view(summary: RunSummary) -> dict[str, Any]:
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


def promotions_table(promotions: Iterable[Promotion]) -> output.Rows:
    rows = [
        (p.id, p.decision, output.short(p.candidate), p.reviewer, p.reason, p.commit or "")
        for p in promotions
    ]
    return output.table(("promotion", "decision", "candidate", "who", "why", "commit"), rows)
