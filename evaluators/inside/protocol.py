"""What passes between the judge's host side and its container: JSON of these models."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CellRequest(Message):
    """One entry point on one case.

    Attributes:
        candidate: file name of the artefact that is judged.
        shipped: implementation -> file name of its artefact; `plain` is always among them.
        timed: whether to time it, besides comparing.
    """

    id: str
    entry: str
    case: str
    candidate: str
    shipped: dict[str, str] = Field(default_factory=dict)
    timed: bool = False


class Preparation(Message):
    """What a judging process can get ready for before it has a candidate; see `JudgeRequest`."""

    op: str
    implementation: str
    platform: str
    cells: tuple[CellRequest, ...]


class JudgeRequest(Message):
    """What a judging process is asked.

    Attributes:
        known: keys of programs judged before: a candidate of one of these is told and left alone.
        skip_unchanged: likewise for a candidate that changes nothing.
        numerics_only: walk, compile and compare, but time nothing (`unmeasured` targets).
        digests_only: walk, and report program digests.
        repeat_seed: seed of the determinism check; drawn here when None.
        implementation: the shipped module that the candidate would replace; where its program is
            the candidate's own, nothing changes and nothing is timed.
    """

    op: str
    implementation: str
    platform: str
    cells: tuple[CellRequest, ...]
    artefact_bytes: int
    constant_bytes: int
    seeds_per_distribution: int
    pairs: int
    wall_pairs: int
    verified_samples: int
    numerics_only: bool = False
    digests_only: bool = False
    repeat_seed: int | None = None
    known: tuple[str, ...] = ()
    skip_unchanged: bool = False


class Refusal(Message):
    """A static rule that a program breaks."""

    cell: str
    rule: str
    detail: str


class ProgramFacts(Message):
    cell: str
    digest: str
    operations: dict[str, int]
    custom_calls: tuple[str, ...]
    constant_bytes: int
    size_bytes: int
    flops: float = 0.0
    least_operations: int = 0
    compile_ns: int = 0


class Comparison(Message):
    """The worst comparison of one result array, over seeds, of a cell and distribution."""

    cell: str
    distribution: str
    leaf: str
    kind: str
    error: float
    allowed: float
    where: str = ""
    timed_call: bool = False

    @property
    def passed(self) -> bool:
        return self.error <= self.allowed


class Repeat(Message):
    """Determinism of a cell: digests of its results for `seed`; whether inputs were changed."""

    cell: str
    seed: int
    digests: tuple[str, ...]
    modified_inputs: bool


class CellSamples(Message):
    cell: str
    baseline: str
    pairs_ns: tuple[tuple[int, int], ...]
    control_pairs_ns: tuple[tuple[int, int], ...]
    wall_pairs_ns: tuple[tuple[int, int], ...]
    roofline_ns: float
    trace: str
    top_operations: tuple[str, ...] = ()


class JudgeReport(Message):
    """What a judging process found. Statuses are decided outside, from this.

    Attributes:
        known: the candidate is a known program: its key, or `unchanged`; nothing else was found.
    """

    known: str = ""
    refusals: tuple[Refusal, ...] = ()
    mismatches: tuple[Refusal, ...] = ()
    independent: tuple[Refusal, ...] = ()
    programs: tuple[ProgramFacts, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    repeats: tuple[Repeat, ...] = ()
    samples: tuple[CellSamples, ...] = ()
    unchanged: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    fingerprint: dict[str, str] = Field(default_factory=dict)
    stage_ns: dict[str, int] = Field(default_factory=dict)
    finished: bool = False
