"""Plan a round: the numbers of its proposals and what each of them starts from."""

from __future__ import annotations

from typing import Any

from agent.budget import OverBudgetError
from agent.nodes.judging import demand_room
from agent.runtime import Runtime
from agent.state import NO_REPAIR, State


def select(state: State, runtime: Runtime) -> dict[str, Any]:
    """Open a round, or stop before it when a cap leaves no room for one."""
    first = state["numbers"][-1] + 1 if state["numbers"] else state["first"]
    stop = runtime.meter.used_up()
    if stop is None:
        try:
            # A proposal that nobody could judge is not worth its price.
            demand_room(runtime, "screen")
        except OverBudgetError as error:
            stop = error.reason
    if stop is not None:
        return {**runtime.stopped(stop), "first": first, "numbers": []}
    width = runtime.settings.width
    cap = runtime.meter.budget.candidates
    if cap is not None:
        width = max(1, min(width, cap - runtime.meter.spent().candidates))
    parents = runtime.search.parents(runtime.archive.history(first), width)
    return {
        "first": first,
        "numbers": list(range(first, first + len(parents))),
        "parents": [parent.candidate for parent in parents],
        "repairs": [NO_REPAIR if p.repairs is None else p.repairs for p in parents],
    }
