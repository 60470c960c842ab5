"""Start a run, repeat one, or go on with one: what the command line calls."""

from __future__ import annotations

from pathlib import Path

from agent.archive import LIBRARY
from agent.budget import Meter, StopReason
from agent.errors import SettingsError, UnknownRunError
from agent.events import Listener, ignore
from agent.holding import held
from agent.proposers.replay import rebuilt
from agent.recording import Recording, save
from agent.runtime import Judge, Patience
from agent.settings import Settings, Share
from agent.steering import check, steering_case
from agent.work import AWAITING_REVIEW, RunResult, Work, work
from evaluators import targets
from reference_kernels import catalog
from runs import errors as store_errors
from runs import git
from runs.identity import new_id, utc_now
from runs.incumbent import incumbent_candidate
from runs.records import Budget, Run
from runs.search_rows import SearchRows
from runs.store import RunStore
from sandbox.records import Candidate

NEVER = 1e9
"""A fraction of the roofline that stops nothing."""


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
    implementation = settings.resolved_implementation
    check(settings, catalog.problem(settings.op), implementation)
    device_kind = targets.target(settings.target).device_kind
    library = incumbent_candidate(
        checkout, settings.op, implementation, settings.target, device_kind=device_kind
    )
    run = _opened(settings, store, library, _commit(checkout))
    job = Work(run, settings, library, store, evaluator, on_event, patience or Patience())
    with held(store, run.id):
        return work(job, None, resumed=False)


def replay(
    recording: Recording,
    store: RunStore,
    evaluator: Judge,
    checkout: Path,
    on_event: Listener = ignore,
    *,
    patience: Patience | None = None,
) -> RunResult:
    """Start a run that proposes what another did, and have all of it judged anew.

    It begins with the recorded incumbent, follows the recorded parents, and ends with the last
    proposal. Nobody is asked and nothing is paid.

    Raises:
        RecordingError: a reply gives another candidate than it gave then; no run was started.
    """
    rebuilt(recording)
    count = max(1, max((p.number + 1 for p in recording.proposals), default=0))
    settings = Settings(
        op=recording.op,
        implementation=recording.implementation,
        target=recording.target,
        case=recording.case,
        proposers=(Share(name="replay"),),
        width=1,
        rounds=count,
        patience=count + 1,
        repairs=0,
        promote=recording.settings.get("promote", 1),
        stop_at_speed_of_light=NEVER,
        recording=store.blobs.put(save(recording)),
    )
    check(settings, catalog.problem(settings.op), recording.implementation)
    library = recording.make(recording.incumbent)
    run = _opened(settings, store, library, _commit(checkout))
    job = Work(run, settings, library, store, evaluator, on_event, patience or Patience())
    with held(store, run.id):
        return work(job, None, resumed=False)


def resume(
    run_id: str,
    store: RunStore,
    evaluator: Judge,
    checkout: Path,
    on_event: Listener = ignore,
    *,
    decision: dict[str, str] | None = None,
    budget: Budget | None = None,
    patience: Patience | None = None,
) -> RunResult:
    """Go on with a run that was killed, failed on infrastructure, or waits for review.

    A run that ended, by a cap or by itself, is over: this tells how it ended, unless the cap that
    ended it is set anew.

    Args:
        checkout: unused but for symmetry: the run keeps the incumbent that it started from.
        decision: candidate digest -> what the review decided; read from the run store's
            promotions when left out.
        budget: caps that hold from now on; those left open stay as they are.

    Raises:
        UnknownRunError: no such run.
        RunBusyError: another process works on it.
        SettingsError: a cap lies below what was spent.
    """
    try:
        run = store.run(run_id)
    except store_errors.UnknownRunError as error:
        raise UnknownRunError(str(error)) from error
    values = dict(run.settings)
    library = store.candidate(values.pop(LIBRARY))
    settings = Settings.model_validate(values)
    with held(store, run.id):
        raised = set_caps(store, run, budget) if budget is not None else False
        store.reopen_run(run.id)
        calm = patience or Patience()
        job = Work(run, settings, library, store, evaluator, on_event, calm, raised)
        return work(job, decision, resumed=True)


def set_caps(store: RunStore, run: Run, budget: Budget) -> bool:
    """Set a run's caps anew, those that `budget` names; False when they are what they were.

    Raises:
        SettingsError: a cap lies below what was spent.
    """
    rows = SearchRows(store.database, run.id)
    named = {name: cap for name, cap in budget.model_dump().items() if cap is not None}
    old = rows.caps()
    new = old.model_copy(update=named)
    spent = Meter(store, run).spent()
    for name, cap in named.items():
        used = getattr(spent, StopReason(name).value)
        if cap < used:
            raise SettingsError(f"{used:.6g} {name} are spent already: {cap:.6g} is no cap")
    if new == old:
        return False
    rows.set_caps(new, at=utc_now())
    return True


def _opened(settings: Settings, store: RunStore, library: Candidate, commit: str) -> Run:
    """A new run in the store."""
    digest = store.record_candidate(library)
    run = Run(
        id=new_id(),
        op=settings.op,
        implementation=settings.resolved_implementation,
        target=settings.target,
        case=steering_case(catalog.problem(settings.op), settings).name,
        budget=settings.budget,
        base_commit=commit,
        settings={**settings.model_dump(mode="json"), LIBRARY: digest},
        started_at=utc_now(),
    )
    store.start_run(run)
    return run


def _commit(checkout: Path) -> str:
    """The checkout's commit; empty outside of git, where a run is possible and no promotion."""
    try:
        return git.head(checkout)
    except store_errors.CheckoutError:
        return ""


__all__ = [
    "AWAITING_REVIEW",
    "RunResult",
    "replay",
    "resume",
    "set_caps",
    "start",
    "steering_case",
]
