"""Take stock of a round, and decide whether there is another."""

from __future__ import annotations

from typing import Any

from agent import search
from agent.budget import StopReason
from agent.events import RoundDone
from agent.nodes.propose import NOBODY
from agent.runtime import Runtime
from agent.state import State


def learn(state: State, runtime: Runtime) -> dict[str, Any]:
    """Update the best candidate and the stop reason."""
    best = search.best(runtime.archive.verdicts("screen"))
    ratio = best.effect.ratio if best is not None and best.effect is not None else 1.0
    better = ratio > state["best_ratio"] * (1 + search.GAIN)
    update = {
        "round": state["round"] + 1,
        "best": best.candidate if best is not None else "",
        # Small steps add up: the mark moves only when one counts.
        "best_ratio": ratio if better else state["best_ratio"],
        "stale": 0 if better else state["stale"] + 1,
    }
    update["stop"] = _stop(state, update, runtime, search.speed_of_light(best) if best else 0.0)
    shown = ratio if best is not None else None
    runtime.emit(RoundDone(runtime.run, update["round"], runtime.settings.rounds, shown))
    return update


def _stop(state: State, update: dict[str, Any], runtime: Runtime, speed_of_light: float) -> str:
    settings = runtime.settings
    if state["stop"]:
        return state["stop"]
    proposals = runtime.archive.proposals()
    asked = [proposals[number] for number in state["numbers"]]
    if asked and all(proposal.proposer == NOBODY for proposal in asked):
        return asked[0].failure
    used_up = runtime.meter.used_up()
    if used_up is not None:
        return used_up.value
    if speed_of_light >= settings.stop_at_speed_of_light:
        return StopReason.ROOFLINE.value
    if update["stale"] >= settings.patience:
        return StopReason.PLATEAU.value
    if update["round"] >= settings.rounds:
        return StopReason.ROUNDS.value
    return ""
