"""`kernelwright evaluate`: judge one hand-written file, without an agent and without a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import inputs, offers, output, verdicts, wiring
from agent.cli.failures import CliError
from agent.cli.options import (
    Backend,
    BackendName,
    Debug,
    Home,
    Json,
    Quiet,
    Target,
    TierName,
)
from agent.cli.progress import Progress, warn

if TYPE_CHECKING:
    from evaluators.api import Outcome
    from evaluators.evaluator import Evaluator
    from runs.store import RunStore
    from sandbox.records import Candidate


def evaluate(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Full text of one implementation module.")
    ],
    op: Annotated[
        str,
        typer.Option("--op", help="The op that it implements.", autocompletion=offers.ops),
    ],
    implementation: Annotated[
        str | None,
        typer.Option(
            help="Module that it would replace. Default: the target's usual one.",
            autocompletion=offers.implementations,
        ),
    ] = None,
    target: Target = "cpu",
    case: Annotated[
        str | None,
        typer.Option(
            help="Screen on this case alone. Default: the op's primary one.",
            autocompletion=offers.cases,
        ),
    ] = None,
    tier: Annotated[
        TierName,
        typer.Option(help="How much evidence: screen is quick, promote is the one that counts."),
    ] = TierName.SCREEN,
    backend: Backend = BackendName.DOCKER,
    home: Home = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Judge one hand-written file.

    Numerics, determinism, and speed against the fastest shipped implementation. 0 when it is faster
    (or right, with no such device here); 1 for every other status.
    """
    inputs.problem(op, case=case, implementation=implementation, target=target)
    if case is not None and tier is TierName.PROMOTE:
        raise CliError(
            "usage",
            "--case goes with --tier screen: the promote tier judges every case of the target",
        )
    text = inputs.source(file)
    module = implementation or usual_implementation(op, target)
    if backend is BackendName.SUBPROCESS and not quiet:
        warn(f"--backend subprocess is no security boundary: {file} runs as you")
    judge = wiring.evaluator(backend)
    store = wiring.store(home)
    from sandbox.records import Candidate

    candidate = Candidate(op=op, implementation=module, target=target, files={f"{module}.py": text})
    with Progress(quiet=quiet).running(f"{op}/{module}") as progress:
        outcome = judge.judge(candidate, tier=tier.value, case=case, progress=progress.stage)
    digest = keep(store, judge, candidate, outcome, case=case)
    if json:
        output.dump_json({"verdict": digest, **outcome.verdict.model_dump(mode="json")})
    else:
        verdicts.show_verdict(outcome.verdict, digest)
        if outcome.verdict.promotable:
            output.show(f"promote it:  kernelwright promote {output.short(digest)}")
    return verdicts.exit_code(outcome.verdict)


def usual_implementation(op: str, target: str) -> str:
    """The module that a target's candidates replace, known to be in the op."""
    from agent.settings import Settings

    module = Settings(op=op, target=target).resolved_implementation
    inputs.problem(op, implementation=module)
    return module


def keep(
    store: RunStore, judge: Evaluator, candidate: Candidate, outcome: Outcome, *, case: str | None
) -> str:
    """Store a verdict that belongs to no run, with the incumbent that it was judged against."""
    from evaluators.targets import target
    from runs.incumbent import incumbent_candidate

    store.record_candidate(candidate)
    incumbent = incumbent_candidate(
        wiring.checkout(),
        candidate.op,
        candidate.implementation,
        candidate.target,
        device_kind=target(candidate.target).device_kind,
    )
    return store.record_outcome(
        outcome,
        incumbent=incumbent,
        cases=(case,) if case else (),
        commit=wiring.head_commit(),
    )
