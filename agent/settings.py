"""Everything that one run is told, in one record that is stored with it."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

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
        models: litellm model strings, asked in turn; the `llm` proposer needs one.
        fallbacks: model strings to ask, in this order, when the one whose turn it is fails.
        base_url: address of an OpenAI-compatible server. It serves the first model, and the others
            that name the same provider.
        max_tokens: cap on the tokens of one reply, its reasoning included.
        request_timeout_s: time limit of one attempt at a request, to the last byte.
        retries: further attempts with each model, made by litellm.
        price_in, price_out: dollars per million tokens, for models litellm has no price of.
        price_cached: the same for prompt tokens that the provider had kept; None means `price_in`.
        prompt_caching: mark the stable beginning of prompts where the provider wants it marked.
        context_tokens: window of a model that litellm does not know.
        promote: how many of the screened candidates are judged at the promote tier.
        stop_at_speed_of_light: fraction of the roofline at which there is nothing left to gain.
        search: `greedy` builds on the one best candidate, `beam` on the best few.
        beam: how many those few are.
        repairs: most follow-ups of one proposal that failed, each told the compiler's log.
        recording: digest of the recording that the `replay` proposer repeats.
        patches: full module texts for the `patch` proposer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    op: str
    implementation: str = ""
    target: str = "cpu"
    case: str | None = None
    proposers: tuple[Share, ...] = (Share(name="rewrite", weight=2), Share(name="tune"))
    width: int = Field(default=2, ge=1, le=64)
    rounds: int = Field(default=8, ge=1, le=10_000)
    patience: int = Field(default=3, ge=1)
    seed: int = 0
    models: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    base_url: str | None = None
    temperature: float | None = None
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    max_tokens: int = Field(default=16_000, ge=1)
    request_timeout_s: float = Field(default=600.0, gt=0)
    retries: int = Field(default=2, ge=0, le=10)
    price_in: float | None = Field(default=None, ge=0)
    price_out: float | None = Field(default=None, ge=0)
    price_cached: float | None = Field(default=None, ge=0)
    prompt_caching: bool = True
    context_tokens: int | None = Field(default=None, ge=1024)
    budget: Budget = Budget()
    promote: int = Field(default=1, ge=0)
    stop_at_speed_of_light: float = Field(default=0.95, gt=0)
    search: Literal["greedy", "beam"] = "greedy"
    beam: int = Field(default=3, ge=1, le=64)
    repairs: int = Field(default=1, ge=0, le=10)
    recording: str | None = None
    patches: tuple[str, ...] = ()

    @field_validator("proposers")
    @classmethod
    def _some_proposer(cls, value: tuple[Share, ...]) -> tuple[Share, ...]:
        if not value:
            raise ValueError("a run needs at least one proposer")
        return value

    @model_validator(mode="before")
    @classmethod
    def _one_model(cls, values: Any) -> Any:
        """Runs of earlier versions have `model`, one string or nothing."""
        if isinstance(values, dict) and "model" in values:
            values = dict(values)
            one = values.pop("model")
            if one is not None:
                values.setdefault("models", (one,))
        return values

    @field_validator("models", "fallbacks")
    @classmethod
    def _named(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not name or name != "".join(name.split()) for name in value):
            raise ValueError("a model's name has no blanks and is not empty")
        return value

    @field_validator("base_url")
    @classmethod
    def _no_secret(cls, value: str | None) -> str | None:
        # Settings are stored and shown.
        if value is not None:
            parts = urlsplit(value)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("base_url is an address such as http://127.0.0.1:8000/v1")
            if parts.username or parts.password or parts.query:
                raise ValueError("base_url holds no password: put keys into the environment")
        return value

    @model_validator(mode="after")
    def _fits(self) -> Settings:
        names = {share.name for share in self.proposers}
        if "llm" in names and not self.models:
            raise ValueError("the llm proposer needs a model")
        if "patch" in names and not self.patches:
            raise ValueError("the patch proposer needs a file")
        if ("replay" in names) != (self.recording is not None):
            raise ValueError("the replay proposer needs a recording: see `kernelwright replay`")
        if "replay" in names and len(names) > 1:
            raise ValueError("the replay proposer wants a run to itself")
        if (self.price_in is None) != (self.price_out is None):
            raise ValueError("give both price_in and price_out, or neither")
        if self.price_cached is not None and self.price_cached > (self.price_in or 0):
            raise ValueError("price_cached is no higher than price_in, and needs it")
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
