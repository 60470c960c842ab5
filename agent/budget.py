"""Hard caps of a run. What may be spent is reserved at its worst before it is spent.

Nothing is counted in memory alone: the run store's ledger holds every charge, so a killed run goes
on with what it had already spent. Time spent waiting in a queue counts against nothing.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from agent.errors import AgentError
from evaluators.verdict import Tier, Verdict
from runs.records import Budget, Run
from runs.search_rows import SearchRows
from runs.store import RunStore

NOT_JUDGING = frozenset({"build", "baseline", "queue", "waiting"})
QUEUEING = frozenset({"queue", "waiting"})
SCREENINGS_PER_CONFIRMATION = 11
"""How many screenings a confirmation takes as long as, while the run has none to go by: every case
and entry point, twice. Measured on gated_delta_rule, 114 s against 11 s."""
KEPT_BACK = 0.6
"""The most of a cap on seconds that is kept back to confirm what was found."""


class StopReason(StrEnum):
    """Why a run stopped proposing."""

    ROUNDS = "rounds"
    PLATEAU = "plateau"
    ROOFLINE = "roofline"
    EXHAUSTED = "exhausted"
    DOLLARS = "dollars"
    TOKENS = "tokens"
    DEVICE_S = "device_s"
    WALL_S = "wall_s"
    CANDIDATES = "candidates"


CAPS = frozenset(StopReason(name) for name in Budget.model_fields)


@dataclass(frozen=True)
class Spent:
    """What a run has used, in every process that worked on it.

    Attributes:
        dollars: known and worst-case costs; a request in flight or lost counts at its worst.
        dollars_unknown: requests whose price nobody knows; they count nothing in `dollars`.
        tokens: of prompts and replies; at the worst for a request in flight or lost.
        device_s: seconds of judging.
        wall_s: seconds of working time, without waiting in queues.
        candidates: candidates judged at the screen tier.
    """

    dollars: float = 0.0
    dollars_unknown: int = 0
    tokens: int = 0
    device_s: float = 0.0
    wall_s: float = 0.0
    candidates: int = 0


@dataclass(frozen=True)
class Cost:
    """Worst case of one request: `dollars` is None where the price is unknown."""

    tokens: int
    dollars: float | None


@dataclass(frozen=True)
class TimeLeft:
    """The seconds that the tightest cap on time leaves, and which cap that is."""

    seconds: float
    reason: StopReason


class OverBudgetError(AgentError):
    """Spending this would go over a cap, so it was not spent."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(f"the budget of {reason.value} is used up")
        self.reason = reason


def device_ns(verdict: Verdict) -> int:
    """Nanoseconds that a judgement held the device: its stages, but for building and queueing."""
    stages = verdict.stage_ns
    parts = sum(ns for name, ns in stages.items() if name not in NOT_JUDGING and name != "judge")
    # `judge` is the whole container's time, where the evaluator reports it; the rest lie inside.
    return max(stages.get("judge", 0), parts)


def judgement_ns(verdict: Verdict) -> int:
    """Nanoseconds that a judgement worked, building included and queueing not."""
    stages = verdict.stage_ns
    beside = NOT_JUDGING - QUEUEING
    return device_ns(verdict) + sum(ns for name, ns in stages.items() if name in beside)


def _longest_s(
    verdicts: Iterable[Verdict], tier: Tier, length_ns: Callable[[Verdict], int]
) -> float:
    return max((length_ns(v) for v in verdicts if v.tier == tier), default=0) / 1e9


def exceeded(spent: Spent, budget: Budget) -> StopReason | None:
    """The first cap that leaves no room for anything more."""
    caps: tuple[tuple[StopReason, float, float | None], ...] = (
        (StopReason.DOLLARS, spent.dollars, budget.dollars),
        (StopReason.TOKENS, spent.tokens, budget.tokens),
        (StopReason.DEVICE_S, spent.device_s, budget.device_s),
        (StopReason.WALL_S, spent.wall_s, budget.wall_s),
        (StopReason.CANDIDATES, spent.candidates, budget.candidates),
    )
    for reason, used, cap in caps:
        if cap is not None and used >= cap:
            return reason
    return None


