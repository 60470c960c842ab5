"""From what the judging processes found to one status. The only place that decides one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluators import statistics
from evaluators.cells import Cell
from evaluators.inside.protocol import CellSamples, JudgeReport
from evaluators.policy import Policy
from evaluators.verdict import Effect, ErrorCell, Gate, Status, TimingCell

IMPOSSIBLE = 0.8
"""A time below this part of the roofline is not believed: the peaks are measured, not exact."""

DISAGREEMENT = 1.25
"""How much more of a gain a profile may claim than the wall clock confirms."""


@dataclass(frozen=True)
class Decision:
    """A status with the gates that led to it."""

    status: Status
    reason: str
    gates: tuple[Gate, ...]
    errors: tuple[ErrorCell, ...] = ()
    timings: tuple[TimingCell, ...] = ()
    effect: Effect | None = None


def decide(
    reports: Sequence[JudgeReport],
    cells: Sequence[Cell],
    policy: Policy,
    *,
    candidates_measured: int,
    measured: bool,
) -> Decision:
    """Judge the reports of one or two processes; the second is the confirmation.

    Args:
        candidates_measured: how many candidates the run has measured, this one included.
        measured: whether this machine can time the target.
    """
    by_id = {cell.id: cell for cell in cells}
    gates: list[Gate] = []
    failed = _static(reports, gates) or _numerics(reports, gates)
    errors = _errors(reports, by_id)
    if failed:
        return Decision(*failed, tuple(gates), errors)
    failed = _behaviour(reports, gates)
    if failed:
        return Decision(*failed, tuple(gates), errors)
    if not measured:
        reason = "right and compiled; no device of that kind here to time it"
        return Decision(Status.UNMEASURED, reason, tuple(gates), errors)
    timings = [
        _timing(samples, by_id[samples.cell], policy, candidates_measured, process)
        for process, report in enumerate(reports)
        for samples in report.samples
    ]
    failed = _physics(timings, gates)
    quiet = _control(timings, policy, gates)
    last = [t for t in timings if t.process == len(reports) - 1]
    effects = [
        _effect([t for t in timings if t.process == process], policy, candidates_measured)
        for process in range(len(reports))
    ]
    if failed:
        return Decision(*failed, tuple(gates), errors, tuple(timings), effects[-1])
    status, reason = _speed(last, effects, policy, gates, quiet=quiet)
    return Decision(status, reason, tuple(gates), errors, tuple(timings), effects[-1])


TOO_LITTLE = 0.25
"""The part of the op's least work below which a program cannot be computing the op."""

Failure = tuple[Status, str]


def _static(reports: Sequence[JudgeReport], gates: list[Gate]) -> Failure | None:
    for report in reports:
        if report.refusals:
            first = report.refusals[0]
            detail = f"{first.rule}: {first.detail} ({first.cell})"
            gates.append(Gate(name="program", passed=False, detail=detail))
            return Status.REJECTED, detail
    gates.append(Gate(name="program", passed=True, numbers=_program_numbers(reports[0])))
    for report in reports:
        if report.mismatches:
            detail = f"{report.mismatches[0].detail} ({report.mismatches[0].cell})"
            gates.append(Gate(name="signature", passed=False, detail=detail))
            return Status.WRONG, detail
    gates.append(Gate(name="signature", passed=True))
    return None


def _program_numbers(report: JudgeReport) -> dict[str, float]:
    return {
        "programs": len(report.programs),
        "operations": sum(sum(p.operations.values()) for p in report.programs),
        "constant_bytes": sum(p.constant_bytes for p in report.programs),
        "size_bytes": sum(p.size_bytes for p in report.programs),
    }


