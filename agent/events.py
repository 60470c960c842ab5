"""What a run tells whoever watches it. The run store is the record; events are for eyes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from agent.budget import Spent, StopReason
from runs.records import Budget

INCUMBENT = -1
"""The number, in events, of the incumbent: no proposal."""


@dataclass(frozen=True)
class Event:
    """One thing that happened in a run."""

    run: str

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the event's name under `event`."""
        data = {
            name: value.model_dump() if isinstance(value, Budget) else value
            for name, value in vars(self).items()
        }
        data = {k: asdict(v) if isinstance(v, Spent) else v for k, v in data.items()}
        return {"event": type(self).__name__.lower(), **data}


@dataclass(frozen=True)
class Started(Event):
    op: str
    implementation: str
    target: str
    case: str
    resumed: bool


@dataclass(frozen=True)
class Proposed(Event):
    """A proposer answered; `candidate` is None when it failed, and `failure` says why."""

    number: int
    proposer: str
    kind: str
    candidate: str | None
    failure: str
    rationale: str
    dollars: float


@dataclass(frozen=True)
class Duplicate(Event):
    """The proposal is the same program as proposal `of`, or as the incumbent (None)."""

    number: int
    of: int | None


@dataclass(frozen=True)
class Judging(Event):
    """The judge entered a stage; `stage` is its own name for it."""

    number: int
    candidate: str
    tier: str
    stage: str


@dataclass(frozen=True)
class Waiting(Event):
    """Infrastructure failed or is busy: the judgement is tried again after `pause_s`."""

    number: int
    reason: str
    pause_s: float


@dataclass(frozen=True)
class Judged(Event):
    """A verdict; `ratio` is baseline over candidate, None where nothing was timed."""

    number: int
    candidate: str
    tier: str
    status: str
    ratio: float | None
    low: float | None
    high: float | None
    reason: str


@dataclass(frozen=True)
class BudgetUsed(Event):
    spent: Spent
    budget: Budget


@dataclass(frozen=True)
class RoundDone(Event):
    """Round `round` (from 1) of at most `rounds` ended; `best_ratio` at the screen tier."""

    round: int
    rounds: int
    best_ratio: float | None


@dataclass(frozen=True)
class Confirming(Event):
    """The best candidates go to the promote tier."""

    candidates: tuple[str, ...]


@dataclass(frozen=True)
class Finished(Event):
    """The search is over; `why` is the stop reason in a sentence with its numbers."""

    status: str
    stop: StopReason
    why: str
    best: str | None
    best_ratio: float | None
    promotable: tuple[str, ...]


Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """The listener that does not listen."""
