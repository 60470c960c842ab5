"""The `Verdict` record: what was found about a build, with the numbers that say so.

Times are nanoseconds. A ratio is baseline over candidate: above 1 the candidate is faster.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Tier = Literal["screen", "promote"]
Trust = Literal["artefact", "process"]


class Status(StrEnum):
    """The closed vocabulary of outcomes (DESIGN.md §1)."""

    BUILD_FAILED = "build_failed"
    REJECTED = "rejected"
    RESOURCE_LIMIT = "resource_limit"
    CRASHED = "crashed"
    WRONG = "wrong"
    UNSTABLE = "unstable"
    SUSPECT = "suspect"
    SLOWER = "slower"
    NO_GAIN = "no_gain"
    UNMEASURED = "unmeasured"
    FASTER = "faster"


TIMED = frozenset({Status.SUSPECT, Status.SLOWER, Status.NO_GAIN, Status.FASTER})
CORRECT = frozenset({Status.SLOWER, Status.NO_GAIN, Status.UNMEASURED, Status.FASTER})


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Gate(Record):
    """One gate's outcome: `build`, `program`, `numerics`, `determinism`, `physics`, `speed`..."""

    name: str
    passed: bool
    detail: str = ""
    numbers: dict[str, float] = Field(default_factory=dict)


class ErrorCell(Record):
    """The worst comparison of one result array over the distributions and seeds of a case.

    `error` and `allowed` are absolute, in the array's own unit; `plain_error` is the same measure
    of the op's plain XLA version.
    """

    entry: str
    case: str
    distribution: str
    leaf: str
    kind: str
    error: float
    allowed: float
    where: str = ""

    @property
    def passed(self) -> bool:
        return self.error <= self.allowed


class TimingCell(Record):
    """Paired timings of one entry point on one case, as they were taken.

    Attributes:
        baseline: implementation that was the fastest shipped one here.
        pairs_ns: (baseline, candidate) device time of each pair, in the order taken.
        control_pairs_ns: (baseline, baseline) pairs of the A/A control in the same session.
        wall_pairs_ns: (baseline, candidate) untraced wall clock of further pairs.
        ratio, low, high: exp of the median log ratio and its two-sided confidence interval.
        confidence: level of that interval, after the correction for how many were measured.
        control_spread: half-width of the A/A interval, as a fraction.
        worse_p: p-value of the one-sided non-inferiority test against 3 % slower.
        roofline_ns: the least time that operations and bytes allow on this target.
        speed_of_light: roofline over the candidate's median, 0..1.
        process: which judging process (0 first, 1 the confirmation).
    """

    entry: str
    case: str
    baseline: str
    pairs_ns: tuple[tuple[int, int], ...]
    control_pairs_ns: tuple[tuple[int, int], ...]
    wall_pairs_ns: tuple[tuple[int, int], ...]
    ratio: float
    low: float
    high: float
    confidence: float
    control_spread: float
    worse_p: float
    roofline_ns: float
    speed_of_light: float
    baseline_median_ns: float
    candidate_median_ns: float
    process: int = 0


class Effect(Record):
    """The one number of a verdict: ratio over all timed cells, with its interval."""

    ratio: float
    low: float
    high: float
    confidence: float
    candidates_measured: int


class Environment(Record):
    """Where and with what a verdict was made; regression tracking groups by it."""

    machine: str
    cpu_model: str
    device_kind: str
    kernel: str
    python: str
    packages: dict[str, str]
    xla_flags: str
    pinned_core: int | None
    toolchain: str
    backend: str


class Verdict(Record):
    """Build x cases, judged.

    Attributes:
        candidate: digest of the `Candidate`.
        builds: digests of the `Build` records that were judged.
        reason: one line for a person.
        seeds: the 64-bit seeds drawn at judgement, in order.
        traces: digests of the kept Xprof traces.
        validity: shape keys on which the candidate was found right.
        stage_ns: duration of each stage: `build`, `judge`, `compile`, `numerics`, `timing`...
    """

    candidate: str
    builds: tuple[str, ...]
    op: str
    implementation: str
    target: str
    tier: Tier
    trust: Trust
    status: Status
    reason: str
    gates: tuple[Gate, ...]
    errors: tuple[ErrorCell, ...] = ()
    timings: tuple[TimingCell, ...] = ()
    effect: Effect | None = None
    environment: Environment | None = None
    seeds: tuple[int, ...] = ()
    traces: tuple[str, ...] = ()
    validity: tuple[str, ...] = ()
    log: str = ""
    stage_ns: dict[str, int] = Field(default_factory=dict)
    facts: dict[str, Any] = Field(default_factory=dict)
    judged_at: str

    @property
    def digest(self) -> str:
        """SHA-256 of the record's canonical JSON."""
        # Errors may be infinite or no number at all, and verdicts that differ there differ.
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @model_validator(mode="after")
    def _numbers_fit_status(self) -> Verdict:
        if self.timings and not self.errors:
            raise ValueError("no speed without numerics")
        if self.status in CORRECT and any(not cell.passed for cell in self.errors):
            raise ValueError(f"{self.status} with a failed comparison")
        if self.status in (Status.FASTER, Status.NO_GAIN, Status.SLOWER):
            if self.effect is None or not self.timings:
                raise ValueError(f"{self.status} without samples")
            if any(not cell.pairs_ns for cell in self.timings):
                raise ValueError(f"{self.status} with an unsampled cell")
        if self.status is Status.FASTER:
            if not all(gate.passed for gate in self.gates):
                raise ValueError("faster with a failed gate")
            if self.trust != "artefact":
                raise ValueError("faster needs an artefact, not a process diagnostic")
            if self.effect is not None and not self.effect.low > 1:
                raise ValueError("faster without a lower bound above 1")
        if self.status is Status.UNMEASURED and self.timings:
            raise ValueError("unmeasured with timings")
        return self

    @property
    def promotable(self) -> bool:
        return self.status is Status.FASTER and self.tier == "promote" and self.trust == "artefact"
