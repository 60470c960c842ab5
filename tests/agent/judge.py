"""A judge in this process: deterministic verdicts, and a diary of what it was asked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluators.api import Outcome, Progress, Tier
from evaluators.errors import DeadlineError, KnownProgramError
from evaluators.programs import key_of_programs
from evaluators.verdict import Effect, ErrorCell, Gate, Status, TimingCell, Verdict
from sandbox.records import Candidate

Ratio = Callable[[Candidate], float | None]
MARGIN = 0.02


def spread(candidate: Candidate) -> float:
    """A ratio between 0.8 and 1.2 that only depends on the text."""
    text = "".join(candidate.files.values())
    return 0.8 + 0.4 * int(hashlib.sha256(text.encode()).hexdigest()[:6], 16) / 0xFFFFFF


def verdict(
    candidate: Candidate,
    ratio: float | None,
    *,
    tier: Tier = "screen",
    case: str = "steering",
    **changes: Any,
) -> Verdict:
    """A valid verdict; a ratio of None is a wrong result."""
    fields: dict[str, Any] = {
        "candidate": candidate.digest,
        "builds": (),
        "op": candidate.op,
        "implementation": candidate.implementation,
        "target": candidate.target,
        "tier": tier,
        "trust": "artefact",
        "status": Status.WRONG,
        "reason": "an error is too large",
        "gates": (Gate(name="numerics", passed=ratio is not None),),
        "seeds": (424242,),
        "stage_ns": {"build": 5_000_000_000, "numerics": 1_000_000_000, "timing": 2_000_000_000},
        "judged_at": datetime.now(UTC).isoformat(),
    }
    error = 0.1 if ratio is not None else 9.0
    fields["errors"] = (
        ErrorCell(
            entry="forward", case=case, distribution="typical", leaf="", kind="total",
            error=error, allowed=0.2,
        ),
    )  # fmt: skip
    if ratio is not None:
        low, high = ratio - MARGIN, ratio + MARGIN
        fields["status"] = (
            Status.FASTER if low > 1.03 else Status.SLOWER if high < 1 else Status.NO_GAIN
        )
        fields["reason"] = f"{ratio:.3f} times the baseline's speed"
        fields["effect"] = Effect(
            ratio=ratio, low=low, high=high, confidence=0.95, candidates_measured=1
        )
        candidate_ns = round(1000 / ratio)
        fields["timings"] = (
            TimingCell(
                entry="forward", case=case, baseline="xla",
                pairs_ns=((1000, candidate_ns),) * 3, control_pairs_ns=((1000, 1000),),
                wall_pairs_ns=((2000, 2000),), ratio=ratio, low=low, high=high, confidence=0.95,
                control_spread=0.01, worse_p=0.01, roofline_ns=100.0,
                speed_of_light=100.0 / candidate_ns, baseline_median_ns=1000.0,
                candidate_median_ns=float(candidate_ns),
            ),
        )  # fmt: skip
    return Verdict(**{**fields, **changes})


class DiaryJudge:
    """Judges by a function of the candidate, and writes each call down before and after.

    Args:
        diary: file that survives the process; one line a call.
        before: called with the candidate and the count of calls so far, before the verdict.
        lowered: the program that a candidate lowers to; None builds nothing.
        takes_s: how long a judgement of a tier takes, all of it on the device; else no time.
    """

    def __init__(
        self,
        diary: Path,
        ratio: Ratio = spread,
        before: Callable[[Candidate, int], None] | None = None,
        lowered: Callable[[Candidate], str | None] = lambda candidate: None,
        **changes: Any,
    ) -> None:
        self.diary = diary
        self.ratio = ratio
        self.before = before
        self.lowered = lowered
        self.takes_s: dict[str, float] = {}
        self.left: list[float | None] = []
        self.changes = changes

    def judge(
        self,
        candidate: Candidate,
        *,
        tier: Tier,
        case: str | None,
        candidates_measured: int,
        progress: Progress | None = None,
        known: Mapping[str, str] | None = None,
        wall_left_s: float | None = None,
    ) -> Outcome:
        if progress is not None:
            progress("judge")
        self.left.append(wall_left_s)
        if self.before is not None:
            self.before(candidate, len(self.done()))
        changes = dict(self.changes)
        program = self.lowered(candidate)
        if program is not None:
            changes["facts"] = {"programs": {"forward|steering": program}}
            key = key_of_programs(changes["facts"]["programs"])
            if key in (known or {}):
                raise KnownProgramError((known or {})[key])
        if self.takes_s:
            takes_s = self.takes_s[tier]
            if wall_left_s is not None and wall_left_s < takes_s:
                raise DeadlineError(round(wall_left_s * 1e9))
            changes["stage_ns"] = {"timing": round(takes_s * 1e9)}
        ratio = self.ratio(candidate)
        found = verdict(candidate, ratio, tier=tier, case=case or "steering", **changes)
        with self.diary.open("a") as file:
            file.write(f"{tier} {candidates_measured} {candidate.digest}\n")
            file.flush()
            os.fsync(file.fileno())
        return Outcome(found)

    def done(self) -> list[tuple[str, int, str]]:
        """(tier, candidates measured, candidate digest) of each finished call, in order."""
        if not self.diary.exists():
            return []
        rows = [line.split() for line in self.diary.read_text().splitlines()]
        return [(tier, int(measured), digest) for tier, measured, digest in rows]
