"""What the nodes of one run share. Nothing of it enters the graph's state."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent.archive import Archive
from agent.budget import Meter, StopReason
from agent.events import BudgetUsed, Event, Listener
from agent.proposers.protocol import Proposer, Target
from agent.search import Greedy, Search, stops
from agent.settings import Settings
from evaluators.api import Outcome, Progress, Tier
from reference_kernels.problem import Case, Problem
from sandbox.records import Candidate


class Judge(Protocol):
    """What the agent needs of `evaluators.evaluator.Evaluator`."""

    def judge(
        self,
        candidate: Candidate,
        *,
        tier: Tier,
        case: str | None,
        candidates_measured: int,
        progress: Progress | None = None,
        known: Mapping[str, str] | None = None,
        wall_left_s: float | None = None,
    ) -> Outcome:
        """Judge a candidate.

        Args:
            known: key of a lowered program -> the candidate that was judged with it; None judges
                whatever comes.
            wall_left_s: the most that it may take, without waiting.

        Raises:
            KnownProgramError: the candidate lowers to a known program.
            DeadlineError: it took longer than `wall_left_s`.
        """
        ...


@dataclass(frozen=True)
class Patience:
    """How long infrastructure is given.

    Waiting counts against no cap; all of it is per judgement.

    Attributes:
        faults: how often a judgement is tried again after the judge itself failed.
        fault_pause_s: wait before that.
        outage_s: how long to wait in all for a sandbox that does not work: its daemon restarts,
            its disk is full.
        outage_pause_s: the first of these waits; each is twice the one before.
        longest_pause_s: but none is longer than this.
        busy_s: how long to wait in all for a machine that someone else is timing on.
        busy_pause_s: time between two looks.
        sleep: for tests.
    """

    faults: int = 2
    fault_pause_s: float = 2.0
    outage_s: float = 1800.0
    outage_pause_s: float = 1.0
    longest_pause_s: float = 60.0
    busy_s: float = 1800.0
    busy_pause_s: float = 5.0
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Runtime:
    """One run at work."""

    settings: Settings
    problem: Problem
    case: Case
    target: Target
    archive: Archive
    meter: Meter
    judge: Judge
    proposers: Mapping[str, Proposer]
    listener: Listener
    search: Search = field(default_factory=Greedy)
    patience: Patience = field(default_factory=Patience)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def run(self) -> str:
        return self.archive.run.id

    def emit(self, event: Event) -> None:
        """Tell the listener, one event at a time."""
        with self._lock:
            self.listener(event)

    def stopped(self, reason: StopReason, detail: str = "") -> dict[str, str]:
        """The state's stop reason, with its sentence; a cap's numbers are added here."""
        if not detail and reason is StopReason.EXHAUSTED:
            detail = stops.EXHAUSTED
        if not detail:
            detail = stops.cap_reached(reason, self.meter.spent(), self.meter.budget)
        return {"stop": reason.value, "why": stops.sentence(reason, detail)}

    def emit_budget(self) -> None:
        self.emit(BudgetUsed(self.run, self.meter.spent(), self.meter.budget))
