"""Runs that are killed with SIGKILL at any moment go on as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.run import RunResult, resume, start
from agent.settings import Settings, Share
from evaluators.policy import repository_root
from runs.queries import run_summaries
from runs.records import Budget
from runs.store import RunStore
from tests.agent import toy
from tests.agent.judge import DiaryJudge
from tests.agent.openai_server import serving, text
from tests.agent.toy_run import QUICK, install, make_checkout

OFFLINE = Settings(op="toy", rounds=2, patience=9, width=2, budget=Budget(candidates=50))


@pytest.fixture(autouse=True)
def toy_op(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch.setattr)


def spawn(folder: Path, settings: Settings, cue: str, count: int) -> subprocess.Popen[bytes]:
    """A run in a process of its own."""
    return subprocess.Popen(
        [
            sys.executable, "-m", "tests.agent.toy_run", str(folder / "home"),
            str(folder / "diary"), str(make_checkout(folder / "checkout")),
            settings.model_dump_json(), cue, str(count),
        ],
        cwd=repository_root(),
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip


def go_on(folder: Path) -> tuple[RunResult, DiaryJudge, RunStore]:
    store, judge = RunStore(folder / "home"), DiaryJudge(folder / "diary")
    run = run_summaries(store)[0].run.id
    return resume(run, store, judge, folder / "checkout", patience=QUICK), judge, store


@pytest.mark.parametrize(
    ("cue", "count"),
    [
        ("judge", 2),
        ("recorded", 1),
        # Random moments and every durable point are killed in tests/durability.
        *(
            pytest.param(cue, count, marks=pytest.mark.slow)
            for cue, count in (
                ("Started", 1),
                ("Proposed", 2),
                ("Judged", 3),
                ("RoundDone", 1),
                ("Finished", 1),
            )
        ),
    ],
)
def test_nothing_is_judged_twice_after_a_kill(tmp_path: Path, cue: str, count: int) -> None:
    child = spawn(tmp_path / "killed", OFFLINE, cue, count)
    assert child.wait(timeout=120) == -signal.SIGKILL
    result, judge, store = go_on(tmp_path / "killed")

    whole = tmp_path / "whole"
    whole_judge, whole_store = DiaryJudge(whole / "diary"), RunStore(whole / "home")
    expected = start(OFFLINE, whole_store, whole_judge, make_checkout(whole / "checkout"))

    assert judge.done() == whole_judge.done()
    assert (result.best, result.stop, result.promotable) == (
        expected.best, expected.stop, expected.promotable,
    )  # fmt: skip
    assert result.spent.candidates == expected.spent.candidates == 4
    assert result.spent.device_s == expected.spent.device_s
    assert {p.candidate for p in store.proposals(result.run)} == {
        p.candidate for p in whole_store.proposals(expected.run)
    }


def test_no_request_is_sent_twice(tmp_path: Path) -> None:
    """Killed while the second request is in flight: the first reply is kept, the second is lost."""
    better = toy.SOURCE.replace("jnp.exp(w) * jnp.exp(w)", "jnp.exp(2 * w)")
    script = [
        text(f"One.\n```python\n{better}```"),
        text(f"Two.\n```python\n{better}X = 1\n```", delay_s=60.0),
        text(f"Three.\n```python\n{better}X = 2\n```"),
    ]
    with serving(script) as server:
        settings = Settings(
            op="toy", rounds=3, patience=9, width=1, model="openai/scripted",
            base_url=server.base_url, proposers=(Share(name="llm"),), retries=0,
            price_in=1.0, price_out=1.0, max_tokens=1000, budget=Budget(dollars=1.0), promote=0,
        )  # fmt: skip
        child = spawn(tmp_path, settings, "never", 1)
        until = time.monotonic() + 120
        while len(server.requests) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        child.kill()
        child.wait()
        assert len(server.requests) == 2
        result, judge, store = go_on(tmp_path)
        # Only the third proposal asked.
        assert len(server.requests) == 3
    proposals = store.proposals(result.run)
    assert [p.failure.split(":")[0] for p in proposals] == ["", "lost", ""]
    assert len({p.candidate for p in proposals if p.candidate}) == 2
    # The incumbent, looked at once, and both candidates.
    assert len(judge.done()) == len(set(judge.done())) == 3
    worst = next(p.dollars for p in proposals if p.failure)
    paid = 2 * 120 / 1e6
    assert worst > paid
    assert result.spent.dollars == pytest.approx(worst + paid)
