"""What litellm knows of a model without asking anyone: provider, prices, window, reply length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agent.models.library import load

# Prices by the second, character or request cannot be bounded by counting tokens.
_UNCOUNTABLE = ("input_cost_per_second", "output_cost_per_second", "input_cost_per_character",
                "output_cost_per_character", "input_cost_per_request")  # fmt: skip
# Dearer than a plain prompt: a prompt that the provider keeps, and one beyond a threshold.
_PROMPT = ("input_cost_per_token", "cache_creation_input_token_cost")
_WAYS = ("input", "output")
# Names that stand for any server of OpenAI's protocol, which finds a known beginning by itself.
_OPENAI_PROTOCOL = frozenset({"openai", "custom_openai", "openai_like", "hosted_vllm"})
_REPLY = ("output_cost_per_token", "output_cost_per_reasoning_token")


@dataclass(frozen=True)
class Prices:
    """Dollars per million tokens.

    Attributes:
        cached: of prompt tokens that the provider had kept.
    """

    prompt: float
    reply: float
    cached: float

    def dollars(self, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> float:
        fresh = max(0, tokens_in - tokens_cached)
        spent = fresh * self.prompt + tokens_cached * self.cached + tokens_out * self.reply
        return spent / 1e6


@dataclass(frozen=True)
class Entry:
    """What the catalogue says of a model; None for what it does not.

    Attributes:
        worst: the highest price that any part of a prompt or reply can have.
        marks: the provider keeps a prompt's beginning only where it is marked.
    """

    provider: str
    worst: Prices | None = None
    window_tokens: int | None = None
    reply_tokens: int | None = None
    marks: bool = False


@lru_cache(maxsize=64)
def entry(name: str) -> Entry:
    """Look a model string up; one that litellm does not know gives an entry that says nothing."""
    litellm = load()
    try:
        provider = str(litellm.get_llm_provider(name)[1])
    except litellm.exceptions.BadRequestError:
        return Entry(provider="")
    marks = "claude" in name.lower() and provider not in _OPENAI_PROTOCOL
    # litellm would ask a server that may not be there.
    if provider.startswith("ollama"):
        return Entry(provider, marks=marks)
    try:
        info = dict(litellm.get_model_info(name))
    except litellm.exceptions.ModelNotMappedError:
        return Entry(provider, marks=marks)
    # `info` says 0 where the catalogue says nothing of a price.
    listed = litellm.model_cost.get(info.get("key")) or {}
    return Entry(
        provider,
        worst=_worst(listed),
        window_tokens=_count(info.get("max_input_tokens")),
        reply_tokens=_count(info.get("max_output_tokens")),
        marks=marks,
    )


def _worst(listed: dict[str, Any]) -> Prices | None:
    if any(listed.get(name) for name in _UNCOUNTABLE):
        return None
    if not all(isinstance(listed.get(f"{way}_cost_per_token"), int | float) for way in _WAYS):
        return None
    prompt, reply = (
        max(
            float(price)
            for key, price in listed.items()
            if key.startswith(names) and isinstance(price, int | float)
        )
        for names in (_PROMPT, _REPLY)
    )
    return Prices(prompt * 1e6, reply * 1e6, prompt * 1e6)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
