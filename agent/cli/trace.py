"""`kernelwright trace`: the kept Xprof traces of a verdict, where XProf's own UI can open them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from agent.cli import offers, output, wiring
from agent.cli.failures import CliError
from agent.cli.options import Debug, Home, Json

PORT = 8791
"""Where XProf's page listens unless told otherwise."""


def trace(
    verdict: Annotated[
        str,
        typer.Argument(
            metavar="VERDICT",
            help="A verdict's digest, or its beginning.",
            autocompletion=offers.verdicts,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write the traces into.")],
    home: Home = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Export the Xprof traces of a verdict."""
    store = wiring.store(home)
    digest = store.resolve("verdict", verdict)
    traces = store.verdict(digest).traces
    if not traces:
        raise CliError(
            "not_found", f"verdict {output.short(digest)} kept no trace: nothing was timed"
        )
    if out.exists() and not out.is_dir():
        raise CliError("input", f"{out} is a file, not a folder")
    from runs.traces import export_trace

    names = [f"{output.short(digest)}-{number}" for number in range(1, len(traces) + 1)]
    paths = [
        export_trace(store, kept, out, run_name=name)
        for kept, name in zip(traces, names, strict=True)
    ]
    # Absolute, since XProf's command line reads a bare name such as `1` as a number.
    command = f"xprof server --logdir {shlex.quote(str(out.resolve()))} --port {PORT}"
    if json:
        output.dump_json({"verdict": digest, "files": [str(p) for p in paths], "open": command})
        return
    # Not through rich: it would break long lines, and a command is there to be copied.
    for path in paths:
        typer.echo(path)
    typer.echo(f"open them:  {command}")
    typer.echo(f"then go to: http://localhost:{PORT}/")
