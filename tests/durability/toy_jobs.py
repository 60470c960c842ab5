"""The runs that the tests of this folder disturb, and how one ends that nobody does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from agent.settings import Settings, Share
from runs.queries import RunSummary
from runs.records import Budget
from runs.store import RunStore
from tests.agent import toy
from tests.agent.openai_server import Server, serving, text
from tests.agent.toy_run import make_checkout
from tests.durability.evidence import Snapshot, check
from tests.durability.processes import Zygote, said
from tests.durability.worker import Job

JUDGE_S = 0.02
REPLY_S = 0.02
BETTER = toy.SOURCE.replace("jnp.exp(w) * jnp.exp(w)", "jnp.exp(2 * w)")
OFFLINE = Settings(op="toy", rounds=3, patience=9, width=2, budget=Budget(candidates=50), promote=2)


@contextmanager
def model_server() -> Iterator[Server]:
    """A model whose every reply is another candidate."""
    script = [text(f"One.\n```python\n{BETTER}X = {n}\n```", delay_s=REPLY_S) for n in range(40)]
    with serving(script) as found:
        yield found


def with_model(server: Server) -> Settings:
    """Half of the proposals are asked of a model, each for money."""
    values = OFFLINE.model_dump(mode="json") | {
        "proposers": (Share(name="llm", weight=2), Share(name="rewrite")),
        "models": ("openai/scripted",),
        "base_url": server.base_url,
        "retries": 0,
        "price_in": 1.0,
        "price_out": 1.0,
        "max_tokens": 1000,
        "budget": Budget(dollars=1.0, candidates=50),
    }
    return Settings.model_validate(values)


def make_job(folder: Path, settings: Settings = OFFLINE) -> Job:
    make_checkout(folder / "checkout")
    return Job(str(folder), settings.model_dump_json(), judge_s=JUDGE_S)


@dataclass(frozen=True)
class Whole:
    """A run that nobody disturbed.

    Attributes:
        points: how many durable points it passed.
    """

    ending: tuple[Any, ...]
    duration_s: float
    points: int


def undisturbed(zygote: Zygote, folder: Path, settings: Settings = OFFLINE) -> Whole:
    job = make_job(folder, settings)
    began_s = monotonic()
    assert zygote.run(job) == 0, said(job)
    duration_s = monotonic() - began_s
    return Whole(ending(folder, []), duration_s, int((folder / "points").read_text()))


def ending(
    folder: Path, dead: Sequence[Snapshot], requests: Sequence[dict[str, Any]] = ()
) -> tuple[Any, ...]:
    """Check a run that has ended; returns what a disturbance must not change."""
    summary: RunSummary = check(folder, dead, requests)
    proposals = RunStore(folder / "home").proposals(summary.run.id)
    candidates = {p.id.rpartition("/")[2]: p.candidate for p in proposals}
    best = summary.best and (summary.best.candidate, summary.best.tier)
    return candidates, summary.statuses, summary.end_reason, best
