"""How requests are made: the same for every model of a run."""

from __future__ import annotations

from dataclasses import dataclass

from agent.models.catalogue import Prices

DEFAULT_CONTEXT_TOKENS = 65_536
"""Window of a model that litellm does not know and nobody described."""


@dataclass(frozen=True)
class Options:
    """Settings of a request.

    Attributes:
        base_url: address of an OpenAI-compatible server. It serves the first model, and the
            fallbacks that name the same provider.
        max_tokens: cap on a reply, its reasoning included.
        attempt_s: time limit of one attempt, to its last byte.
        retries: further attempts with each model, made by litellm after its own back-off.
        prices: for models that litellm has no price of.
        prompt_caching: mark the stable beginning of prompts where the provider wants it marked.
        context_tokens: window of models that litellm does not know; a smaller one than the
            model's own is kept to as well.
    """

    base_url: str | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    max_tokens: int = 16_000
    attempt_s: float = 600.0
    retries: int = 2
    prices: Prices | None = None
    prompt_caching: bool = True
    context_tokens: int | None = None
