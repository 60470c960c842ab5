"""Judge a round's candidates at the screen tier, one after another.

They run in one node, so that nothing of ours works beside a timing.
"""

from __future__ import annotations

from typing import Any

from agent.budget import OverBudgetError
from agent.events import Duplicate
from agent.nodes.judging import judged
from agent.programs import program_digest
from agent.runtime import Runtime
from agent.state import State
from evaluators.errors import KnownProgramError


def screen(state: State, runtime: Runtime) -> dict[str, Any]:
    """Judge what is new among the round's proposals."""
    archive = runtime.archive
    programs: dict[str, int | None] = {program_digest(archive.incumbent): None}
    for number, proposal in archive.proposals().items():
        if proposal.candidate is None:
            continue
        program = program_digest(archive.candidate(proposal.candidate))
        known = program in programs
        if number not in state["numbers"]:
            programs.setdefault(program, number)
            continue
        if known:
            runtime.emit(Duplicate(runtime.run, number, programs[program]))
            continue
        programs[program] = number
        try:
            _judge(runtime, number, proposal.candidate)
        except OverBudgetError as error:
            return runtime.stopped(error.reason)
    return {}


def _judge(runtime: Runtime, number: int, digest: str) -> None:
    """Judge a candidate, unless it lowers to a program that was judged."""
    archive = runtime.archive
    of = archive.rows.same_programs().get(digest)
    if of is None:
        try:
            judged(runtime, number, digest, "screen", archive.measured() + 1)
            return
        except KnownProgramError as error:
            of = error.of
            archive.rows.record_same_program(digest, of)
    first = {p.candidate: n for n, p in reversed(archive.proposals().items())}
    runtime.emit(Duplicate(runtime.run, number, first.get(of)))
