"""Judge one candidate, with patience for infrastructure and none for going over a cap."""

from __future__ import annotations

from agent.events import Judged, Judging
from agent.runtime import Runtime
from evaluators.api import Outcome, Tier
from evaluators.errors import JudgeFaultError, MachineBusyError
from evaluators.verdict import Verdict
from sandbox.errors import InfrastructureError

QUEUE_STAGES = frozenset({"queue", "waiting"})


def judged(
    runtime: Runtime, number: int, digest: str, tier: Tier, candidates_measured: int
) -> Verdict:
    """The run's verdict on a candidate: the stored one, or a new one.

    Args:
        number: the proposal that it came from, for events.
        candidates_measured: how many the run will have measured, this one included.

    Raises:
        OverBudgetError: judging it would go over a cap.
        JudgeFaultError, InfrastructureError, MachineBusyError: patience ran out.
    """
    archive, meter = runtime.archive, runtime.meter
    verdict = archive.verdict(digest, tier)
    if verdict is not None:
        # The run may have died between the verdict and its charge.
        meter.charge_judgement(verdict)
        return verdict
    meter.check_judgement(tier, (*archive.verdicts("screen"), *archive.verdicts("promote")))
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


def _judge(
    runtime: Runtime, number: int, digest: str, tier: Tier, candidates_measured: int
) -> Outcome:
    candidate = runtime.archive.candidate(digest)
    patience, meter = runtime.patience, runtime.meter

    def progress(stage: str) -> None:
        meter.queued(stage in QUEUE_STAGES)
        runtime.emit(Judging(runtime.run, number, digest, tier, stage))

    faults, waited_s = 0, 0.0
    while True:
        try:
            return runtime.judge.judge(
                candidate,
                tier=tier,
                case=runtime.case.name if tier == "screen" else None,
                candidates_measured=candidates_measured,
                progress=progress,
            )
        except MachineBusyError:
            if waited_s >= patience.busy_s:
                raise
            progress("waiting")
            patience.sleep(patience.busy_pause_s)
            waited_s += patience.busy_pause_s
        except (JudgeFaultError, InfrastructureError):
            if faults >= patience.faults:
                raise
            faults += 1
            patience.sleep(patience.fault_pause_s * faults)
        finally:
            meter.queued(False)
