"""Where a run stands, put together from its events: what the live panel draws."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.budget import Spent
    from agent.events import Event
    from runs.records import Budget
    from runs.store import RunStore

QUEUE_STAGES = frozenset({"queue", "waiting"})


@dataclass(frozen=True)
class Best:
    """The best candidate so far; `number` is None for one from before a resume."""

    ratio: float
    low: float | None
    high: float | None
    tier: str
    number: int | None = None


@dataclass
class Standing:
    """A run at work. Times are seconds of `clock`.

    Attributes:
        width, rounds: proposals a round and most rounds, None where nobody said.
        spent: as of `spent_at`; wall time goes on from there unless the run queues.
        doing: what is running, since `doing_since`; `number` since `number_since`.
        ask: looks up what was spent, for while no event says.
    """

    width: int | None = None
    rounds: int | None = None
    budget: Budget | None = None
    spent: Spent | None = None
    best: Best | None = None
    ask: Callable[[str], Spent] | None = None
    clock: Callable[[], float] = time.monotonic
    run: str = ""
    title: str = ""
    rounds_done: int = 0
    round_seen: int = 0
    number: int | None = None
    doing: str = "starting"
    queued: bool = False
    ended: bool = False
    answered: int = 0
    spent_at: float = field(init=False)
    doing_since: float = field(init=False)
    number_since: float = field(init=False)

    def __post_init__(self) -> None:
        self.spent_at = self.doing_since = self.number_since = self.clock()

    @property
    def round(self) -> int:
        """The round at work, from 1; 0 before the first."""
        if self.rounds_done == 0 and self.round_seen == 0:
            return 0
        at_work = max(self.rounds_done + 1, self.round_seen)
        return at_work if self.rounds is None else min(at_work, self.rounds)

    @property
    def wall_s(self) -> float:
        spent_s = self.spent.wall_s if self.spent else 0.0
        return spent_s if self.queued or self.ended else spent_s + self.clock() - self.spent_at

    def see(self, event: Event) -> None:
        """Take an event in. One that is new to this changes nothing."""
        from agent import events

        self.run = event.run
        match event:
            case events.Started():
                self.title = f"{event.op}/{event.implementation} on {event.target}"
                self.spent_at = self.clock()
                self._proposing()
            case events.Proposed():
                self.answered += 1
                if self.width:
                    self.round_seen = max(self.round_seen, event.number // self.width + 1)
                self._ask_spent()
                self._do(f"{self.answered} of {self.width or '?'} proposals are in", None)
            case events.Judging():
                self._do(f"{event.tier}: {event.stage}", event.number)
                self._queue(event.stage in QUEUE_STAGES)
            case events.Waiting():
                self._do(f"waits {event.pause_s:.0f} s: {event.reason}", event.number)
                self._queue(True)
            case events.Judged():
                self._queue(False)
                if event.number != events.INCUMBENT:
                    self._judged(event)
                self._do("judged", None)
            case events.RoundDone():
                self.rounds_done = event.round
                self.rounds = event.rounds
                self._proposing()
            case events.BudgetUsed():
                self.spent, self.budget = event.spent, event.budget
                self.spent_at = self.clock()
            case events.Confirming():
                self._do(f"confirming {len(event.candidates)} at the promotion tier", None)
            case events.Finished():
                # The last wall second stays what it was.
                self.spent = replace(self.spent, wall_s=self.wall_s) if self.spent else None
                self.ended = True
                self._do(str(event.stop), None)

    def _proposing(self) -> None:
        self.answered = 0
        self._do("asking the proposers", None)

    def _do(self, what: str, number: int | None) -> None:
        now = self.clock()
        if number != self.number:
            self.number, self.number_since = number, now
        if what != self.doing:
            self.doing, self.doing_since = what, now

    def _queue(self, queued: bool) -> None:
        if queued != self.queued:
            # Time in a queue counts against nothing, so the clock of the run stands.
            if self.spent is not None:
                self.spent = replace(self.spent, wall_s=self.wall_s)
            self.spent_at = self.clock()
            self.queued = queued

    def _judged(self, event: Any) -> None:
        if event.status != "faster" or event.ratio is None:
            return
        found = Best(event.ratio, event.low, event.high, event.tier, event.number)
        if self.best is None or _strength(found) > _strength(self.best):
            self.best = found

    def _ask_spent(self) -> None:
        if self.ask is None or self.spent is None:
            return
        # A request was paid for and no event says so before the next verdict.
        now = self.ask(self.run)
        self.spent = replace(self.spent, dollars=now.dollars, tokens=now.tokens)


def _strength(best: Best) -> tuple[bool, float]:
    return best.tier == "promote", best.low if best.low is not None else best.ratio


def starting(store: RunStore, *, width: int, rounds: int, budget: Budget) -> Standing:
    """The standing of a run that is about to begin."""
    from agent.budget import Spent

    return Standing(
        width=width,
        rounds=rounds,
        budget=budget,
        spent=Spent(),
        ask=lambda run: spent_of(store, run),
    )


def resuming(store: RunStore, run_id: str) -> Standing:
    """The standing of a run that is taken up again: what it had found and spent stands."""
    from runs.queries import run_summary

    summary = run_summary(store, run_id)
    run, found = summary.run, summary.best
    best = None
    if found is not None and found.effect is not None:
        effect = found.effect
        best = Best(effect.ratio, effect.low, effect.high, found.tier)
    return Standing(
        width=run.settings.get("width"),
        rounds=run.settings.get("rounds"),
        budget=run.budget,
        spent=spent_of(store, run_id),
        best=best,
        ask=lambda run: spent_of(store, run),
        run=run_id,
    )


def spent_of(store: RunStore, run_id: str) -> Spent:
    """What the ledger holds, requests in flight at their worst, as the events have it."""
    from agent.budget import Spent

    used = store.ledger.spent(run_id)
    return Spent(
        dollars=used.dollars + used.reserved_dollars,
        tokens=used.tokens + used.reserved_tokens,
        device_s=used.device_ns / 1e9,
        wall_s=used.wall_ns / 1e9,
        candidates=used.candidates,
    )
