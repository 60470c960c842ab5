"""A run's proposals with all that it takes to repeat them exactly and free: prompts and replies.

A recording holds no key, no address of a server and no held-out case, so it may be shared.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from agent.errors import RecordingError
from sandbox.records import Candidate


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedMessage(_Frozen):
    role: str
    content: str


class RecordedProposal(_Frozen):
    """One answer.

    Attributes:
        parent: number of the proposal whose candidate it started from, None for the incumbent.
        repairs: number of the failed proposal that it was to mend.
        model: which model answered, empty for the offline proposers.
        reply: what the model said; None where no reply was stored.
        files: the candidate, where it came of no reply.
        candidate: digest of what came out, None for a failure.
        status, ratio: how it was judged at the screen tier then; nothing is checked against it.
    """

    number: int
    proposer: str
    kind: Literal["source", "tuned"]
    parent: int | None
    repairs: int | None = None
    model: str = ""
    prompt_digest: str | None = None
    prompt: tuple[RecordedMessage, ...] = ()
    reply: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float = 0.0
    rationale: str = ""
    failure: str = ""
    files: dict[str, str] | None = None
    candidate: str | None
    status: str | None = None
    ratio: float | None = None


class Recording(_Frozen):
    """A run to be repeated.

    Attributes:
        incumbent: the library's files at the start: the module and its shipped configs.
        models: every model that answered.
    """

    format: Literal[1] = 1
    op: str
    implementation: str
    target: str
    case: str
    settings: dict[str, Any]
    incumbent: dict[str, str]
    models: tuple[str, ...]
    proposals: tuple[RecordedProposal, ...]

    @model_validator(mode="after")
    def _whole(self) -> Recording:
        if self.module_file not in self.incumbent:
            raise ValueError("it lacks the module that the search started from")
        numbers = [proposal.number for proposal in self.proposals]
        if numbers != sorted(set(numbers)):
            raise ValueError("its proposals are not numbered in order")
        self.make(self.incumbent)
        return self

    def make(self, files: dict[str, str]) -> Candidate:
        return Candidate(
            op=self.op, implementation=self.implementation, target=self.target, files=files
        )

    @property
    def module_file(self) -> str:
        return f"{self.implementation}.py"

    @property
    def start(self) -> Candidate:
        """What the search started from: the library's module alone."""
        return self.make({self.module_file: self.incumbent[self.module_file]})

    def parent_digest(self, proposal: RecordedProposal) -> str:
        """Digest of the candidate that a proposal started from.

        Raises:
            RecordingError: the recording does not hold it.
        """
        if proposal.parent is None:
            return self.start.digest
        for earlier in self.proposals:
            if earlier.number == proposal.parent < proposal.number and earlier.candidate:
                return earlier.candidate
        raise RecordingError(f"proposal {proposal.number} starts from what is not recorded")


def save(recording: Recording) -> bytes:
    """The recording as JSON that a person can read and git can compare."""
    return (recording.model_dump_json(indent=1) + "\n").encode()


def load(data: bytes, name: str = "the recording") -> Recording:
    """A recording from JSON.

    Raises:
        RecordingError: it is none, or of another format.
    """
    try:
        return Recording.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise RecordingError(f"{name} is no recording ({where}: {first['msg']})") from None


def read(path: Path) -> Recording:
    """A recording from a file.

    Raises:
        RecordingError: it cannot be read, or is none.
    """
    try:
        return load(path.read_bytes(), path.name)
    except OSError as error:
        raise RecordingError(f"cannot read {path}: {error.strerror}") from None
