"""A whole run on the toy op: a store, a checkout, a judge of our own and the events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent import events
from agent.run import RunResult, replay, resume, start
from agent.runtime import Patience
from agent.settings import Settings
from evaluators.verdict import Verdict
from runs.queries import run_summaries
from runs.records import Proposal
from runs.store import RunStore
from sandbox.records import Candidate
from tests.agent.judge import DiaryJudge
from tests.agent.toy_run import QUICK, make_checkout


class Bench:
    """What a test of whole runs works with."""

    def __init__(self, folder: Path) -> None:
        self.store = RunStore(folder / "home")
        self.checkout = make_checkout(folder / "checkout")
        self.judge = DiaryJudge(folder / "diary")
        self.events: list[events.Event] = []

    def start(self, infrastructure: Patience = QUICK, **settings: Any) -> RunResult:
        return start(
            Settings(op="toy", **settings),
            self.store,
            self.judge,
            self.checkout,
            self.events.append,
            patience=infrastructure,
        )

    def resume(self, run: str, **options: Any) -> RunResult:
        return resume(
            run,
            self.store,
            self.judge,
            self.checkout,
            self.events.append,
            patience=QUICK,
            **options,
        )

    def replay(self, recording: Any) -> RunResult:
        return replay(
            recording, self.store, self.judge, self.checkout, self.events.append, patience=QUICK
        )

    def seen(self, kind: type[events.Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def verdicts(self, run: str) -> list[Verdict]:
        return list(self.store.verdicts(run=run))

    def proposals(self, run: str) -> list[Proposal]:
        """By number."""
        return sorted(self.store.proposals(run), key=lambda p: int(p.id.rpartition("/")[2]))

    def screened(self) -> list[str]:
        return [digest for tier, _, digest in self.judge.done() if tier == "screen"]

    def run(self) -> str:
        """The id of the last run."""
        return run_summaries(self.store)[0].run.id

    def end_reason(self) -> str:
        return run_summaries(self.store)[0].end_reason


def constant(ratio: float | None) -> Callable[[Candidate], float | None]:
    return lambda candidate: ratio
