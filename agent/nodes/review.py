"""Wait for a person. The run store holds the decisions; this only ends the run."""

from __future__ import annotations

from typing import Any

from agent.runtime import Runtime
from agent.state import State


def review(state: State, runtime: Runtime) -> dict[str, Any]:
    """Interrupt while there is something to decide on."""
    from langgraph.types import interrupt

    waiting = [d for d in runtime.archive.promotable() if d not in state["reviewed"]]
    if not waiting:
        return {}
    decisions: dict[str, str] = interrupt({"run": runtime.run, "promotable": waiting})
    return {"reviewed": sorted({*state["reviewed"], *decisions})}
