"""`kernelwright bench`: how long judging takes and how sharp it is on this machine."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import inputs, output, wiring
from agent.cli.evaluate import usual_implementation
from agent.cli.options import Backend, BackendName, Debug, Json, Target
from agent.cli.progress import Progress

if TYPE_CHECKING:
    from evaluators.verdict import Tier, Verdict
    from sandbox.records import Candidate

app = typer.Typer(help="Measure the workbench itself.", rich_markup_mode=None)

OpOption = Annotated[
    str, typer.Option("--op", help="Op whose plain version is judged as a candidate.")
]
CaseOption = Annotated[str | None, typer.Option(help="Case. Default: what the tier asks for.")]
Repeats = Annotated[int, typer.Option(min=1, help="How often each is measured.")]


@app.command("loop")
def loop(
    op: OpOption = "gated_delta_rule",
    target: Target = "cpu",
    case: CaseOption = None,
    repeats: Repeats = 3,
    backend: Backend = BackendName.DOCKER,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Seconds from candidate text to a verdict, by stage, at both tiers.

    The candidate is the op's plain version, with a fresh comment so that nothing is remembered.
    """
    inputs.problem(op, case=case, target=target)
    module = usual_implementation(op, target)
    judge = wiring.evaluator(backend)
    found: dict[Tier, list[Verdict]] = {"screen": [], "promote": []}
    with Progress().running("judging the plain version", total=2 * repeats) as progress:
        for tier, verdicts in found.items():
            for number in range(repeats):
                candidate = _plain_version(op, module, target, note=f"bench {tier} {number}")
                judged = judge.judge(
                    candidate,
                    tier=tier,
                    case=case,
                    progress=progress.stage,
                )
                verdicts.append(judged.verdict)
                progress.advance(sum(map(len, found.values())), 2 * repeats)
    if json:
        output.dump_json({"op": op, "backend": backend.value, "tiers": found})
        return
    output.show(
        output.table(
            ("tier", "status", "stage", ">median s", ">least s", ">most s"), _stages(found)
        )
    )


@app.command("interval")
def interval(
    op: OpOption = "rms_norm",
    target: Target = "cpu",
    case: CaseOption = "qwen3-next-512",
    repeats: Repeats = 3,
    backend: Backend = BackendName.DOCKER,
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
    with Progress().running("judging the plain version", total=repeats) as progress:
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


def _stages(found: dict[Tier, list[Verdict]]) -> list[tuple[str, ...]]:
    rows = []
    for tier, verdicts in found.items():
        statuses = " ".join(sorted({v.status.value for v in verdicts}))
        stages = list(dict.fromkeys(stage for v in verdicts for stage in v.stage_ns))
        for stage in stages:
            seconds = [v.stage_ns[stage] / 1e9 for v in verdicts if stage in v.stage_ns]
            numbers = (statistics.median(seconds), min(seconds), max(seconds))
            rows.append((tier, statuses, stage, *(f"{n:.2f}" for n in numbers)))
    return rows


def _plain_version(op: str, module: str, target: str, *, note: str) -> Candidate:
    """The op's plain text, put forward in a tuned module's place: a real program of its own.

    The shipped text itself would not do: the judge sees that nothing changes and times nothing.
    """
    from runs.incumbent import incumbent_candidate

    plain = incumbent_candidate(wiring.checkout(), op, "plain", target)
    text = f"{plain.files['plain.py']}\n# {note}\n"
    return plain.model_copy(update={"implementation": module, "files": {f"{module}.py": text}})
