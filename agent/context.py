"""Build what a proposer may see. Held-out cases and seeds stop here."""

from __future__ import annotations

from agent.archive import Archive
from agent.programs import program_digest
from agent.proposers.protocol import Context, Judgement, Measured, Target, Tried
from evaluators.verdict import Verdict
from reference_kernels.problem import Case, Problem
from sandbox.records import Candidate

LOG_CHARACTERS = 4000
WORST_ERRORS = 8
HIDDEN_CASE = "a held-out case"


def visible(problem: Problem) -> Problem:
    """The op without its held-out cases."""
    return problem.with_cases(*(c for c in problem.cases if "holdout" not in c.tags))


def judgement(verdict: Verdict, problem: Problem) -> Judgement:
    """What a proposer may know of a verdict.

    Args:
        problem: the whole op: its held-out cases are what is left out.
    """
    hidden = {c.name for c in problem.cases if "holdout" in c.tags}

    def scrub(text: str) -> str:
        for name in sorted(hidden, key=len, reverse=True):
            text = text.replace(name, HIDDEN_CASE)
        return text

    failed = sorted(
        (cell for cell in verdict.errors if not cell.passed and cell.case not in hidden),
        key=lambda cell: -cell.error,
    )
    gates = [f"{g.name}: {scrub(g.detail)}" for g in verdict.gates if not g.passed]
    errors = [
        f"{cell.entry}{cell.leaf} on {cell.case}, {cell.distribution}: {cell.kind} error"
        f" {cell.error:.3g}, allowed {cell.allowed:.3g}{' at ' + cell.where if cell.where else ''}"
        for cell in failed[:WORST_ERRORS]
    ]
    effect = verdict.effect
    operations = verdict.facts.get("top_operations") or ()
    return Judgement(
        status=verdict.status.value,
        reason=scrub(verdict.reason),
        ratio=effect.ratio if effect else None,
        low=effect.low if effect else None,
        high=effect.high if effect else None,
        cells=tuple(
            Measured(
                entry=cell.entry,
                case=cell.case,
                baseline=cell.baseline,
                candidate_ns=cell.candidate_median_ns,
                baseline_ns=cell.baseline_median_ns,
                roofline_ns=cell.roofline_ns,
                speed_of_light=cell.speed_of_light,
                ratio=cell.ratio,
            )
            for cell in verdict.timings
            if cell.case not in hidden
        ),
        errors=(*gates, *errors),
        operations=tuple(scrub(str(line)) for line in operations),
        log=scrub(verdict.log)[-LOG_CHARACTERS:],
    )


def build_context(
    archive: Archive,
    problem: Problem,
    *,
    case: Case,
    target: Target,
    parent: str,
    below: int,
    seed: int,
) -> Context:
    """The context of the proposals of one round.

    Args:
        problem: the whole op.
        parent: digest of the candidate to start from.
        below: number of the round's first proposal: what came before it is history.
    """
    judged = {v.candidate: judgement(v, problem) for v in archive.verdicts("screen")}
    candidates = {archive.incumbent.digest: archive.incumbent}
    history = []
    seen: set[str] = set()
    for number, proposal in archive.proposals(below).items():
        candidate: Candidate | None = None
        if proposal.candidate is not None:
            candidate = archive.candidate(proposal.candidate)
            candidates[candidate.digest] = candidate
        first = proposal.candidate is not None and proposal.candidate not in seen
        seen.add(proposal.candidate or "")
        history.append(
            Tried(
                number=number,
                proposer=proposal.proposer,
                kind=proposal.kind,
                parent=proposal.parent,
                candidate=candidate,
                program=program_digest(candidate) if candidate else None,
                rationale=proposal.rationale,
                failure=proposal.failure,
                judgement=judged.get(proposal.candidate or "") if first else None,
            )
        )
    return Context(
        problem=visible(problem),
        implementation=archive.run.implementation,
        target=target,
        case=case,
        incumbent=archive.incumbent,
        parent=candidates[parent] if parent in candidates else archive.candidate(parent),
        parent_judgement=judged.get(parent),
        history=tuple(history),
        seed=seed,
    )
