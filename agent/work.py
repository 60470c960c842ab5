"""One process's work on a run: from where its graph stands to where it ends or waits."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from agent import graph
from agent.archive import Archive
from agent.budget import CAPS, Meter, Spent, StopReason
from agent.events import Finished, Listener, Started
from agent.holding import checkpoint_path, failing_cleanly
from agent.proposers import registry
from agent.recording import load
from agent.runtime import Judge, Patience, Runtime
from agent.search import Search
from agent.search.recorded import Recorded
from agent.settings import Settings
from agent.state import State, initial
from agent.steering import policy, price_known
from agent.target_facts import describe
from reference_kernels import catalog
from runs.identity import utc_now
from runs.records import Run
from runs.store import RunStore
from sandbox.records import Candidate

AWAITING_REVIEW = "awaiting review"


@dataclass(frozen=True)
class RunResult:
    """How a run ended, or where it waits.

    Attributes:
        stop: why it stopped proposing.
        why: the same in a sentence with its numbers.
        best: digest of the best screened candidate.
        best_ratio: its ratio at the screen tier.
        promotable: digests of candidates with a promotable verdict, best first.
    """

    run: str
    status: Literal["awaiting_review", "finished"]
    stop: StopReason
    why: str
    best: str | None
    best_ratio: float | None
    promotable: tuple[str, ...]
    spent: Spent

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Work:
    """A run, and what this process works on it with.

    Attributes:
        library: the library's files that the run began with.
        raised: the cap that ended the run was set anew since.
    """

    run: Run
    settings: Settings
    library: Candidate
    store: RunStore
    judge: Judge
    listener: Listener
    patience: Patience = field(default_factory=Patience)
    raised: bool = False


def work(job: Work, decision: dict[str, str] | None, *, resumed: bool) -> RunResult:
    """Go on from where the run's graph stands. The caller holds the run.

    Args:
        decision: what a review decided; None reads it from the store.
    """
    runtime = _runtime(job)
    run = job.run
    runtime.emit(Started(run.id, run.op, run.implementation, run.target, run.case, resumed=resumed))
    with failing_cleanly(job.store, run.id):
        try:
            with graph.checkpoints(checkpoint_path(job.store, run.id)) as saver:
                compiled = graph.build(runtime, saver)
                state, waiting = _drive(runtime, compiled, decision, raised=job.raised)
        finally:
            runtime.meter.tick()
    return _finish(runtime, state, waiting)


def _runtime(job: Work) -> Runtime:
    store, settings, problem = job.store, job.settings, catalog.problem(job.run.op)
    meter = Meter(store, job.run, price_known=price_known(settings))
    # The caps may have been set anew since the run began.
    run = job.run.model_copy(update={"budget": meter.budget})
    archive = Archive(store, run, job.library)
    store.record_candidate(archive.incumbent)
    return Runtime(
        settings=settings,
        problem=problem,
        case=problem.case(run.case),
        target=describe(run.target),
        archive=archive,
        meter=meter,
        judge=job.judge,
        proposers=registry.make(settings, store, run, meter),
        listener=job.listener,
        search=_search(settings, store),
        patience=job.patience,
    )


def _search(settings: Settings, store: RunStore) -> Search:
    if settings.recording is None:
        return policy(settings)
    recording = load(store.blobs.get(settings.recording))
    return Recorded({p.number: recording.parent_digest(p) for p in recording.proposals})


def _drive(
    runtime: Runtime, compiled: Any, decision: dict[str, str] | None, *, raised: bool
) -> tuple[State, bool]:
    """Run the graph from where it stands; returns its state and whether it waits for review."""
    from langgraph.types import Command

    settings = runtime.settings
    config = graph.configuration(runtime.run, rounds=settings.rounds, width=settings.width)
    snapshot = compiled.get_state(config)
    if not snapshot.values and not snapshot.next:
        entry: Any = initial()
    elif raised and (snapshot.interrupts or not snapshot.next):
        node, update = _taken_up_again(runtime, snapshot.values)
        compiled.update_state(config, update, as_node=node)
        entry = None
    elif snapshot.interrupts:
        decided = decision if decision is not None else _decisions(runtime)
        waiting = set(runtime.archive.promotable()) - set(decided)
        if waiting:
            return snapshot.values, True
        entry = Command(resume=decided)
    elif not snapshot.next and snapshot.values.get("stop") and not _undecided(runtime, snapshot):
        return snapshot.values, False
    else:
        # Also a run that was interrupted when every task of a step had written, but the step was
        # not yet closed: nothing is next then, and nothing is decided either.
        entry = None
    compiled.invoke(entry, config, durability="sync")
    snapshot = compiled.get_state(config)
    return snapshot.values, bool(snapshot.interrupts)


def _undecided(runtime: Runtime, snapshot: Any) -> bool:
    """Whether a review is still to be waited for: the run died before it could be."""
    return bool(set(runtime.archive.promotable()) - set(snapshot.values["reviewed"]))


def _taken_up_again(runtime: Runtime, state: State) -> tuple[str, dict[str, Any]]:
    """Where a run goes on that a cap had ended: the node that it comes from, and its new state."""
    why = state["cut"] or state["why"]
    reason = StopReason(why.partition(":")[0])
    if reason not in CAPS:
        # The search had ended by itself, and its confirmations were cut off.
        return "select", {"stop": reason.value, "why": why, "cut": ""}
    update: dict[str, Any] = {"stop": "", "why": "", "cut": ""}
    archive = runtime.archive
    proposals = archive.proposals()
    judged = {verdict.candidate for verdict in archive.verdicts("screen")}
    made = [proposals[n].candidate for n in state["numbers"] if n in proposals]
    if all(digest is None or digest in judged for digest in made):
        return "learn", update
    # The round's judgements were cut off, and it was counted already.
    stale = max(0, state["stale"] - 1)
    return "propose", {**update, "round": state["round"] - 1, "stale": stale}


def _decisions(runtime: Runtime) -> dict[str, str]:
    """What reviews have decided about this run's candidates, from the run store."""
    promotions = runtime.archive.store.promotions(run=runtime.run)
    return {p.candidate: p.decision for p in promotions if p.decision != "deferred"}


def _finish(runtime: Runtime, state: State, waiting: bool) -> RunResult:
    archive, stop, why = runtime.archive, StopReason(state["stop"]), state["why"]
    best = state["best"] or None
    verdict = archive.verdict(best, "screen") if best else None
    ratio = verdict.effect.ratio if verdict is not None and verdict.effect is not None else None
    promotable = archive.promotable()
    status: Literal["awaiting_review", "finished"] = "awaiting_review" if waiting else "finished"
    archive.store.finish_run(
        runtime.run,
        "stopped" if waiting else "finished",
        at=utc_now(),
        reason=f"{why}; {AWAITING_REVIEW}" if waiting else why,
    )
    runtime.emit(Finished(runtime.run, status, stop, why, best, ratio, promotable))
    return RunResult(runtime.run, status, stop, why, best, ratio, promotable, runtime.meter.spent())
