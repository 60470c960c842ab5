"""A store with one run in it, and a way to call the command line as a user does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent.cli.main import app
from evaluators.api import Outcome
from evaluators.policy import repository_root
from runs.incumbent import incumbent_candidate
from runs.records import Budget, Proposal, Run
from runs.store import RunStore
from sandbox.records import Candidate
from tests.agent.cli.canned import CannedJudge, candidate, make_verdict

AT = datetime(2026, 11, 30, 12, tzinfo=UTC).isoformat()
RUN = "20261130-120000-aaaa"
CLOSED_SOCKET = "unix:///nonexistent/kernelwright-test.sock"


@dataclass(frozen=True)
class Called:
    """What one call did."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    def fails(self, code: int, *words: str) -> None:
        """Failed as it should: the code, one line on stderr that says so, nothing else."""
        assert self.code == code, (self.code, self.stdout, self.stderr)
        lines = self.stderr.splitlines()
        assert len(lines) == 1, self.stderr
        assert lines[0].startswith("kernelwright: ")
        assert "Traceback" not in self.stderr
        assert self.stdout == ""
        for word in words:
            assert word in lines[0], (word, lines[0])


Call = Callable[..., Called]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """A daemon that is not there: a test that reaches for Docker by mistake fails at once.

    And no config file: not even that of whoever runs the tests.
    """
    return {
        "KERNELWRIGHT_HOME": str(home),
        "KERNELWRIGHT_CONFIG": os.devnull,
        "DOCKER_HOST": CLOSED_SOCKET,
        "COLUMNS": "200",
    }


@pytest.fixture
def call(environment: dict[str, str]) -> Call:
    """Run a command line in this process."""

    def run(*words: str, input: str | None = None) -> Called:
        found = CliRunner().invoke(app, list(words), env=environment, input=input)
        return Called(found.exit_code, found.stdout, found.stderr)

    return run


@pytest.fixture
def call_process(environment: dict[str, str]) -> Call:
    """Run a command line in a process of its own."""

    def run(*words: str, **extra: str) -> Called:
        found = subprocess.run(
            [sys.executable, "-m", "agent.cli", *words],
            capture_output=True,
            text=True,
            env={**os.environ, **environment, **extra},
            cwd=repository_root(),
            timeout=300,
            check=False,
        )
        return Called(found.returncode, found.stdout, found.stderr)

    return run


@dataclass(frozen=True)
class Filled:
    """A store with a run of three proposals: a winner, a wrong one and one without a candidate."""

    store: RunStore
    run: str
    winner: Candidate
    loser: Candidate
    winning: str
    losing: str


@pytest.fixture
def filled(home: Path) -> Filled:
    store = RunStore(home)
    winner, loser = candidate("wins"), candidate("loses")
    incumbent = incumbent_candidate(repository_root(), "rms_norm", "xla", "cpu")
    parent = store.record_candidate(incumbent)
    store.start_run(
        Run(
            id=RUN,
            op="rms_norm",
            implementation="xla",
            target="cpu",
            case="qwen3-next-512",
            budget=Budget(candidates=3),
            base_commit="0" * 40,
            settings={
                "op": "rms_norm",
                "incumbent": parent,
                "proposers": [{"name": "llm", "weight": 1}],
                "model": "none/none",
            },
            started_at=AT,
        )
    )
    for number, text in enumerate((winner, loser, None), start=1):
        if text:
            store.record_candidate(text)
        store.record_proposal(
            Proposal(
                id=f"{RUN}/{number}",
                run=RUN,
                proposer="rewrite",
                parent=parent,
                candidate=text.digest if text else None,
                rationale="fold the scale",
                failure="" if text else "the answer was empty",
                proposed_at=AT,
            )
        )
    trace = {hashlib.sha256(b"a trace").hexdigest(): b"a trace"}
    good = make_verdict(winner, "faster", ratio=1.1, low=1.08, high=1.12)
    winning = store.record_outcome(Outcome(good, blobs=trace), incumbent=incumbent)
    losing = store.record_outcome(Outcome(make_verdict(loser, "wrong")), incumbent=incumbent)
    return Filled(store, RUN, winner, loser, winning, losing)


@pytest.fixture
def judge_says(monkeypatch: pytest.MonkeyPatch) -> Callable[..., CannedJudge]:
    """Put a canned judge in the place of the real one."""
    from agent.cli import wiring

    def install(status: str, **numbers: float) -> CannedJudge:
        judge = CannedJudge(status, **numbers)
        monkeypatch.setattr(wiring, "evaluator", lambda backend, **how: judge)
        return judge

    return install
