"""Take stock of a round, and decide whether there is another."""

from __future__ import annotations

from typing import Any

from agent import search
from agent.archive import NOBODY
from agent.budget import StopReason
from agent.events import RoundDone
from agent.runtime import Runtime
from agent.search.stops import percent, rounds
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
    update |= _stop(state, update, runtime)
    shown = ratio if best is not None else None
    runtime.emit(RoundDone(runtime.run, update["round"], runtime.settings.rounds, shown))
    return update


def _stop(state: State, update: dict[str, Any], runtime: Runtime) -> dict[str, str]:
    """The stop reason and its sentence, or nothing while the search goes on."""
    settings = runtime.settings
    if state["stop"]:
        return {}
    proposals = runtime.archive.proposals()
    asked = [proposals[number] for number in state["numbers"]]
    if asked and all(proposal.proposer == NOBODY for proposal in asked):
        return runtime.stopped(StopReason(asked[0].failure))
    reached = search.reached(runtime.archive.verdicts("screen"))
    if reached >= settings.stop_at_speed_of_light:
        return runtime.stopped(
            StopReason.ROOFLINE,
            f"at {percent(reached)} of the speed of light,"
            f" {percent(settings.stop_at_speed_of_light)} were asked for",
        )
    if update["stale"] >= settings.patience:
        return runtime.stopped(
            StopReason.PLATEAU, f"{rounds(update['stale'])} without {percent(search.GAIN)} progress"
        )
    if update["round"] >= settings.rounds:
        return runtime.stopped(StopReason.ROUNDS, f"all of {rounds(update['round'])} done")
    # Last: a cap may be set anew, and then a search that had ended by itself must not go on.
    used_up = runtime.meter.used_up()
    return {} if used_up is None else runtime.stopped(used_up)
