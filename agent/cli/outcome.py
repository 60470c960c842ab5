"""The end of `optimize` and `resume`: keep the run's name in every failure, show what was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.cli import output, sides, verdicts
from agent.cli.events import Reporter, ratio_text
from agent.cli.failures import CliError, ExitCode, describe
from agent.cli.panel import RunPanel
from agent.cli.progress import Progress
from agent.cli.standing import Standing

if TYPE_CHECKING:
    from agent.run import RunResult
    from runs.store import RunStore

SHOWN = 10


@contextmanager
def watched(standing: Standing | None = None, *, quiet: bool = False) -> Iterator[Reporter]:
    """A listener with a live panel. A run that breaks off says how it is taken up again.

    Args:
        standing: what the panel starts from; an empty one where it is left out.
    """
    standing = standing or Standing()
    progress = Progress(stage_lines=False, quiet=quiet)
    reporter = Reporter(progress, standing)
    reporter.run = standing.run or None

    def kept(message: str) -> str:
        go_on = f"; the run is kept: kernelwright resume {reporter.run}" if reporter.run else ""
        return message + (go_on or "; no run had begun")

    try:
        with progress.showing(RunPanel(standing), lambda: kept("interrupted")):
            yield reporter
    except (Exception, KeyboardInterrupt) as error:
        failure = describe(error)
        broke_off = failure.kind in ("infrastructure", "interrupted", "internal")
        if not broke_off or (reporter.run is None and failure.kind != "interrupted"):
            raise
        raise CliError(failure.kind, kept(failure.message)) from error


def finish(store: RunStore, result: RunResult, *, as_json: bool) -> ExitCode:
    """Print the candidates, the best one's diff and the next commands."""
    from runs.ranking import ranked

    candidates = ranked(store, result.run)
    if as_json:
        views = [verdicts.candidate_view(c) for c in candidates]
        output.dump_json(result.to_json() | {"candidates": views})
        return ExitCode.DONE if result.promotable else ExitCode.NEGATIVE
    output.show(
        f"run {result.run}: stopped by {result.why}", verdicts.candidates_table(candidates[:SHOWN])
    )
    winner = next((c for c in candidates if c.candidate in result.promotable), None)
    if winner is None:
        output.show(
            "nothing that may be promoted was found",
            f"look at what was tried:  kernelwright review {result.run}",
        )
        return ExitCode.NEGATIVE
    name = output.short(winner.candidate)
    commands = (
        (f"review {result.run}", "every candidate: diff, verdict, numbers"),
        (f"promote {name}", "write it into the library, with its evidence"),
        (f"trace {output.short(winner.verdict or '')} --out traces", "its Xprof traces"),
    )
    width = max(len(command) for command, _ in commands)
    output.show(
        f"{winner.status}{ratio_text(winner.ratio, winner.low, winner.high)}: {winner.reason}",
        "",
        sides.unified(winner.diff),
        "",
        "Where to look next",
        *(f"  kernelwright {command:{width}}  {what}" for command, what in commands),
    )
    return ExitCode.DONE
