"""A verdict from `trust: process` diagnostics: numerics only, and never a promotion."""

from __future__ import annotations

import datetime
import secrets
import time
from collections.abc import Sequence

from evaluators.api import Outcome
from evaluators.cells import Cell
from evaluators.process import Diagnosis, run_process_diagnostic
from evaluators.verdict import ErrorCell, Gate, Status, Tier, Verdict
from reference_kernels import catalog
from reference_kernels.problem import case_key
from sandbox import Backend
from sandbox.records import Candidate

STATUSES = {
    "declined": Status.BUILD_FAILED,
    "error": Status.BUILD_FAILED,
    "fault": Status.WRONG,
    "protocol": Status.BUILD_FAILED,
    "resource_limit": Status.RESOURCE_LIMIT,
    "crashed": Status.CRASHED,
}


def judge_process(
    backend: Backend, candidate: Candidate, tier: Tier, cells: Sequence[Cell]
) -> Outcome:
    """Run every cell on every distribution, each in a sandbox of its own, and compare.

    Raises:
        InfrastructureError: the sandbox failed.
    """
    problem = catalog.problem(candidate.op)
    source = candidate.files[f"{candidate.implementation}.py"]
    started = time.perf_counter_ns()
    found: list[tuple[Cell, str, Diagnosis]] = []
    seeds = []
    distributions = problem.distributions if tier == "promote" else problem.distributions[:1]
    for cell in cells:
        for distribution in distributions:
            seeds.append(secrets.randbits(63))
            diagnosis = run_process_diagnostic(
                problem,
                source,
                candidate.implementation,
                cell.entry,
                cell.case,
                distribution,
                seeds[-1],
                backend,
            )
            found.append((cell, distribution, diagnosis))
            if not diagnosis.passed:
                break
    status, reason, gate = _decide(found)
    verdict = Verdict(
        candidate=candidate.digest,
        builds=(),
        op=candidate.op,
        implementation=candidate.implementation,
        target=candidate.target,
        tier=tier,
        trust="process",
        status=status,
        reason=reason,
        gates=(gate,),
        errors=_errors(found),
        seeds=tuple(seeds),
        validity=tuple(
            case_key(problem, cell.entry, problem.case(cell.case))
            for cell, _, diagnosis in found
            if diagnosis.passed
        ),
        log="\n".join(filter(None, (diagnosis.log for _, _, diagnosis in found)))[:65_536],
        stage_ns={"process": time.perf_counter_ns() - started},
        facts={"executors": sorted({str(d.facts.get("executor")) for _, _, d in found})},
        judged_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    return Outcome(verdict)


def _decide(found: Sequence[tuple[Cell, str, Diagnosis]]) -> tuple[Status, str, Gate]:
    for cell, distribution, diagnosis in found:
        if diagnosis.passed:
            continue
        where = f"{cell.id}, {distribution} inputs"
        if diagnosis.outcome != "compared":
            reason = f"{diagnosis.outcome}: {diagnosis.message} ({where})"
            return STATUSES[diagnosis.outcome], reason, _gate(False, reason)
        if diagnosis.facts.get("modified"):
            reason = f"it writes into its arguments ({where})"
            return Status.SUSPECT, reason, _gate(False, reason)
        worst = max(diagnosis.discrepancies, key=lambda d: d.ratio)
        reason = f"{worst.kind} of result {worst.leaf or 0} is {worst.ratio:.3g}x too far ({where})"
        return Status.WRONG, reason, _gate(False, reason)
    reason = "right on a CPU executor; no device of that kind here to time it"
    return Status.UNMEASURED, reason, _gate(True, "")


def _gate(passed: bool, detail: str) -> Gate:
    return Gate(name="numerics", passed=passed, detail=detail)


def _errors(found: Sequence[tuple[Cell, str, Diagnosis]]) -> tuple[ErrorCell, ...]:
    largest = 1e300
    return tuple(
        ErrorCell(
            entry=cell.entry,
            case=cell.case,
            distribution=distribution,
            leaf=each.leaf,
            kind=each.kind,
            error=min(each.error, largest) if each.error == each.error else largest,
            allowed=each.allowed,
            where=each.where,
        )
        for cell, distribution, diagnosis in found
        for each in diagnosis.discrepancies
    )
