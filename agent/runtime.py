"""What the nodes of one run share. Nothing of it enters the graph's state."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent.archive import Archive
from agent.budget import Meter
from agent.events import BudgetUsed, Event, Listener
from agent.proposers.protocol import Proposer, Target
from agent.search import Greedy, ParentPolicy
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
    ) -> Outcome: ...


@dataclass(frozen=True)
class Patience:
    """How long infrastructure is given.

    Attributes:
        faults: how often a judgement is tried again after the judge itself failed.
        fault_pause_s: wait before that.
        busy_s: how long to wait in all for a machine that someone else is timing on.
        busy_pause_s: time between two looks.
        sleep: for tests.
    """

    faults: int = 2
    fault_pause_s: float = 2.0
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
    parents: ParentPolicy = field(default_factory=Greedy)
    patience: Patience = field(default_factory=Patience)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def run(self) -> str:
        return self.archive.run.id

    def emit(self, event: Event) -> None:
        """Tell the listener, one event at a time."""
        with self._lock:
            self.listener(event)

    def emit_budget(self) -> None:
        self.emit(BudgetUsed(self.run, self.meter.spent(), self.meter.budget))