class Meter:
    """The budget of one run at work; safe to share between threads."""

    def __init__(
        self,
        store: RunStore,
        run: Run,
        *,
        price_known: bool = True,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.budget = SearchRows(store.database, run.id).caps()
        self._ledger = store.ledger
        self._store = store
        self._run = run.id
        self._price_known = price_known
        self._clock_ns = clock_ns
        self._lock = threading.RLock()
        self._mark_ns = clock_ns()
        self._waiting = False
        # One charge a stretch of work: the reference is this process's own.
        self._process = secrets.token_hex(8)
        self._stretch = 0
        self._cuts = 0

    def spent(self) -> Spent:
        """Everything used so far."""
        self.tick()
        used = self._ledger.spent(self._run)
        unknown = 0
        if not self._price_known:
            unknown = sum(p.prompt_digest is not None for p in self._store.proposals(self._run))
        return Spent(
            dollars=used.dollars + used.reserved_dollars,
            dollars_unknown=unknown,
            tokens=used.tokens + used.reserved_tokens,
            device_s=used.device_ns / 1e9,
            wall_s=used.wall_ns / 1e9,
            candidates=used.candidates,
        )

    def tick(self) -> None:
        """Write down the working time since the last tick."""
        with self._lock:
            now_ns = self._clock_ns()
            if not self._waiting and now_ns > self._mark_ns:
                self._ledger.charge(
                    self._run,
                    f"wall:{self._process}:{self._stretch}",
                    wall_ns=now_ns - self._mark_ns,
                )
                self._stretch += 1
            self._mark_ns = now_ns

    def queued(self, waiting: bool) -> None:
        """Say that the run waits for a machine, or waits no longer."""
        with self._lock:
            # Every stage of a judgement comes by here: a kill loses the time of one at most.
            self.tick()
            self._waiting = waiting

    def used_up(self) -> StopReason | None:
        """The first cap that leaves no room for anything more."""
        return exceeded(self.spent(), self.budget)

    def check_judgement(
        self, tier: Tier, earlier: Iterable[Verdict], *, to_confirm: int = 0
    ) -> None:
        """Refuse a judgement for which there is no room.

        It is expected to take as long as the longest so far. One that takes longer is cut short
        (`time_left`), so no cap is passed, but nothing comes of it.

        Args:
            earlier: the run's verdicts.
            to_confirm: how many candidates wait for a confirmation, for which time is kept back.

        Raises:
            OverBudgetError: it would go over a cap, or into what is kept back.
        """
        earlier = tuple(earlier)
        spent, budget = self.spent(), self.budget
        for reason, used, cap, length_ns in (
            (StopReason.DEVICE_S, spent.device_s, budget.device_s, device_ns),
            (StopReason.WALL_S, spent.wall_s, budget.wall_s, judgement_ns),
        ):
            if cap is None:
                continue
            screening_s = _longest_s(earlier, "screen", length_ns)
            confirmed_s = _longest_s(earlier, "promote", length_ns)
            expected_s = screening_s if tier == "screen" else max(screening_s, confirmed_s)
            confirmation_s = confirmed_s or SCREENINGS_PER_CONFIRMATION * screening_s
            kept_s = min(to_confirm * confirmation_s, KEPT_BACK * cap)
            if used >= cap or used + expected_s + kept_s > cap:
                raise OverBudgetError(reason)
        if (
            tier == "screen"
            and budget.candidates is not None
            and spent.candidates >= budget.candidates
        ):
            raise OverBudgetError(StopReason.CANDIDATES)

    def charge_judgement(self, verdict: Verdict, *, counted: bool = True) -> None:
        """Book a judgement; doing it again changes nothing.

        Args:
            counted: whether it was one of a candidate.
        """
        self._ledger.charge(
            self._run,
            f"judge:{verdict.digest}",
            device_ns=device_ns(verdict),
            candidates=1 if counted and verdict.tier == "screen" else 0,
        )

    def charge_cut_short(self, used_device_ns: int) -> None:
        """Book the device time of a judgement that ran out of the run's time."""
        with self._lock:
            self._cuts += 1
            self._ledger.charge(
                self._run, f"cut:{self._process}:{self._cuts}", device_ns=used_device_ns
            )

    def time_left(self) -> TimeLeft | None:
        """What the caps on seconds leave for a judgement, None without such a cap."""
        spent, budget = self.spent(), self.budget
        left = [
            TimeLeft(max(0.0, cap - used), reason)
            for reason, used, cap in (
                (StopReason.DEVICE_S, spent.device_s, budget.device_s),
                (StopReason.WALL_S, spent.wall_s, budget.wall_s),
            )
            if cap is not None
        ]
        return min(left, key=lambda item: item.seconds, default=None)

    def wall_left_s(self) -> float | None:
        """Seconds of working time left, None without a cap."""
        if self.budget.wall_s is None:
            return None
        return max(0.0, self.budget.wall_s - self.spent().wall_s)
