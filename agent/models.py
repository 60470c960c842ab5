"""Language models. The only module that knows litellm.

litellm is imported at the first use (it takes seconds) and told to look nothing up on the network.
Keys stay in the environment: nothing here reads, logs or returns one.
"""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

from agent.budget import Cost
from agent.errors import ModelError

PLACEHOLDER_KEY = "no-key"
MESSAGE_CHARACTERS = 300
FRAMING_TOKENS = 64
"""Tokens that a chat format adds to a message, at most."""

_READ_ONLY = r"Items? .* on TypedDict class .* using the `ReadOnly` qualifier"
_REFUSED_UNBILLED = {400: "refused", 401: "auth", 403: "auth", 404: "refused", 413: "refused",
                     422: "refused", 429: "rate_limit"}  # fmt: skip


@dataclass(frozen=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True)
class Reply:
    """A model's answer.

    Attributes:
        dollars: its price, None where nobody knows it.
        cut_off: the reply ended at the cap on its tokens.
    """

    text: str
    tokens_in: int
    tokens_out: int
    dollars: float | None
    cut_off: bool = False


class ChatModel(Protocol):
    """What the `llm` proposer needs of a model."""

    @property
    def name(self) -> str: ...

    def price_known(self) -> bool: ...

    def worst_case(self, messages: tuple[Message, ...]) -> Cost:
        """The most that a request can cost, its retries included."""
        ...

    def complete(self, messages: tuple[Message, ...], *, timeout_s: float | None = None) -> Reply:
        """Send a request.

        Raises:
            ModelError: no usable reply; `billed` says whether it may be paid for all the same.
        """
        ...


class LiteLLMModel:
    """Any model that litellm reaches.

    Args:
        name: litellm's model string, e.g. `openai/gpt-5`, `ollama/qwen3`.
        base_url: address of an OpenAI-compatible server.
        max_tokens: cap on a reply.
        timeout_s: time limit of one attempt.
        retries: further attempts that litellm's client makes by itself.
        price_in, price_out: dollars per million tokens; they go before litellm's own prices.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        temperature: float | None = None,
        reasoning_effort: str | None = None,
        max_tokens: int = 16_000,
        timeout_s: float = 600.0,
        retries: int = 2,
        price_in: float | None = None,
        price_out: float | None = None,
    ) -> None:
        self._name = name
        self._base_url = base_url
        self._temperature = temperature
        self._reasoning_effort = reasoning_effort
        self._max_tokens = max_tokens
        self._timeout_s = timeout_s
        self._retries = retries
        self._given = None if price_in is None or price_out is None else (price_in, price_out)

    @property
    def name(self) -> str:
        return self._name

    def price_known(self) -> bool:
        return self._prices() is not None

    def _prices(self) -> tuple[float, float] | None:
        """Dollars per million tokens of (prompt, reply)."""
        if self._given is not None:
            return self._given
        if self._base_url is not None:
            # A server of one's own may well call its model like a provider's.
            return None
        litellm = _litellm()
        try:
            info = litellm.get_model_info(self._name)
        except litellm.exceptions.ModelNotMappedError:
            return None
        prices = [
            max((v for k, v in info.items() if k.startswith(key) and isinstance(v, int | float)),
                default=None)
            for key in ("input_cost_per_token", "output_cost_per_token")
        ]  # fmt: skip
        if prices[0] is None or prices[1] is None:
            return None
        return prices[0] * 1e6, prices[1] * 1e6

    def _dollars(self, tokens_in: int, tokens_out: int) -> float | None:
        prices = self._prices()
        if prices is None:
            return None
        return (tokens_in * prices[0] + tokens_out * prices[1]) / 1e6

    def worst_case(self, messages: tuple[Message, ...]) -> Cost:
        """No tokeniser makes more tokens of a text than it has bytes."""
        tokens_in = sum(len(m.content.encode()) + FRAMING_TOKENS for m in messages)
        attempts = 1 + self._retries
        dollars = self._dollars(tokens_in, self._max_tokens)
        return Cost(
            tokens=attempts * (tokens_in + self._max_tokens),
            dollars=None if dollars is None else attempts * dollars,
        )

    def complete(self, messages: tuple[Message, ...], *, timeout_s: float | None = None) -> Reply:
        litellm = _litellm()
        options: dict[str, Any] = {
            "temperature": self._temperature,
            "reasoning_effort": self._reasoning_effort,
        }
        options = {name: value for name, value in options.items() if value is not None}
        if self._base_url is not None:
            options["base_url"] = self._base_url
            if litellm.validate_environment(self._name)["missing_keys"]:
                # Servers of one's own want no key; the client insists on one.
                options["api_key"] = PLACEHOLDER_KEY
        import openai

        try:
            response = litellm.completion(
                model=self._name,
                messages=[{"role": m.role, "content": m.content} for m in messages],
                max_tokens=self._max_tokens,
                timeout=min(self._timeout_s, timeout_s or self._timeout_s),
                # Not num_retries: it multiplies with the client's own, so that 2 makes 5 requests.
                max_retries=self._retries,
                drop_params=True,
                **options,
            )
        except openai.OpenAIError as error:
            raise _model_error(error) from None
        return self._reply(response)

    def _reply(self, response: Any) -> Reply:
        try:
            choice = response.choices[0]
            text = choice.message.content or ""
            usage = response.usage
            tokens_in, tokens_out = int(usage.prompt_tokens), int(usage.completion_tokens)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise ModelError("server", "the reply is no chat completion", billed=True) from error
        return Reply(
            text=text,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            dollars=self._dollars(tokens_in, tokens_out),
            cut_off=choice.finish_reason == "length",
        )


def _litellm() -> ModuleType:
    """litellm, imported so that it stays off the network and quiet."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_OFFLINE_MODE"] = "true"
    os.environ.setdefault("LITELLM_LOG", "ERROR")
    # litellm builds many of its classes at the first request, and pydantic warns about them then.
    warnings.filterwarnings("ignore", message=_READ_ONLY, category=UserWarning)
    import litellm

    litellm.suppress_debug_info = True
    return litellm


def _model_error(error: Exception) -> ModelError:
    status = getattr(error, "status_code", None)
    text = scrubbed(str(error))
    name = type(error).__name__
    if "Timeout" in name:
        return ModelError("timeout", text, billed=True)
    if status in _REFUSED_UNBILLED:
        return ModelError(_REFUSED_UNBILLED[status], text, billed=False)
    if "Connection" in name:
        return ModelError("connection", text, billed=True)
    return ModelError("server", text, billed=True)


def scrubbed(text: str) -> str:
    """An error message without anything that looks like a key, on one line, cut to size."""
    for name, value in os.environ.items():
        if len(value) >= 8 and re.search(r"KEY|TOKEN|SECRET|PASSWORD", name):
            text = text.replace(value, "***")
    text = re.sub(r"\b(sk|pk|key|Bearer)[-_ ][\w*.\-]{4,}", "***", text)
    return " ".join(text.split())[:MESSAGE_CHARACTERS]
