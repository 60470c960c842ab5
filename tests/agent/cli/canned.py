"""Canned verdicts, and the command line as a program of its own over a judge that gives them.

`python -m tests.agent.cli.canned STATUS SECONDS WORD...`: each of a judgement's two stages lasts so
long.
"""

from __future__ import annotations

import hashlib
import sys
import time
from datetime import UTC, datetime
from typing import Any

from evaluators.api import Outcome
from evaluators.policy import repository_root
from evaluators.verdict import Effect, Environment, ErrorCell, Gate, TimingCell, Verdict
from runs.incumbent import incumbent_candidate
from sandbox.records import Candidate

FASTER = {"ratio": 1.1, "low": 1.08, "high": 1.12}


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


class CannedJudge:
    """Answers every question with a verdict of one status, and remembers what was asked."""

    def __init__(self, status: str, pause_s: float = 0.0, **numbers: float) -> None:
        self.status = status
        self.pause_s = pause_s
        self.numbers = numbers
        self.asked: list[dict[str, Any]] = []

    def judge(self, candidate: Candidate, *, tier: str, progress: Any = None, **rest: Any) -> Any:
        self.asked.append({"candidate": candidate, "tier": tier, **rest})
        for stage in ("build", "timing"):
            if progress:
                progress(stage)
            time.sleep(self.pause_s)
        blobs = {hashlib.sha256(b"a trace").hexdigest(): b"a trace"}
        return Outcome(make_verdict(candidate, self.status, tier, **self.numbers), blobs=blobs)

    def settle(self) -> None:
        pass

    def close(self) -> None:
        pass


def main() -> None:
    from agent.cli import __main__, wiring

    status, pause_s, *words = sys.argv[1:]
    numbers = FASTER if status == "faster" else {}
    judge = CannedJudge(status, float(pause_s), **numbers)
    wiring.evaluator = lambda backend, **how: judge  # type: ignore[assignment]
    sys.argv = ["kernelwright", *words]
    __main__.run()


if __name__ == "__main__":
    main()