def _numerics(reports: Sequence[JudgeReport], gates: list[Gate]) -> Failure | None:
    found = [comparison for report in reports for comparison in report.comparisons]
    failed = [comparison for comparison in found if not comparison.passed]
    worst = max((c.error / c.allowed for c in found if c.allowed > 0), default=0.0)
    numbers = {
        "comparisons": len(found),
        "failed": len(failed),
        "worst_error_over_allowed": min(worst, 1e300),
    }
    if failed:
        first = failed[0]
        when = "timed call, " if first.timed_call else ""
        detail = (
            f"{first.kind} of result {first.leaf or 0} on {first.cell}, {when}{first.distribution}"
            f" inputs: error {first.error:.3g}, allowed {first.allowed:.3g} {first.where}".strip()
        )
        gates.append(Gate(name="numerics", passed=False, detail=detail, numbers=numbers))
        return Status.WRONG, detail
    gates.append(Gate(name="numerics", passed=True, numbers=numbers))
    return None


def _behaviour(reports: Sequence[JudgeReport], gates: list[Gate]) -> Failure | None:
    digests: dict[tuple[str, int], set[str]] = {}
    for report in reports:
        for repeat in report.repeats:
            if repeat.modified_inputs:
                detail = f"it writes into its arguments ({repeat.cell})"
                gates.append(Gate(name="inputs", passed=False, detail=detail))
                return Status.SUSPECT, detail
            digests.setdefault((repeat.cell, repeat.seed), set()).update(repeat.digests)
    gates.append(Gate(name="inputs", passed=True))
    unstable = [cell for (cell, _), found in digests.items() if len(found) > 1]
    if unstable:
        detail = f"the same inputs gave different results ({unstable[0]})"
        gates.append(Gate(name="determinism", passed=False, detail=detail))
        return Status.UNSTABLE, detail
    gates.append(Gate(name="determinism", passed=True, numbers={"processes": float(len(reports))}))
    for report in reports:
        if report.independent:
            first = report.independent[0]
            detail = f"{first.detail} ({first.cell})"
            gates.append(Gate(name="dependence", passed=False, detail=detail))
            return Status.REJECTED, detail
    gates.append(Gate(name="dependence", passed=True))
    for program in reports[0].programs:
        # XLA counts a loop's body once and a library call not at all: those say nothing.
        countable = "stablehlo.while" not in program.operations and not program.custom_calls
        if countable and program.flops < TOO_LITTLE * program.least_operations:
            detail = f"it does too little work to compute the op ({program.cell})"
            numbers = {"operations": program.flops, "least": float(program.least_operations)}
            gates.append(Gate(name="work", passed=False, detail=detail, numbers=numbers))
            return Status.REJECTED, detail
    gates.append(Gate(name="work", passed=True))
    return None


def _errors(reports: Sequence[JudgeReport], cells: dict[str, Cell]) -> tuple[ErrorCell, ...]:
    return tuple(
        ErrorCell(
            entry=cells[found.cell].entry,
            case=cells[found.cell].case,
            distribution=found.distribution,
            leaf=found.leaf,
            kind=found.kind,
            error=found.error,
            allowed=found.allowed,
            where=found.where,
        )
        for report in reports
        for found in report.comparisons
    )


def _timing(
    samples: CellSamples, cell: Cell, policy: Policy, candidates_measured: int, process: int
) -> TimingCell:
    confidence = statistics.corrected_confidence(policy.confidence, candidates_measured)
    interval = statistics.median_interval(samples.pairs_ns, confidence)
    control = statistics.median_interval(samples.control_pairs_ns, policy.confidence)
    times = np.asarray(samples.pairs_ns, dtype=np.float64)
    candidate_ns = float(np.median(times[:, 1]))
    return TimingCell(
        entry=cell.entry,
        case=cell.case,
        baseline=samples.baseline,
        pairs_ns=samples.pairs_ns,
        control_pairs_ns=samples.control_pairs_ns,
        wall_pairs_ns=samples.wall_pairs_ns,
        ratio=interval.ratio,
        low=interval.low,
        high=interval.high,
        confidence=confidence,
        control_spread=control.half_width,
        worse_p=statistics.worse_p(samples.pairs_ns, policy.non_inferiority),
        roofline_ns=samples.roofline_ns,
        speed_of_light=samples.roofline_ns / max(candidate_ns, 1.0),
        baseline_median_ns=float(np.median(times[:, 0])),
        candidate_median_ns=candidate_ns,
        process=process,
    )


