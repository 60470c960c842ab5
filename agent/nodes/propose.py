"""Ask for one proposal. Several of these run at the same time."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from agent.archive import NOBODY
from agent.budget import OverBudgetError, StopReason
from agent.context import build_context
from agent.errors import ExhaustedError
from agent.events import Proposed
from agent.proposers.protocol import Answer, Context, Tried
from agent.replies import reply_text
from agent.runtime import Runtime
from agent.state import NO_REPAIR, Branch
from runs.records import Proposal

REPLY_CHARACTERS = 20_000


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
    number, slot = branch["number"], branch["number"] - branch["first"]
    context = build_context(
        runtime.archive,
        runtime.problem,
        case=runtime.case,
        target=runtime.target,
        parent=branch["parents"][slot],
        below=branch["first"],
        seed=runtime.settings.seed,
    )
    names = turns(runtime, number)
    mended = branch["repairs"][slot]
    if mended != NO_REPAIR:
        runtime.archive.rows.record_repair(number, mended)
        tried = failed_try(context, mended, runtime)
        context = replace(context, repair=tried)
        # Whoever wrote it mends it: nobody else makes anything of a log.
        names = [tried.proposer]
    began_ns = time.monotonic_ns()
    refusal = StopReason.EXHAUSTED
    for name in names:
        try:
            answer = _answer(branch, runtime, name, context)
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


def _answer(branch: Branch, runtime: Runtime, name: str, context: Context) -> Answer:
    """One proposer's answer.

    Raises:
        ExhaustedError: it has none from this parent.
        OverBudgetError: it may not spend what an answer costs.
    """
    wide, narrow = (rank(runtime, branch, name, of_parent=p) for p in (False, True))
    proposer, number = runtime.proposers[name], branch["number"]
    try:
        return proposer.propose(replace(context, rank=wide), number=number)
    except ExhaustedError:
        if narrow == wide:
            raise
        # Slots with other parents may have taken nothing away from what this parent gives.
        return proposer.propose(replace(context, rank=narrow), number=number)


def failed_try(context: Context, number: int, runtime: Runtime) -> Tried:
    """What is to be mended; with the reply's text where no module came of it."""
    tried = next(t for t in context.history if t.number == number)
    proposal = runtime.archive.proposal(number)
    if tried.candidate is not None or proposal is None or proposal.reply_digest is None:
        return tried
    text = reply_text(runtime.archive.store.blobs.get(proposal.reply_digest))
    # The reason last: of a long text a prompt shows the end.
    said = f"The reply was:\n{text[-REPLY_CHARACTERS:]}\n\n"
    return replace(tried, failure=f"{said}No module came of it: {tried.failure}")


def turns(runtime: Runtime, number: int) -> list[str]:
    """Who is asked for proposal `number`: the one whose turn it is, then the others in order."""
    cycle = [s.name for s in runtime.settings.proposers for _ in range(s.weight)]
    first = number % len(cycle)
    return list(dict.fromkeys(cycle[first:] + cycle[:first]))


def rank(runtime: Runtime, branch: Branch, name: str, *, of_parent: bool = False) -> int:
    """How many proposals of the round come before this one in `name`'s own count.

    Its own turns are counted first, then those where it stands in for another, so that no two
    proposals of a round share a rank.

    Args:
        of_parent: count only those that start from the same parent.
    """
    first, slot = branch["first"], branch["number"] - branch["first"]
    parents, own = branch["parents"], []
    for index, mended in enumerate(branch["repairs"]):
        is_elsewhere = of_parent and parents[index] != parents[slot]
        if index == slot or (mended == NO_REPAIR and not is_elsewhere):
            own.append((index, turns(runtime, first + index)[0] == name))
    before = [is_own for index, is_own in own if index < slot]
    if dict(own)[slot]:
        return sum(before)
    return sum(is_own for _, is_own in own) + before.count(False)


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
