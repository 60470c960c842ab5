"""`kernelwright`: the app and its verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli import (
    bench,
    compare,
    completion,
    config,
    config_file,
    doctor,
    evaluate,
    ops,
    optimize,
    promote,
    replay,
    resume,
    review,
    runs,
    start,
    trace,
)
from agent.cli.options import Debug, Json
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
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar=config_file.VARIABLE,
            help="Read this config file and no other.",
        ),
    ] = None,
    quiet: Annotated[
        bool | None,
        typer.Option("--quiet/--no-quiet", "-q", help="Nothing on standard error but errors."),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Make accelerator kernels faster, and prove it."""
    verb = context.invoked_subcommand
    if verb is None:
        start.show(as_json=json)
        return
    flags = {"json": json or None, "debug": debug or None, "quiet": quiet}
    given = {name: value for name, value in flags.items() if value is not None}
    # These two say what is wrong with a config file, so they must outlive it.
    files = () if verb in ("doctor", "config") else config_file.load(context.command, config)
    context.default_map = config_file.default_map(context.command, files, given)


app.command("optimize")(optimize.optimize)
app.command("resume")(resume.resume)
app.command("replay")(replay.replay)
app.command("evaluate")(evaluate.evaluate)
app.command("review")(review.review)
app.command("promote")(promote.promote)
app.command("rollback")(promote.rollback)
app.command("ops")(ops.ops)
runs_app = typer.Typer(help="What was tried, found and spent.", rich_markup_mode=None)
runs_app.command("list")(runs.list_runs)
runs_app.command("show")(runs.show_run)
runs_app.command("export")(replay.export_run)
runs_app.command("compare")(compare.compare_runs)
app.add_typer(runs_app, name="runs")
app.command("trace")(trace.trace)
app.command("doctor")(doctor.doctor)
config_app = typer.Typer(help="The settings, and where they come from.", rich_markup_mode=None)
config_app.command("show", context_settings={"ignore_unknown_options": True})(config.show_config)
config_app.command("path")(config.show_paths)
app.add_typer(config_app, name="config")
app.command("completion")(completion.completion)
app.add_typer(bench.app, name="bench")
