"""Ask for one proposal. Several of these run at the same time."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from agent.budget import OverBudgetError, StopReason
from agent.context import build_context
from agent.errors import ExhaustedError
from agent.events import Proposed
from agent.proposers.protocol import Answer, Context
from agent.runtime import Runtime
from agent.state import Branch
from runs.records import Proposal

NOBODY = "nobody"
"""The proposer of a proposal that no proposer could make; its failure is the stop reason."""


def propose(branch: Branch, runtime: Runtime) -> dict[str, Any]:
    """Store the answer to proposal `number`, unless it is stored already."""
    number = branch["number"]
    proposal = runtime.archive.proposal(number)
    if proposal is None:
        proposal = _ask(branch, runtime)
    runtime.emit(
        Proposed(
            run=runtime.run,
            number=number,
            proposer=proposal.proposer,
            kind=proposal.kind,
            candidate=proposal.candidate,
            failure=proposal.failure,
            rationale=proposal.rationale,
            dollars=proposal.dollars,
        )
    )
    return {}


def _ask(branch: Branch, runtime: Runtime) -> Proposal:
    number = branch["number"]
    context = build_context(
        runtime.archive,
        runtime.problem,
        case=runtime.case,
        target=runtime.target,
        parent=branch["parent"],
        below=branch["first"],
        seed=runtime.settings.seed,
    )
    began_ns = time.monotonic_ns()
    refusal = StopReason.EXHAUSTED
    for name in turns(runtime, number):
        try:
            ranked = replace(context, rank=rank(runtime, branch, name))
            answer = runtime.proposers[name].propose(ranked, number=number)
        except ExhaustedError:
            continue
        except OverBudgetError as error:
            refusal = error.reason
            continue
        answer = checked(answer, context, runtime)
        break
    else:
        name, answer = NOBODY, Answer(failure=refusal.value)
    return runtime.archive.keep(
        number,
        answer,
        proposer=name,
        parent=context.parent,
        duration_ns=time.monotonic_ns() - began_ns,
    )


def turns(runtime: Runtime, number: int) -> list[str]:
    """Who is asked for proposal `number`: the one whose turn it is, then the others in order."""
    cycle = [s.name for s in runtime.settings.proposers for _ in range(s.weight)]
    first = number % len(cycle)
    return list(dict.fromkeys(cycle[first:] + cycle[:first]))


def rank(runtime: Runtime, branch: Branch, name: str) -> int:
    """How many proposals of the round come before this one in `name`'s own count.

    Its own turns are counted first, then those where it stands in for another, so that no two
    proposals of a round share a rank.
    """
    number, first = branch["number"], branch["first"]
    own = [turns(runtime, n)[0] == name for n in range(first, first + runtime.settings.width)]
    before = own[: number - first]
    if own[number - first]:
        return sum(before)
    return sum(own) + before.count(False)


def checked(answer: Answer, context: Context, runtime: Runtime) -> Answer:
    """The answer, or a failure where its files make no candidate."""
    if not answer.files:
        return answer
    allowed = {context.module_file, *(["config.json"] if answer.kind == "tuned" else [])}
    problem = ""
    if set(answer.files) != allowed:
        problem = f"a {answer.kind} candidate is {sorted(allowed)}, not {sorted(answer.files)}"
    else:
        try:
            runtime.archive.make(answer.files)
        except ValidationError as error:
            problem = "; ".join(str(e["msg"]) for e in error.errors(include_input=False))
    if not problem:
        return answer
    return Answer(
        kind=answer.kind,
        rationale=answer.rationale,
        failure=f"no candidate: {problem}",
        usage=answer.usage,
    )
