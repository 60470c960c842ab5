"""Judge the best screened candidates at the promote tier."""

from __future__ import annotations

from typing import Any

from agent import search
from agent.budget import OverBudgetError
from agent.events import Confirming
from agent.nodes.judging import judged
from agent.runtime import Runtime
from agent.state import State


def confirm(state: State, runtime: Runtime) -> dict[str, Any]:
    """Confirm as many of the shortlist as the budget allows."""
    archive = runtime.archive
    chosen = search.shortlist(archive.verdicts("screen"), runtime.settings.promote)
    if not chosen:
        return {}
    runtime.emit(Confirming(runtime.run, chosen))
    numbers = {p.candidate: number for number, p in reversed(archive.proposals().items())}
    for done, digest in enumerate(chosen):
        try:
            judged(runtime, numbers[digest], digest, "promote", max(1, archive.measured()))
        except OverBudgetError as error:
            stop = runtime.stopped(error.reason)
            why = f"{stop['why']}; {done} of {len(chosen)} confirmed"
            return {**stop, "why": why, "cut": state["why"]}
    return {}
