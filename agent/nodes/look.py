"""Look at the incumbent once, so that a model is told where its time goes before it proposes."""

from __future__ import annotations

import contextlib
from typing import Any

from agent.budget import OverBudgetError
from agent.events import INCUMBENT
from agent.nodes.judging import judged
from agent.runtime import Runtime
from agent.state import State


def look(state: State, runtime: Runtime) -> dict[str, Any]:
    """Judge the incumbent where a model is to be asked: it counts as no candidate."""
    if all(share.name != "llm" for share in runtime.settings.proposers):
        return {}
    # What is left is for candidates, or for none: the next node says so.
    with contextlib.suppress(OverBudgetError):
        judged(runtime, INCUMBENT, runtime.archive.incumbent.digest, "screen", 1)
    return {}
