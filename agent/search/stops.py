"""Why a search stopped, in one sentence with its numbers, for people and for the record."""

from __future__ import annotations

from agent.budget import Spent, StopReason
from runs.records import Budget

EXHAUSTED = "no proposer has anything left to propose"


def sentence(reason: StopReason, detail: str) -> str:
    """`plateau: 3 rounds without 1 % progress`."""
    return f"{reason.value}: {detail}"


def cap_reached(reason: StopReason, spent: Spent, budget: Budget) -> str:
    """How much of a cap is used, and whether that is all of it."""
    used, cap = getattr(spent, reason.value), getattr(budget, reason.value)
    numbers = f"{used:.6g} of {cap:.6g} used"
    return numbers if used >= cap else f"{numbers}, and what comes next would not fit"


def percent(fraction: float) -> str:
    return f"{100 * fraction:.0f} %"


def rounds(count: int) -> str:
    return f"{count} round" if count == 1 else f"{count} rounds"
