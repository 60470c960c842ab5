"""Runs on the toy op: a checkout that holds it, and a child process that kills itself on cue.

python -m tests.agent.toy_run HOME DIARY CHECKOUT SETTINGS_JSON CUE COUNT
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.events import Event
from agent.proposers import registry
from agent.proposers.tune import TuneProposer
from agent.run import start
from agent.runtime import Patience
from agent.settings import Settings
from reference_kernels import catalog
from runs.store import RunStore
from sandbox.records import Candidate
from tests.agent import toy
from tests.agent.judge import DiaryJudge

QUICK = Patience(
    faults=1, fault_pause_s=0.0, outage_s=1.0, busy_s=10.0, busy_pause_s=5.0, sleep=lambda s: None
)


def install(replace: Callable[[Any, str, Any], None]) -> None:
    """Make `toy` an op of the catalogue, by `monkeypatch.setattr` or the like."""
    replace(catalog, "problem", lambda name: toy.PROBLEM)
    tuned = {**registry.FACTORIES, "tune": lambda *_: TuneProposer(toy.small_space)}
    replace(registry, "FACTORIES", tuned)


def make_checkout(folder: Path) -> Path:
    """A checkout with the toy op's module and nothing else."""
    op = folder / "reference_kernels" / "toy"
    op.mkdir(parents=True)
    (op / "xla.py").write_text(toy.SOURCE)
    return folder


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Cue:
    """Kills the process at the `count`-th time that something happens."""

    def __init__(self, name: str, count: int) -> None:
        self.name = name
        self.left = count

    def __call__(self, name: str) -> None:
        if name == self.name:
            self.left -= 1
            if self.left == 0:
                die()


def main(arguments: list[str]) -> None:
    home, diary, checkout, settings, name, count = arguments
    cue = Cue(name, int(count))
    install(setattr)
    store = RunStore(Path(home))

    def heard(event: Event) -> None:
        cue(type(event).__name__)

    def before(candidate: Candidate, done: int) -> None:
        cue("judge")

    kept = store.record_outcome

    def record_outcome(*args: Any, **kwargs: Any) -> str:
        digest = kept(*args, **kwargs)
        cue("recorded")
        return digest

    store.record_outcome = record_outcome  # type: ignore[method-assign]
    start(
        Settings.model_validate_json(settings),
        store,
        DiaryJudge(Path(diary), before=before),
        Path(checkout),
        heard,
        patience=QUICK,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
