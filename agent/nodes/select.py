"""Choose the parent of a round and the numbers of its proposals."""

from __future__ import annotations

from typing import Any

from agent.runtime import Runtime
from agent.state import State


def select(state: State, runtime: Runtime) -> dict[str, Any]:
    """Open a round, or stop before it when a cap leaves no room for one."""
    stop = runtime.meter.used_up()
    if stop is not None:
        return {"stop": stop.value, "numbers": []}
    archive = runtime.archive
    first = state["numbers"][-1] + 1 if state["numbers"] else state["first"]
    verdicts = {v.candidate: v for v in archive.verdicts("screen")}
    parent = runtime.parents.parent(
        archive.incumbent.digest, archive.proposals(first).values(), verdicts
    )
    width = runtime.settings.width
    cap = runtime.meter.budget.candidates
    if cap is not None:
        width = max(1, min(width, cap - runtime.meter.spent().candidates))
    return {"first": first, "numbers": list(range(first, first + width)), "parent": parent}
