"""`Run`, `Proposal` and `Promotion`: who proposed what, why, and what became of it."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def digest(self) -> str:
        """SHA-256 of the record's canonical JSON, its keys sorted."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class Budget(Record):
    """Hard caps of a run; None leaves one open."""

    dollars: float | None = None
    tokens: int | None = None
    device_s: float | None = None
    wall_s: float | None = None
    candidates: int | None = None


class Run(Record):
    """One optimisation run.

    Attributes:
        id: short, sortable, unique: `20261130-231500-ab12`.
        base_commit: commit of the checkout that the run started from.
        settings: everything that `resume` needs to go on: proposers, model, seed, width...
    """

    id: str
    op: str
    implementation: str
    target: str
    case: str
    budget: Budget
    base_commit: str
    settings: dict[str, Any] = Field(default_factory=dict)
    started_at: str


class Proposal(Record):
    """One answer of a proposer: a candidate, or a recorded failure to give one.

    Attributes:
        id: `<run>/<n>`.
        parent: digest of the candidate it started from.
        candidate: digest of what came out, None for a failed proposal.
        kind: `source` (new module text) or `tuned` (a config for shapes).
        rationale: the proposer's own words, untrusted text.
        failure: why there is no candidate.
    """

    id: str
    run: str
    proposer: str
    kind: Literal["source", "tuned"] = "source"
    parent: str
    candidate: str | None
    rationale: str = ""
    failure: str = ""
    prompt_digest: str | None = None
    reply_digest: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float = 0.0
    duration_ns: int = 0
    proposed_at: str


class Promotion(Record):
    """A decision on a `faster` verdict.

    Attributes:
        incumbent: digest of the incumbent, as a `Candidate`, that was (or would be) replaced.
        patch: unified diff that was (or would be) applied.
        commit: the commit that holds it, when there is one.
    """

    id: str
    kind: Literal["source", "tuned"]
    run: str | None
    op: str
    implementation: str
    target: str
    candidate: str
    verdict: str
    incumbent: str
    patch: str
    ratio: float
    low: float
    high: float
    validity: tuple[str, ...]
    reviewer: str
    decision: Literal["accepted", "rejected", "deferred", "rolled_back"]
    reason: str = ""
    commit: str | None = None
    decided_at: str
