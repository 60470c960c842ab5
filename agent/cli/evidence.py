"""One candidate in full: what it changes, and beside it all that speaks for and against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.cli import output, sides, verdicts
from agent.cli.events import ratio_text
from agent.cli.options import DiffName

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from evaluators.verdict import Verdict
    from runs.ranking import Ranked
    from runs.records import Proposal
    from runs.store import RunStore

RATIONALE_LINES = 12
NANO = 1_000_000_000


def show_candidate(
    store: RunStore, candidate: Ranked, diff: DiffName = DiffName.AUTO, *, paged: bool = False
) -> None:
    """Print what a candidate is, what was found about it and what it changes."""
    verdict = store.verdict(candidate.verdict) if candidate.verdict else None
    proposal = _proposal(store, candidate)
    console = output.console()
    if not paged:
        _print(console, candidate, verdict, proposal, diff)
        return
    with console.pager(styles=console.is_terminal):
        _print(console, candidate, verdict, proposal, diff)


def cost_view(store: RunStore, candidate: Ranked) -> dict[str, Any]:
    """What a candidate cost, as plain data."""
    proposal = _proposal(store, candidate)
    verdict = store.verdict(candidate.verdict) if candidate.verdict else None
    return {
        "dollars": proposal.dollars if proposal else 0.0,
        "tokens_in": proposal.tokens_in if proposal else 0,
        "tokens_out": proposal.tokens_out if proposal else 0,
        "proposing_s": proposal.duration_ns / NANO if proposal else 0.0,
        "judging_s": sum(verdict.stage_ns.values()) / NANO if verdict else 0.0,
    }


def _print(
    console: Console,
    candidate: Ranked,
    verdict: Verdict | None,
    proposal: Proposal | None,
    diff: DiffName,
) -> None:
    from rich.rule import Rule
    from rich.text import Text

    effect = ratio_text(candidate.ratio, candidate.low, candidate.high)
    title = f"#{candidate.rank} {candidate.candidate} by {candidate.proposer}{effect}"
    wide = console.is_terminal and console.width >= sides.WIDE_COLUMNS
    console.print()
    console.print(Rule(Text(title), align="left") if console.is_terminal else title)
    told = _told(candidate, proposal)
    if verdict is None:
        console.print(*told, "not judged yet", sep="\n")
    else:
        about, numbers = verdicts.parts(verdict)
        console.print(verdicts.headline(verdict), f"verdict {candidate.verdict}", sep="\n")
        _beside(console, [*told, *about], numbers, wide=wide)
    console.print()
    if diff is DiffName.SIDE or (diff is DiffName.AUTO and wide):
        console.print(sides.side_by_side(candidate.diff))
    else:
        console.print(sides.unified(candidate.diff), soft_wrap=not console.is_terminal)


def _beside(
    console: Console, left: list[RenderableType], right: list[RenderableType], *, wide: bool
) -> None:
    """Two columns where they have room, else one below the other."""
    from rich.console import Group
    from rich.measure import Measurement
    from rich.table import Table

    if wide and right:
        room = Measurement.get(console, console.options, Group(*right)).maximum
        if console.width - room >= sides.WIDE_COLUMNS // 3:
            grid = Table.grid(expand=True, padding=(0, 3, 0, 0))
            grid.add_column(ratio=1)
            grid.add_column(width=room)
            grid.add_row(Group(*left), Group(*right))
            console.print(grid)
            return
    for part in (*left, *right):
        console.print(part)


def _told(candidate: Ranked, proposal: Proposal | None) -> list[RenderableType]:
    """Who proposed it, from what, why, and what asking cost."""
    from rich.text import Text

    lines = [f"from {output.short(candidate.parent)}"]
    if proposal is not None:
        lines.append(
            f"cost ${proposal.dollars:.4f}, {proposal.tokens_in:,} tokens read, "
            f"{proposal.tokens_out:,} written, {proposal.duration_ns / NANO:.1f} s"
        )
    why = output.printable(candidate.rationale.strip()).splitlines()
    if why:
        cut = [*why[:RATIONALE_LINES], "..."] if len(why) > RATIONALE_LINES else why
        lines += ["its proposer says (untrusted text):", *(f"  | {line}" for line in cut)]
    return [Text(line) for line in lines]


def _proposal(store: RunStore, candidate: Ranked) -> Proposal | None:
    run = candidate.proposal.rpartition("/")[0]
    return next((p for p in store.proposals(run) if p.id == candidate.proposal), None)
