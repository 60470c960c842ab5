"""Build what a proposer may see."""

from __future__ import annotations

import difflib
from functools import lru_cache

from agent.archive import Archive
from agent.disclosure import judgement
from agent.programs import program_digest
from agent.proposers.protocol import Context, Target, Tried
from reference_kernels.problem import Case, Problem
from sandbox.records import Candidate

DIFF_CHARACTERS = 20_000
COMPARED_CHARACTERS = 400_000
"""Of both texts together; finding the difference of longer ones takes too long."""


def visible(problem: Problem) -> Problem:
    """The op without its held-out cases."""
    return problem.with_cases(*(c for c in problem.cases if "holdout" not in c.tags))


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
    looked = archive.verdict(archive.incumbent.digest, "screen")
    if looked is not None:
        judged[looked.candidate] = judgement(looked, problem)
    candidates = {archive.incumbent.digest: archive.incumbent}

    def known(digest: str) -> Candidate:
        if digest not in candidates:
            candidates[digest] = archive.candidate(digest)
        return candidates[digest]

    history = []
    seen: set[str] = set()
    for number, proposal in archive.proposals(below).items():
        candidate = known(proposal.candidate) if proposal.candidate is not None else None
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
                diff=difference(known(proposal.parent), candidate) if candidate else "",
            )
        )
    return Context(
        problem=visible(problem),
        implementation=archive.run.implementation,
        target=target,
        case=case,
        incumbent=archive.incumbent,
        parent=known(parent),
        parent_judgement=judged.get(parent),
        history=tuple(history),
        seed=seed,
    )


def difference(before: Candidate, after: Candidate) -> str:
    """Unified diff of two candidates' files, cut to size."""
    return "".join(
        _difference(name, before.files.get(name, ""), after.files.get(name, ""))
        for name in sorted({*before.files, *after.files})
    )[:DIFF_CHARACTERS]


@lru_cache(maxsize=512)
def _difference(name: str, before: str, after: str) -> str:
    if len(before) + len(after) > COMPARED_CHARACTERS:
        return f"{name}: too long to be compared\n"
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(
        line if line.endswith("\n") else line + "\n"
        for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=2)
    )
