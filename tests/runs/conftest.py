"""Records in short, a fresh store, and a small library in a git checkout of its own."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import sandbox
from evaluators.api import Outcome
from evaluators.verdict import Effect, Environment, ErrorCell, Gate, TimingCell, Verdict
from runs import promotion
from runs.incumbent import incumbent_candidate
from runs.queries import installed_packages
from runs.records import Budget, Proposal, Run
from runs.store import RunStore
from sandbox.records import Artefact, Build, Candidate

TOOLCHAIN = "a" * 64
KEY = "forward|x:float32[8]"
MODULE = "reference_kernels/toy/xla.py"
TUNED = "reference_kernels/tuned/toy_cpu.json"
OLD_TEXT = "VALUE = 1\n\n\ndef forward(x):\n    return x * VALUE\n"
NEW_TEXT = "VALUE = 1\n\n\ndef forward(x):\n    return x\n"
BROKEN_TEXT = "VALUE = 1\n\n\ndef forward(x):\n    return x + 1\n"
SUITE = """\
from pathlib import Path

import reference_kernels
from reference_kernels.toy import xla


def test_this_checkout_is_tested():
    here = Path(__file__).resolve().parents[2]
    assert Path(reference_kernels.__file__).resolve().is_relative_to(here)


def test_contract():
    assert xla.forward(3) == 3, "toy is wrong"
"""


class Make:
    """Factories of valid records; every argument has a default."""

    def run(self, name: str = "20261130-231500-ab12", **changes: Any) -> Run:
        fields: dict[str, Any] = {
            "id": name,
            "op": "toy",
            "implementation": "xla",
            "target": "cpu",
            "case": "tiny",
            "budget": Budget(),
            "base_commit": "0" * 40,
            "started_at": "2026-11-30T23:15:00+00:00",
        }
        return Run(**{**fields, **changes})

    def candidate(self, text: str = NEW_TEXT, config: Mapping[str, Any] | None = None) -> Candidate:
        files = {"xla.py": text}
        if config is not None:
            files["config.json"] = json.dumps(config)
        return Candidate(op="toy", implementation="xla", target="cpu", files=files)

    def proposal(self, number: int, candidate: str | None, **changes: Any) -> Proposal:
        run = changes.pop("run", "20261130-231500-ab12")
        fields: dict[str, Any] = {
            "id": f"{run}/{number}",
            "run": run,
            "proposer": "rewrite",
            "parent": "f" * 64,
            "candidate": candidate,
            "failure": "" if candidate else "nothing to rewrite",
            "proposed_at": "2026-11-30T23:16:00+00:00",
        }
        return Proposal(**{**fields, **changes})

    def environment(self, **changes: Any) -> Environment:
        fields: dict[str, Any] = {
            "machine": "bench-1",
            "cpu_model": "A CPU",
            "device_kind": "Toy CPU",
            "kernel": "6.1",
            "python": "3.12.1",
            "packages": installed_packages(),
            "xla_flags": "--xla_force=1 --xla_dump_to=/home/somebody/dump",
            "pinned_core": 1,
            "toolchain": TOOLCHAIN,
            "backend": "docker",
        }
        return Environment(**{**fields, **changes})

    def build(self, candidate: Candidate, case: str = "tiny") -> Build:
        artefact = Artefact(
            entry="forward",
            case=case,
            platform="cpu",
            digest="b" * 64,
            size_bytes=10,
            lower_duration_ns=5,
        )
        return Build(
            candidate=candidate.digest,
            target="cpu",
            toolchain=TOOLCHAIN,
            artefacts=(artefact,),
            status="built",
        )

    def timing(self, low: float = 1.2, **changes: Any) -> TimingCell:
        fields: dict[str, Any] = {
            "entry": "forward",
            "case": "tiny",
            "baseline": "xla",
            "pairs_ns": ((130, 100), (131, 101), (129, 99)),
            "control_pairs_ns": ((130, 131), (129, 130)),
            "wall_pairs_ns": ((230, 200),),
            "ratio": low + 0.1,
            "low": low,
            "high": low + 0.2,
            "confidence": 0.95,
            "control_spread": 0.01,
            "worse_p": 0.001,
            "roofline_ns": 50.0,
            "speed_of_light": 0.5,
            "baseline_median_ns": 130.0,
            "candidate_median_ns": 100.0,
        }
        return TimingCell(**{**fields, **changes})

    def verdict(self, candidate: Candidate, *, low: float = 1.2, **changes: Any) -> Verdict:
        error = ErrorCell(
            entry="forward",
            case="tiny",
            distribution="normal",
            leaf="out",
            kind="total",
            error=0.1,
            allowed=0.2,
        )
        fields: dict[str, Any] = {
            "candidate": candidate.digest,
            "builds": (self.build(candidate).digest,),
            "op": "toy",
            "implementation": "xla",
            "target": "cpu",
            "tier": "promote",
            "trust": "artefact",
            "status": "faster",
            "reason": "1.3 times faster",
            "gates": (Gate(name="numerics", passed=True, detail="/somewhere", numbers={"n": 1.0}),),
            "errors": (error,),
            "timings": (self.timing(low),),
            "effect": Effect(
                ratio=low + 0.1, low=low, high=low + 0.2, confidence=0.95, candidates_measured=1
            ),
            "environment": self.environment(),
            "validity": (KEY,),
            "facts": {"programs": programs_of(candidate)},
            "judged_at": "2026-11-30T23:20:00+00:00",
        }
        return Verdict(**{**fields, **changes})

    def failed(self, candidate: Candidate, status: str = "build_failed", **changes: Any) -> Verdict:
        bare: dict[str, Any] = {
            "status": status,
            "tier": "screen",
            "reason": "no",
            "gates": (),
            "errors": (),
            "timings": (),
            "effect": None,
            "environment": None,
        }
        return self.verdict(candidate, **{**bare, **changes})

    def screened(self, candidate: Candidate, low: float = 1.2, **changes: Any) -> Verdict:
        return self.verdict(candidate, low=low, tier="screen", **changes)

    def outcome(self, candidate: Candidate, verdict: Verdict | None = None) -> Outcome:
        trace = b"trace of " + candidate.digest.encode()
        return Outcome(
            verdict or self.verdict(candidate),
            (self.build(candidate),),
            {hashlib.sha256(trace).hexdigest(): trace},
        )


def programs_of(candidate: Candidate) -> dict[str, str]:
    """What lowering gives when a candidate looks at nothing but its own text."""
    text = json.dumps(dict(sorted(candidate.files.items())))
    return {"forward|tiny": hashlib.sha256(text.encode()).hexdigest()}


class Relowering:
    """Lowers by hashing the text; remembers how it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[Candidate, str, bool]] = []
        self.backend = sandbox.open_backend("subprocess")

    def program_digests(
        self, candidate: Candidate, *, library: Path, disguise: bool
    ) -> dict[str, str]:
        self.calls.append((candidate, (library / MODULE).read_text(), disguise))
        return programs_of(candidate)


