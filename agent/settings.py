"""Everything that one run is told, in one record that is stored with it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from agent.errors import SettingsError
from runs.records import Budget

DEFAULT_IMPLEMENTATION = {"cpu": "xla", "tpu": "pallas_tpu", "cuda": "pallas_gpu"}


class Share(BaseModel):
    """One proposer and how often it is asked: `weight` turns in every cycle."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    weight: int = Field(default=1, ge=1, le=100)


class Settings(BaseModel):
    """The settings of a run.

    Attributes:
        implementation: module to improve; empty takes the target's usual one.
        case: name of the case that steers the search; None takes the op's primary one.
        proposers: who is asked, in this order, each as often as its weight.
        width: proposals a round, asked for in parallel.
        rounds: most rounds.
        patience: rounds without a better screened candidate after which the run stops.
        seed: seeds every random choice of the search; unrelated to the judge's seeds.
        model: any litellm model string; needed by the `llm` proposer.
        base_url: address of an OpenAI-compatible server, where the model is not a provider's own.
        max_tokens: cap on the tokens of one reply.
        request_timeout_s: time limit of one request to the model.
        retries: litellm's own retries of one request.
        price_in, price_out: dollars per million tokens, for a model litellm has no price of.
        promote: how many of the screened candidates are judged at the promote tier.
        stop_at_speed_of_light: fraction of the roofline at which there is nothing left to gain.
        patches: full module texts for the `patch` proposer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    op: str
    implementation: str = ""
    target: str = "cpu"
    case: str | None = None
    proposers: tuple[Share, ...] = (Share(name="rewrite", weight=2), Share(name="tune"))
    width: int = Field(default=2, ge=1, le=64)
    rounds: int = Field(default=8, ge=1, le=10_000)
    patience: int = Field(default=3, ge=1)
    seed: int = 0
    model: str | None = None
    base_url: str | None = None
    temperature: float | None = None
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    max_tokens: int = Field(default=16_000, ge=1)
    request_timeout_s: float = Field(default=600.0, gt=0)
    retries: int = Field(default=2, ge=0, le=10)
    price_in: float | None = Field(default=None, ge=0)
    price_out: float | None = Field(default=None, ge=0)
    budget: Budget = Budget()
    promote: int = Field(default=1, ge=0)
    stop_at_speed_of_light: float = Field(default=0.95, gt=0)
    patches: tuple[str, ...] = ()

    @field_validator("proposers")
    @classmethod
    def _some_proposer(cls, value: tuple[Share, ...]) -> tuple[Share, ...]:
        if not value:
            raise ValueError("a run needs at least one proposer")
        return value

    @model_validator(mode="after")
    def _fits(self) -> Settings:
        names = {share.name for share in self.proposers}
        if "llm" in names and not self.model:
            raise ValueError("the llm proposer needs a model")
        if "patch" in names and not self.patches:
            raise ValueError("the patch proposer needs a file")
        if (self.price_in is None) != (self.price_out is None):
            raise ValueError("give both price_in and price_out, or neither")
        return self

    @property
    def resolved_implementation(self) -> str:
        """The module to improve.

        Raises:
            SettingsError: none was named, and the target has no usual one.
        """
        if self.implementation:
            return self.implementation
        platform = self.target.split(":", 1)[0].split("-", 1)[0]
        try:
            return DEFAULT_IMPLEMENTATION[platform]
        except KeyError:
            raise SettingsError(
                f"target {self.target!r} has no usual implementation; name one"
            ) from None

    @staticmethod
    def parse_proposers(text: str) -> tuple[Share, ...]:
        """Read `llm:2,rewrite` as shares.

        Raises:
            SettingsError: the text is not of that form.
        """
        shares = []
        for part in text.split(","):
            name, colon, weight = part.strip().partition(":")
            weight = weight if colon else "1"
            if not name or not weight.isdecimal() or not 1 <= int(weight) <= 100:
                raise SettingsError(f"{part!r} is not a proposer, optionally with `:weight`")
            shares.append(Share(name=name, weight=int(weight)))
        return tuple(shares)
