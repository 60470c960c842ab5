"""`Candidate` and `Build`: what is built, and what came of it; identity is SHA-256 of content."""

import hashlib
import json
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from sandbox.errors import PolicyError
from sandbox.job import MIB, check_name

BuildStatus = Literal["built", "build_failed", "resource_limit", "crashed", "rejected"]

MAX_SOURCE_BYTES = MIB
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:@+-]{1,100}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]


def canonical_json(value: object) -> bytes:
    """The one way to write ``value``: sorted keys, no blanks, UTF-8, no NaN."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def sha256_of(value: object) -> str:
    """SHA-256 (hex) of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Candidate(_Frozen):
    """The full text of one implementation of one op for one target; nothing of who proposed it."""

    op: Word
    implementation: Word
    target: Word
    files: dict[str, str]

    @field_validator("files")
    @classmethod
    def _check_files(cls, files: dict[str, str]) -> dict[str, str]:
        if not files:
            raise ValueError("a candidate has at least one file")
        for name, text in files.items():
            try:
                check_name(name)
                size = len(text.encode())
            except (PolicyError, UnicodeEncodeError) as error:
                raise ValueError(str(error)) from error
            if size > MAX_SOURCE_BYTES:
                raise ValueError(f"{name} has {size} bytes, more than {MAX_SOURCE_BYTES}")
        return files

    @property
    def digest(self) -> str:
        """Identity: two proposals with the same source are one candidate."""
        return sha256_of(self.model_dump(mode="json"))


class Artefact(_Frozen):
    """One entry point lowered for one case. ``digest`` and ``size_bytes`` are of its bytes."""

    entry: Word
    case: Word
    platform: Word
    digest: Sha256
    size_bytes: Count
    lower_duration_ns: Count


class Build(_Frozen):
    """What a toolchain made of a candidate. ``facts`` are the compiler's; ``log`` is cleaned."""

    candidate: Sha256
    target: Word
    toolchain: Sha256
    artefacts: tuple[Artefact, ...] = ()
    status: BuildStatus
    log: str = ""
    duration_ns: Count = 0
    facts: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.status == "built") != bool(self.artefacts):
            raise ValueError("artefacts belong to the status 'built' and to no other")
        cells = [(item.entry, item.case, item.platform) for item in self.artefacts]
        if len(set(cells)) != len(cells):
            raise ValueError("two artefacts of one entry, case and platform")
        return self

    @property
    def digest(self) -> str:
        """Identity: what was built with what, and to which bytes; no times, no log, no facts."""
        content = self.model_dump(mode="json", exclude={"log", "duration_ns", "facts"})
        for artefact in content["artefacts"]:
            del artefact["lower_duration_ns"]
        content["artefacts"].sort(key=canonical_json)
        return sha256_of(content)
