"""Judge one candidate, with patience for infrastructure and none for going over a cap."""

from __future__ import annotations

from agent import search
from agent.budget import QUEUEING, OverBudgetError
from agent.events import Judged, Judging, Waiting
from agent.nodes.waiting import patiently
from agent.runtime import Runtime
from evaluators.api import Outcome, Tier
from evaluators.errors import DeadlineError
from evaluators.verdict import Verdict


def judged(
    runtime: Runtime, number: int, digest: str, tier: Tier, candidates_measured: int
) -> Verdict:
    """The run's verdict on a candidate: the stored one, or a new one.

    Args:
        number: the proposal that it came from, for events.
        candidates_measured: how many the run will have measured, this one included.

    Raises:
        OverBudgetError: judging it would go over a cap, or did before it ended.
        KnownProgramError: at the screen tier, it lowers to a program that was judged.
        JudgeFaultError, InfrastructureError, MachineBusyError: patience ran out.
    """
    archive, meter = runtime.archive, runtime.meter
    verdict = archive.verdict(digest, tier)
    if verdict is not None:
        # The run may have died between the verdict and its charge.
        archive.charge(verdict, meter)
        return verdict
    demand_room(runtime, tier)
    outcome = _judge(runtime, number, digest, tier, candidates_measured)
    archive.keep_outcome(outcome, meter)
    verdict = outcome.verdict
    effect = verdict.effect
    runtime.emit(
        Judged(
            run=runtime.run,
            number=number,
            candidate=digest,
            tier=tier,
            status=verdict.status.value,
            ratio=effect.ratio if effect else None,
            low=effect.low if effect else None,
            high=effect.high if effect else None,
            reason=verdict.reason,
        )
    )
    runtime.emit_budget()
    return verdict


def demand_room(runtime: Runtime, tier: Tier) -> None:
    """Refuse a judgement for which the caps leave no room beside what is yet to be confirmed.

    Raises:
        OverBudgetError: there is none.
    """
    archive, to_confirm = runtime.archive, 0
    screened, confirmed = (tuple(archive.verdicts(t)) for t in ("screen", "promote"))
    if tier == "screen":
        done = {verdict.candidate for verdict in confirmed}
        chosen = search.shortlist(screened, runtime.settings.promote)
        to_confirm = len([digest for digest in chosen if digest not in done])
    runtime.meter.check_judgement(tier, (*screened, *confirmed), to_confirm=to_confirm)


def _judge(
    runtime: Runtime, number: int, digest: str, tier: Tier, candidates_measured: int
) -> Outcome:
    candidate = runtime.archive.candidate(digest)
    meter = runtime.meter
    # The incumbent is judged to be looked at, not to be recognised.
    look = digest == runtime.archive.incumbent.digest
    known = None if look else runtime.archive.known_programs()

    def progress(stage: str) -> None:
        meter.queued(stage in QUEUEING)
        runtime.emit(Judging(runtime.run, number, digest, tier, stage))

    def attempt() -> Outcome:
        meter.queued(False)
        left = meter.time_left()
        try:
            return runtime.judge.judge(
                candidate,
                tier=tier,
                case=runtime.case.name if tier == "screen" else None,
                candidates_measured=candidates_measured,
                progress=progress,
                known=known if tier == "screen" else None,
                wall_left_s=None if left is None else left.seconds,
            )
        except DeadlineError as error:
            if left is None:
                raise
            meter.charge_cut_short(error.device_ns)
            runtime.emit_budget()
            raise OverBudgetError(left.reason) from error

    def waiting(reason: str, pause_s: float) -> None:
        progress("waiting")
        runtime.emit(Waiting(runtime.run, number, reason, pause_s))

    try:
        return patiently(attempt, runtime.patience, waiting)
    finally:
        meter.queued(False)
