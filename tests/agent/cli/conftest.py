"""A store with one run in it, and a way to call the command line as a user does."""

from __future__ import annotations

import hashlib
import json
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
from evaluators.verdict import Effect, Environment, ErrorCell, Gate, TimingCell, Verdict
from runs.incumbent import incumbent_candidate
from runs.records import Budget, Proposal, Run
from runs.store import RunStore
from sandbox.records import Candidate

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
    """A daemon that is not there: a test that reaches for Docker by mistake fails at once."""
    return {"KERNELWRIGHT_HOME": str(home), "DOCKER_HOST": CLOSED_SOCKET, "COLUMNS": "200"}


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
    import os

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


def candidate(note: str) -> Candidate:
    shipped = incumbent_candidate(repository_root(), "rms_norm", "xla", "cpu")
    return shipped.model_copy(update={"files": {"xla.py": f"{shipped.files['xla.py']}# {note}\n"}})


def make_verdict(of: Candidate, status: str, tier: str = "promote", **numbers: float) -> Verdict:
    """A verdict as the judge would write it, small."""
    timed = status in ("faster", "slower", "no_gain")
    ratio, low, high = (numbers.get(name, 1.0) for name in ("ratio", "low", "high"))
    timing = TimingCell(
        entry="forward",
        case="qwen3-next-512",
        baseline="xla",
        pairs_ns=((1_100_000, 1_000_000),) * 6,
        control_pairs_ns=((1_100_000, 1_100_000),) * 6,
        wall_pairs_ns=((1_200_000, 1_100_000),) * 6,
        ratio=ratio,
        low=low,
        high=high,
        confidence=0.95,
        control_spread=0.01,
        worse_p=0.001,
        roofline_ns=500_000.0,
        speed_of_light=0.5,
        baseline_median_ns=1.1e6,
        candidate_median_ns=1e6,
    )
    right = status != "wrong"
    error = ErrorCell(
        entry="forward",
        case="qwen3-next-512",
        distribution="normal",
        leaf="[0]",
        kind="total",
        error=0.5 if right else 2.0,
        allowed=1.0,
    )
    return Verdict(
        candidate=of.digest,
        builds=(),
        op=of.op,
        implementation=of.implementation,
        target=of.target,
        tier=tier,  # type: ignore[arg-type]
        trust="artefact",
        status=status,  # type: ignore[arg-type]
        reason=f"{status} \x1b[31mby fiat",
        gates=(Gate(name="numerics", passed=right),),
        errors=(error,),
        timings=(timing,) if timed else (),
        effect=Effect(ratio=ratio, low=low, high=high, confidence=0.95, candidates_measured=2)
        if timed
        else None,
        environment=Environment(
            machine="m" * 16,
            cpu_model="a CPU",
            device_kind="cpu",
            kernel="6.1",
            python="3.12",
            packages={"jax": "0", "jaxlib": "0"},
            xla_flags="",
            pinned_core=1,
            toolchain="t" * 64,
            backend="docker",
        ),
        traces=(hashlib.sha256(b"a trace").hexdigest(),) if timed else (),
        stage_ns={"build": 1_000_000_000, "timing": 2_000_000_000},
        facts={"programs": {"forward|qwen3-next-512": "p" * 64}},
        judged_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


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


class CannedJudge:
    """Answers every question with a verdict of one status, and remembers what was asked."""

    def __init__(self, status: str, **numbers: float) -> None:
        self.status = status
        self.numbers = numbers
        self.asked: list[dict[str, Any]] = []

    def judge(self, candidate: Candidate, *, tier: str, progress: Any = None, **rest: Any) -> Any:
        self.asked.append({"candidate": candidate, "tier": tier, **rest})
        if progress:
            progress("build")
            progress("timing")
        blobs = {hashlib.sha256(b"a trace").hexdigest(): b"a trace"}
        return Outcome(make_verdict(candidate, self.status, tier, **self.numbers), blobs=blobs)


@pytest.fixture
def judge_says(monkeypatch: pytest.MonkeyPatch) -> Callable[..., CannedJudge]:
    """Put a canned judge in the place of the real one."""
    from agent.cli import wiring

    def install(status: str, **numbers: float) -> CannedJudge:
        judge = CannedJudge(status, **numbers)
        monkeypatch.setattr(wiring, "evaluator", lambda backend: judge)
        return judge

    return install