def _physics(timings: Sequence[TimingCell], gates: list[Gate]) -> Failure | None:
    for cell in timings:
        where = f"{cell.entry} on {cell.case}"
        wall = statistics.median_interval(cell.wall_pairs_ns, cell.confidence)
        numbers = {
            "candidate_ns": cell.candidate_median_ns,
            "roofline_ns": cell.roofline_ns,
            "profile_ratio": cell.ratio,
            "wall_ratio": wall.ratio,
        }
        if cell.candidate_median_ns < IMPOSSIBLE * cell.roofline_ns:
            detail = f"{where}: faster than this machine's peak rates allow"
        elif cell.low > wall.high * DISAGREEMENT:
            detail = f"{where}: the profile claims a gain that the wall clock does not see"
        else:
            continue
        gates.append(Gate(name="physics", passed=False, detail=detail, numbers=numbers))
        return Status.SUSPECT, detail
    gates.append(Gate(name="physics", passed=True))
    return None


def _control(timings: Sequence[TimingCell], policy: Policy, gates: list[Gate]) -> bool:
    """Whether the baseline, timed against itself, shows no difference that would count."""
    for cell in timings:
        control = statistics.median_interval(cell.control_pairs_ns, policy.confidence)
        if control.low > 1 + policy.minimum_gain or control.high < 1 / (1 + policy.minimum_gain):
            detail = f"{cell.entry} on {cell.case}: a copy of the baseline differs from it"
            numbers = {"ratio": control.ratio, "low": control.low, "high": control.high}
            gates.append(Gate(name="control", passed=False, detail=detail, numbers=numbers))
            return False
    gates.append(Gate(name="control", passed=True))
    return True


def _effect(timings: Sequence[TimingCell], policy: Policy, candidates_measured: int) -> Effect:
    confidence = statistics.corrected_confidence(policy.confidence, candidates_measured)
    pooled = statistics.pooled_interval([cell.pairs_ns for cell in timings], confidence)
    return Effect(
        ratio=pooled.ratio,
        low=pooled.low,
        high=pooled.high,
        confidence=confidence,
        candidates_measured=candidates_measured,
    )


def _speed(
    last: Sequence[TimingCell],
    effects: Sequence[Effect],
    policy: Policy,
    gates: list[Gate],
    *,
    quiet: bool,
) -> tuple[Status, str]:
    effect = effects[-1]
    least = 1 + policy.minimum_gain
    gained = all(found.low > least for found in effects)
    worse = [cell for cell in last if not cell.worse_p <= 0.05]
    numbers = {
        "ratio": effect.ratio,
        "low": effect.low,
        "high": effect.high,
        "minimum": least,
        "control_spread": max(cell.control_spread for cell in last),
    }
    words = f"{effect.ratio:.3f}x ({effect.low:.3f} to {effect.high:.3f})"
    if gained and not quiet:
        reason = f"{words}, but the machine is too noisy to say: the A/A control failed"
        gates.append(Gate(name="speed", passed=False, detail=reason, numbers=numbers))
        return Status.NO_GAIN, reason
    if gained and worse:
        names = ", ".join(f"{cell.entry} on {cell.case}" for cell in worse[:3])
        reason = f"{words}, but not shown to be no worse on {names}"
        gates.append(Gate(name="speed", passed=False, detail=reason, numbers=numbers))
        return Status.NO_GAIN, reason
    if gained:
        gates.append(Gate(name="speed", passed=True, detail=words, numbers=numbers))
        return Status.FASTER, words
    status = Status.SLOWER if effect.high < 1 else Status.NO_GAIN
    reason = words if status is Status.SLOWER else f"{words}; a gain needs over {least:.2f}"
    gates.append(Gate(name="speed", passed=False, detail=reason, numbers=numbers))
    return status, reason
