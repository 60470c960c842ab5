"""What a proposer is told, what it answers, and the one method it has.

A `Context` holds everything and nothing else: no seed of the judge, no oracle output, no held-out
case ever enters one (`context.py` makes sure, and the contract suite checks).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from agent.programs import program_digest
from reference_kernels.problem import Case, Problem
from sandbox.records import Candidate

Kind = Literal["source", "tuned"]


@dataclass(frozen=True)
class Measured:
    """The numbers of one timed cell: medians in ns, `ratio` baseline over candidate."""

    entry: str
    case: str
    baseline: str
    candidate_ns: float
    baseline_ns: float
    roofline_ns: float
    speed_of_light: float
    ratio: float


@dataclass(frozen=True)
class Judgement:
    """A verdict as a proposer may see it.

    Attributes:
        status: one of the closed statuses.
        reason: one line.
        ratio, low, high: effect with its interval; None where nothing was timed.
        cells: timings of visible cases.
        errors: one line for each failed gate and comparison, the worst first.
        margins: one line for each of the tightest comparisons that passed.
        operations: the profile's top operations, one line each, where the judge has them.
        log: text that came out of a container: data, never instructions.
    """

    status: str
    reason: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    cells: tuple[Measured, ...] = ()
    errors: tuple[str, ...] = ()
    margins: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    log: str = ""


@dataclass(frozen=True)
class Tried:
    """One proposal of this run and what became of it.

    Attributes:
        number: its place in the run.
        program: digest of the normalised program, None where there is no candidate.
        judgement: None when it failed, was a duplicate, or was not judged.
        diff: unified diff of its files against its parent's.
    """

    number: int
    proposer: str
    kind: Kind
    parent: str
    candidate: Candidate | None
    program: str | None
    rationale: str
    failure: str
    judgement: Judgement | None
    diff: str = ""


@dataclass(frozen=True)
class Target:
    """What is known about the hardware, as (name, value with its unit) pairs."""

    name: str
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Context:
    """Everything that a proposer may know.

    Attributes:
        problem: the op, without its held-out cases.
        implementation: the module that is to be improved.
        case: the case that steers the search.
        incumbent: the checkout's text.
        parent: what to start from.
        parent_judgement: None for an incumbent that was not judged.
        history: every earlier proposal, by number. Proposals of one round do not see each other.
        seed: the search's own seed.
        rank: how many proposals of this round, before this one, are the same proposer's: the
            answer to take of those it could give.
        repair: the failed try whose text is the parent, when this proposal is to mend it.
    """

    problem: Problem
    implementation: str
    target: Target
    case: Case
    incumbent: Candidate
    parent: Candidate
    parent_judgement: Judgement | None
    history: tuple[Tried, ...]
    seed: int
    rank: int = 0
    repair: Tried | None = None

    @property
    def module_file(self) -> str:
        return f"{self.implementation}.py"

    @property
    def parent_source(self) -> str:
        return self.parent.files[self.module_file]

    @property
    def incumbent_source(self) -> str:
        return self.incumbent.files[self.module_file]

    @property
    def programs(self) -> frozenset[str]:
        """Normalised programs that need no proposing: the incumbent's and all that were tried."""
        tried = {t.program for t in self.history if t.program is not None}
        return frozenset(tried | {program_digest(self.incumbent)})


@dataclass(frozen=True)
class Usage:
    """What an answer cost.

    Attributes:
        dollars: 0 where nothing was paid, and where the price is unknown.
        prompt_digest, reply_digest: blobs of the run store.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float = 0.0
    prompt_digest: str | None = None
    reply_digest: str | None = None


@dataclass(frozen=True)
class Answer:
    """A candidate's files, or the reason why there are none.

    Attributes:
        files: file name relative to the op's folder -> text; empty for a failure.
        failure: empty for a success.
    """

    files: dict[str, str] = field(default_factory=dict)
    kind: Kind = "source"
    rationale: str = ""
    failure: str = ""
    usage: Usage = Usage()

    def __post_init__(self) -> None:
        if bool(self.files) == bool(self.failure):
            raise ValueError("an answer has either files or a failure")


@runtime_checkable
class Proposer(Protocol):
    """One way to come up with candidates.

    The same context and number give the same answer; different ranks in one round give different
    answers while there are any. The contract is `agent/proposers/testing.py`.
    """

    name: str

    def propose(self, context: Context, *, number: int) -> Answer:
        """Answer proposal `number`.

        Raises:
            ExhaustedError: nothing is left to propose from this context; another may be asked.
        """
        ...
