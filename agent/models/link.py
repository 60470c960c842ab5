"""One model of a chain: its limits, its prices, and what litellm's router is told of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from agent.models import catalogue, tokens
from agent.models.library import load
from agent.models.options import DEFAULT_CONTEXT_TOKENS, Options

PLACEHOLDER_KEY = "no-key"


class Link:
    """A model with the options of the run.

    Args:
        own_server: `options.base_url` serves it. It may well be called like a provider's model, so
            nothing that litellm knows of that one counts.
    """

    def __init__(self, name: str, options: Options, *, own_server: bool) -> None:
        self.name = name
        self.own_server = own_server
        self._options = options

    @cached_property
    def _entry(self) -> catalogue.Entry:
        found = catalogue.entry(self.name)
        if self.own_server:
            return catalogue.Entry(found.provider, marks=found.marks)
        return found

    @property
    def provider(self) -> str:
        """litellm's name of the provider, empty where the model string names none."""
        return self._entry.provider

    @cached_property
    def prices(self) -> catalogue.Prices | None:
        """The highest prices that may be charged; None where nobody knows them."""
        return self._entry.worst or self._options.prices

    @cached_property
    def window_tokens(self) -> int:
        """Tokens of prompt and reply together."""
        known, told = self._entry.window_tokens, self._options.context_tokens
        given = [size for size in (known, told) if size is not None]
        return min(given, default=DEFAULT_CONTEXT_TOKENS)

    @cached_property
    def reply_tokens(self) -> int:
        """The most tokens of a reply: a small window is shared with the prompt."""
        most = [self._options.max_tokens, max(1, self.window_tokens // 2)]
        return min([*most, *([self._entry.reply_tokens] if self._entry.reply_tokens else [])])

    @property
    def room_tokens(self) -> int:
        """What is left of the window for a prompt of two messages."""
        return self.window_tokens - self.reply_tokens - 2 * tokens.FRAMING

    def worst_dollars(self, tokens_in: int) -> float | None:
        """The most that one attempt can cost."""
        return None if self.prices is None else self.prices.dollars(tokens_in, self.reply_tokens)

    def dollars(self, response: Any, counts: tuple[int, int, int]) -> float | None:
        """What a reply cost.

        Args:
            counts: tokens of the prompt, of the reply, and of the prompt's kept part.
        """
        if self.prices is None:
            return None
        most = self.prices.dollars(*counts)
        if self._entry.worst is None:
            return most
        try:
            spent = float(load().completion_cost(completion_response=response, model=self.name))
        except Exception:
            # litellm raises whatever goes wrong in it; the highest prices are safe.
            return most
        return spent if 0 < spent < float("inf") else most

    def deployment(self, number: int) -> dict[str, Any]:
        """The model as litellm's router wants it."""
        options = self._options
        told: dict[str, Any] = {
            "model": self.name if self.provider else f"openai/{self.name}",
            "max_tokens": self.reply_tokens,
            "temperature": options.temperature,
            "reasoning_effort": options.reasoning_effort,
            "drop_params": True,
        }
        if self.own_server:
            told["api_base"] = options.base_url
            if load().validate_environment(told["model"])["missing_keys"]:
                # Servers of one's own want no key; the client insists on one.
                told["api_key"] = PLACEHOLDER_KEY
        if options.prompt_caching and self._entry.marks:
            told["cache_control_injection_points"] = [{"location": "message", "role": "system"}]
        return {
            "model_name": str(number),
            "litellm_params": {k: v for k, v in told.items() if v is not None},
            "model_info": {"id": str(number)},
        }
