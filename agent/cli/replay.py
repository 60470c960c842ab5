"""`kernelwright runs export` and `kernelwright replay`: what a run proposed, kept and repeated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import output, wiring
from agent.cli.failures import CliError
from agent.cli.optimize import refuse_unsafe
from agent.cli.options import AllowUnsafe, Backend, BackendName, Debug, Home, Json, Quiet, RunId
from agent.cli.outcome import finish, watched

if TYPE_CHECKING:
    from agent.recording import Recording
    from runs.store import RunStore


def export_run(
    run: RunId,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write it.")],
    home: Home = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write what a run proposed into a file that `replay` repeats.

    It holds prompts, replies and texts; no key, no address of a server, no held-out case.
    """
    store = wiring.store(home)
    from agent.exporting import record
    from agent.recording import save

    run_id = store.resolve("run", run)
    recording = record(store, run_id)
    try:
        out.write_bytes(save(recording))
    except OSError as error:
        raise CliError("input", f"cannot write {out}: {error.strerror}") from None
    if json:
        output.dump_json({"run": run_id, "file": str(out), **_view(recording)})
    else:
        output.show(f"{out}: {_summary(recording)}", f"repeat it:  kernelwright replay {out}")


def replay(
    source: Annotated[
        str, typer.Argument(metavar="RUN|FILE", help="A run's id, or a file of `runs export`.")
    ],
    judge: Annotated[
        bool,
        typer.Option("--judge/--no-judge", help="Judge the candidates, or only make them again."),
    ] = True,
    backend: Backend = BackendName.DOCKER,
    allow_unsafe: AllowUnsafe = False,
    home: Home = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Repeat a recorded run exactly, without asking a model.

    The same candidates come of the recorded replies, or it fails; they are judged anew in a run of
    their own. Nothing is paid.
    """
    store = wiring.store(home)
    recording = _recording(store, source)
    if not judge:
        return _check(recording, as_json=json)
    refuse_unsafe({"replay"}, backend, allow_unsafe)
    from agent.run import replay as repeat

    with watched(quiet=quiet) as reporter, wiring.screening(backend) as judged_by:
        result = repeat(recording, store, judged_by, wiring.checkout(), on_event=reporter)
    return finish(store, result, as_json=json)


def _recording(store: RunStore, source: str) -> Recording:
    from agent.exporting import record
    from agent.recording import read

    if Path(source).is_file():
        return read(Path(source))
    if source.endswith(".json"):
        raise CliError("input", f"cannot read {source}: there is no such file")
    return record(store, store.resolve("run", source))


def _check(recording: Recording, *, as_json: bool) -> int:
    """Make every candidate again; a difference is raised."""
    from agent.proposers.replay import rebuilt

    made = rebuilt(recording)
    if as_json:
        output.dump_json({**_view(recording), "same": len(made)})
    else:
        output.show(f"{_summary(recording)}: all {len(made)} candidates come out the same")
    return 0


def _view(recording: Recording) -> dict[str, object]:
    made = [entry.candidate for entry in recording.proposals if entry.candidate is not None]
    return {
        "op": recording.op,
        "implementation": recording.implementation,
        "target": recording.target,
        "models": list(recording.models),
        "proposals": len(recording.proposals),
        "candidates": made,
    }


def _summary(recording: Recording) -> str:
    view = _view(recording)
    by = f" by {', '.join(recording.models)}" if recording.models else ""
    return (
        f"{recording.op}/{recording.implementation} on {recording.target}:"
        f" {view['proposals']} proposals{by}"
    )