class Checkout:
    """A library of one op, committed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("reference_kernels/__init__.py", "")
        self.write("reference_kernels/toy/__init__.py", "")
        self.write(MODULE, OLD_TEXT)
        self.write("tests/reference_kernels/test_toy.py", SUITE)
        self.write("pyproject.toml", '[tool.pytest.ini_options]\nmarkers = ["slow: minutes"]\n')
        self.git("init", "--quiet", "-b", "main")
        self.git("config", "user.name", "A Tester")
        self.git("config", "user.email", "tester@example.invalid")
        self.git("config", "commit.gpgsign", "false")
        self.commit("start")

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", message)

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def read(self, path: str) -> str:
        return (self.folder / path).read_text()

    def incumbent(self) -> Candidate:
        return incumbent_candidate(self.folder, "toy", "xla", "cpu", device_kind="Toy CPU")

    def state(self) -> tuple[str, str, dict[str, str]]:
        """Commit, git's view and every file outside git's folder: what must stay intact."""
        files = {
            str(path.relative_to(self.folder)): path.read_text()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and ".git" not in path.relative_to(self.folder).parts
        }
        status = self.git("status", "--porcelain", "--untracked-files=all")
        return self.git("rev-parse", "HEAD"), status, files


@pytest.fixture
def make() -> Make:
    return Make()


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "home")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    folder = tmp_path / "checkout"
    folder.mkdir()
    return Checkout(folder)


@pytest.fixture
def relowering() -> Relowering:
    return Relowering()


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 12, 1, 8, 30, tzinfo=UTC)


@pytest.fixture
def contract_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the seconds that a contract suite takes, where something else is looked at."""
    monkeypatch.setattr(promotion, "run_contract", lambda *_args, **_kwargs: None)
