"""`kernelwright bench`: how long judging takes and how sharp it is on this machine."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import inputs, output, wiring
from agent.cli.evaluate import usual_implementation
from agent.cli.options import Backend, BackendName, Debug, Json, Quiet, Target
from agent.cli.progress import Progress

if TYPE_CHECKING:
    from evaluators.verdict import Verdict
    from sandbox.records import Candidate

app = typer.Typer(help="Measure the workbench itself.", rich_markup_mode=None)

OpOption = Annotated[
    str, typer.Option("--op", help="Op whose plain version is judged as a candidate.")
]
CaseOption = Annotated[str | None, typer.Option(help="Case. Default: what the tier asks for.")]
Repeats = Annotated[int, typer.Option(min=1, help="How often each is measured.")]


@app.command("loop")
def loop(
    op: OpOption = "rms_norm",
    target: Target = "cpu",
    case: CaseOption = None,
    repeats: Repeats = 3,
    promote: Annotated[
        bool, typer.Option("--promote/--no-promote", help="Measure the promotion tier as well.")
    ] = True,
    backend: Backend = BackendName.DOCKER,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Seconds from candidate text to a verdict, by stage.

    A cold screening starts its sandboxes; a warm one finds them ready, as in a run that waited for
    a proposal. The candidate is the op's plain version, with a fresh comment so that nothing is
    remembered.
    """
    inputs.problem(op, case=case, target=target)
    module = usual_implementation(op, target)
    kinds = ("cold screen", "warm screen", *(("promote",) if promote else ()))
    found: dict[str, list[Verdict]] = {kind: [] for kind in kinds}
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    total = repeats * len(kinds)
    with (
        Progress(quiet=quiet).running("judging the plain version", total=total) as progress,
        wiring.screening(backend) as warm,
    ):
        cold = wiring.evaluator(backend)
        # Shipped programs are built once a checkout; that is no part of the loop.
        for judge in (cold, warm):
            judge.judge(
                _plain_version(op, module, target, note="to begin"), tier="screen", case=case
            )
        for kind in kinds:
            judge = warm if kind == "warm screen" else cold
            for number in range(repeats):
                candidate = _plain_version(op, module, target, note=f"bench {kind} {number}")
                if judge is warm:
                    progress.stage("getting sandboxes ready")
                    warm.settle()
                began = time.perf_counter()
                judged = judge.judge(
                    candidate,
                    tier="promote" if kind == "promote" else "screen",
                    case=case,
                    progress=progress.stage,
                )
                seconds[kind].append(time.perf_counter() - began)
                found[kind].append(judged.verdict)
                progress.advance(sum(map(len, found.values())), total)
    if json:
        output.dump_json(
            {"op": op, "backend": backend.value, "kinds": found, "duration_s": seconds}
        )
        return
    columns = ("kind", "status", "stage", ">median s", ">least s", ">most s")
    output.show(output.table(columns, _stages(found, seconds)))


@app.command("interval")
def interval(
    op: OpOption = "rms_norm",
    target: Target = "cpu",
    case: CaseOption = "qwen3-next-512",
    repeats: Repeats = 3,
    backend: Backend = BackendName.DOCKER,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Width of the interval on a ratio of about 1 ms kernels.

    The candidate is the op's plain version in the tuned one's place.
    """
    inputs.problem(op, case=case, target=target)
    module = usual_implementation(op, target)
    judge = wiring.evaluator(backend)
    found: list[Verdict] = []
    with Progress(quiet=quiet).running("judging the plain version", total=repeats) as progress:
        for number in range(repeats):
            candidate = _plain_version(op, module, target, note=f"bench interval {number}")
            judged = judge.judge(candidate, tier="promote", case=case, progress=progress.stage)
            found.append(judged.verdict)
            progress.advance(len(found), repeats)
    if json:
        output.dump_json({"op": op, "backend": backend.value, "verdicts": found})
        return
    rows = [
        (
            f"{t.entry} {t.case}",
            output.milliseconds(t.candidate_median_ns),
            len(t.pairs_ns),
            f"x{t.ratio:.4f}",
            output.percent((t.high - t.low) / t.ratio),
            f"{t.confidence:.3f}",
            output.percent(t.control_spread),
        )
        for verdict in found
        for t in verdict.timings
    ]
    columns = ("cell", ">ms", ">pairs", ">ratio", ">interval's width", ">level", ">A/A spread")
    output.show(output.table(columns, rows))


def _stages(
    found: dict[str, list[Verdict]], seconds: dict[str, list[float]]
) -> list[tuple[str, ...]]:
    rows = []
    for kind, verdicts in found.items():
        statuses = " ".join(sorted({v.status.value for v in verdicts}))
        stages = list(dict.fromkeys(stage for v in verdicts for stage in v.stage_ns))
        spent = {
            stage: [v.stage_ns[stage] / 1e9 for v in verdicts if stage in v.stage_ns]
            for stage in stages
        }
        for stage, took in {**spent, "in all": seconds[kind]}.items():
            numbers = (statistics.median(took), min(took), max(took))
            rows.append((kind, statuses, stage, *(f"{n:.2f}" for n in numbers)))
    return rows


def _plain_version(op: str, module: str, target: str, *, note: str) -> Candidate:
    """The op's plain text, put forward in a tuned module's place: a real program of its own.

    The shipped text itself would not do: the judge sees that nothing changes and times nothing.
    """
    from runs.incumbent import incumbent_candidate

    plain = incumbent_candidate(wiring.checkout(), op, "plain", target)
    text = f"{plain.files['plain.py']}\n# {note}\n"
    return plain.model_copy(update={"implementation": module, "files": {f"{module}.py": text}})
