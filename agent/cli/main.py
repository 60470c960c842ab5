"""`kernelwright`: the app, its verbs, and the console entry `run`."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli import (
    bench,
    doctor,
    evaluate,
    ops,
    optimize,
    promote,
    resume,
    review,
    runs,
    trace,
)
from agent.cli.program import Program

app = typer.Typer(
    name="kernelwright",
    cls=Program,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 judged negative, 2 usage, 3 infrastructure.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"kernelwright {version('kernelwright')}")
        raise typer.Exit


@app.callback()
def kernelwright(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Make accelerator kernels faster, and prove it."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("optimize")(optimize.optimize)
app.command("resume")(resume.resume)
app.command("evaluate")(evaluate.evaluate)
app.command("review")(review.review)
app.command("promote")(promote.promote)
app.command("rollback")(promote.rollback)
app.command("ops")(ops.ops)
runs_app = typer.Typer(help="What was tried, found and spent.", rich_markup_mode=None)
runs_app.command("list")(runs.list_runs)
runs_app.command("show")(runs.show_run)
app.add_typer(runs_app, name="runs")
app.command("trace")(trace.trace)
app.command("doctor")(doctor.doctor)
app.add_typer(bench.app, name="bench")


def run() -> None:
    """Console entry."""
    app()
