"""Start a run, or go on with one: what the command line calls."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from agent import graph
from agent.archive import Archive
from agent.budget import Meter, Spent, StopReason
from agent.errors import SettingsError, UnknownRunError
from agent.events import Finished, Listener, Started, ignore
from agent.holding import checkpoint_path, held
from agent.proposers import registry
from agent.runtime import Judge, Patience, Runtime
from agent.settings import Settings
from agent.state import State, initial
from agent.target_facts import describe
from evaluators import targets
from evaluators.cells import primary_case
from evaluators.errors import EvaluatorError
from reference_kernels import catalog
from reference_kernels.problem import Case, Problem
from runs import errors as store_errors
from runs import git
from runs.identity import new_id, utc_now
from runs.incumbent import incumbent_candidate
from runs.records import Run
from runs.store import RunStore
from sandbox.errors import SandboxError
from sandbox.records import Candidate

INCUMBENT = "incumbent"
AWAITING_REVIEW = "awaiting review"


@dataclass(frozen=True)
class RunResult:
    """How a run ended, or where it waits.

    Attributes:
        stop: why it stopped proposing.
        best: digest of the best screened candidate.
        best_ratio: its ratio at the screen tier.
        promotable: digests of candidates with a promotable verdict, best first.
    """

    run: str
    status: Literal["awaiting_review", "finished"]
    stop: StopReason
    best: str | None
    best_ratio: float | None
    promotable: tuple[str, ...]
    spent: Spent

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def start(
    settings: Settings,
    store: RunStore,
    evaluator: Judge,
    checkout: Path,
    on_event: Listener = ignore,
    *,
    patience: Patience | None = None,
) -> RunResult:
    """Run the search until a stop rule, confirm the best, and stop where a person decides.

    Args:
        checkout: folder of the checkout that holds the incumbent.
        patience: how long infrastructure is given.

    Raises:
        SettingsError: the settings do not fit the op, the target or each other.
    """
    problem = catalog.problem(settings.op)
    case = steering_case(problem, settings)
    implementation = settings.resolved_implementation
    _check(settings, problem, implementation)
    device_kind = targets.target(settings.target).device_kind
    library = incumbent_candidate(
        checkout, settings.op, implementation, settings.target, device_kind=device_kind
    )
    digest = store.record_candidate(library)
    run = Run(
        id=new_id(),
        op=settings.op,
        implementation=implementation,
        target=settings.target,
        case=case.name,
        budget=settings.budget,
        base_commit=_commit(checkout),
        settings={**settings.model_dump(mode="json"), INCUMBENT: digest},
        started_at=utc_now(),
    )
    store.start_run(run)
    with held(store, run.id):
        return _work(
            run, settings, store, evaluator, library, on_event, None, patience, resumed=False
        )


def resume(
    run_id: str,
    store: RunStore,
    evaluator: Judge,
    checkout: Path,
    on_event: Listener = ignore,
    *,
    decision: dict[str, str] | None = None,
    patience: Patience | None = None,
) -> RunResult:
    """Go on with a run that was killed, failed on infrastructure, or waits for review.

    Args:
        checkout: unused but for symmetry: the run keeps the incumbent that it started from.
        decision: candidate digest -> what the review decided; read from the run store's
            promotions when left out.

    Raises:
        UnknownRunError: no such run.
        RunBusyError: another process works on it.
    """
    try:
        run = store.run(run_id)
    except store_errors.UnknownRunError as error:
        raise UnknownRunError(str(error)) from error
    values = dict(run.settings)
    library = store.candidate(values.pop(INCUMBENT))
    settings = Settings.model_validate(values)
    with held(store, run.id):
        store.reopen_run(run.id)
        return _work(
            run, settings, store, evaluator, library, on_event, decision, patience, resumed=True
        )


def steering_case(problem: Problem, settings: Settings) -> Case:
    """The case that steers the search: the named one, else the target's primary one.

    Raises:
        SettingsError: there is none, or it is held out.
    """
    if settings.case is not None:
        try:
            case = problem.case(settings.case)
        except KeyError:
            shown = ", ".join(c.name for c in problem.cases if "holdout" not in c.tags)
            raise SettingsError(
                f"{problem.name} has no case {settings.case!r}; there are: {shown}"
            ) from None
        if "holdout" in case.tags:
            raise SettingsError(f"case {case.name!r} is held out: no search may see it")
        return case
    try:
        return primary_case(problem, targets.target(settings.target))
    except KeyError:
        raise SettingsError(f"{problem.name} has no case to steer by; name one") from None


def _check(settings: Settings, problem: Problem, implementation: str) -> None:
    registry.check_names(settings)
    try:
        problem.implementation(implementation)
    except KeyError:
        shown = ", ".join(i.name for i in problem.implementations)
        raise SettingsError(
            f"{problem.name} has no implementation {implementation!r}; there are: {shown}"
        ) from None
    describe(settings.target)
    if settings.budget.dollars is not None and not _price_known(settings):
        raise SettingsError(
            f"nobody knows the price of {settings.model!r}, so a cap on dollars cannot hold: give"
            " price_in and price_out (0 for a server of your own), or leave dollars uncapped"
        )


def _price_known(settings: Settings) -> bool:
    if all(share.name != "llm" for share in settings.proposers):
        return True
    model = registry.model_of(settings)
    return model is None or model.price_known()


def _work(
    run: Run,
    settings: Settings,
    store: RunStore,
    evaluator: Judge,
    library: Candidate,
    on_event: Listener,
    decision: dict[str, str] | None,
    patience: Patience | None,
    *,
    resumed: bool,
) -> RunResult:
    problem = catalog.problem(run.op)
    archive = Archive(store, run, library)
    store.record_candidate(archive.incumbent)
    meter = Meter(store, run, price_known=_price_known(settings))
    runtime = Runtime(
        settings=settings,
        problem=problem,
        case=problem.case(run.case),
        target=describe(run.target),
        archive=archive,
        meter=meter,
        judge=evaluator,
        proposers=registry.make(settings, store, run, meter),
        listener=on_event,
        patience=patience or Patience(),
    )
    runtime.emit(Started(run.id, run.op, run.implementation, run.target, run.case, resumed=resumed))
    try:
        with graph.checkpoints(checkpoint_path(store, run.id)) as saver:
            state, waiting = _drive(runtime, graph.build(runtime, saver), decision)
    except KeyboardInterrupt:
        store.finish_run(run.id, "stopped", at=utc_now(), reason="interrupted")
        raise
    except (EvaluatorError, SandboxError) as error:
        store.finish_run(run.id, "failed", at=utc_now(), reason=" ".join(str(error).split()))
        raise
    finally:
        meter.tick()
    return _finish(runtime, state, waiting)


def _drive(runtime: Runtime, compiled: Any, decision: dict[str, str] | None) -> tuple[State, bool]:
    """Run the graph from where it stands; returns its state and whether it waits for review."""
    from langgraph.types import Command

    settings = runtime.settings
    config = graph.configuration(runtime.run, rounds=settings.rounds, width=settings.width)
    snapshot = compiled.get_state(config)
    if not snapshot.values and not snapshot.next:
        entry: Any = initial(runtime.archive.incumbent.digest)
    elif snapshot.interrupts:
        decided = decision if decision is not None else _decisions(runtime)
        waiting = set(runtime.archive.promotable()) - set(decided)
        if waiting:
            return snapshot.values, True
        entry = Command(resume=decided)
    elif not snapshot.next and snapshot.values.get("stop"):
        return snapshot.values, False
    else:
        # Also a run that was interrupted when every task of a step had written, but the step was
        # not yet closed: nothing is next then, and nothing is decided either.
        entry = None
    compiled.invoke(entry, config, durability="sync")
    snapshot = compiled.get_state(config)
    return snapshot.values, bool(snapshot.interrupts)


def _decisions(runtime: Runtime) -> dict[str, str]:
    """What reviews have decided about this run's candidates, from the run store."""
    promotions = runtime.archive.store.promotions(run=runtime.run)
    return {p.candidate: p.decision for p in promotions if p.decision != "deferred"}


def _finish(runtime: Runtime, state: State, waiting: bool) -> RunResult:
    archive, stop = runtime.archive, StopReason(state["stop"])
    best = state["best"] or None
    verdict = archive.verdict(best, "screen") if best else None
    ratio = verdict.effect.ratio if verdict is not None and verdict.effect is not None else None
    promotable = archive.promotable()
    status: Literal["awaiting_review", "finished"] = "awaiting_review" if waiting else "finished"
    archive.store.finish_run(
        runtime.run,
        "stopped" if waiting else "finished",
        at=utc_now(),
        reason=f"{stop.value}; {AWAITING_REVIEW}" if waiting else stop.value,
    )
    runtime.emit(Finished(runtime.run, status, stop, best, ratio, promotable))
    return RunResult(runtime.run, status, stop, best, ratio, promotable, runtime.meter.spent())


def _commit(checkout: Path) -> str:
    """The checkout's commit; empty outside of git, where a run is possible and no promotion."""
    try:
        return git.head(checkout)
    except store_errors.CheckoutError:
        return ""
