"""Take a response of litellm's apart. Whatever a server put into it is looked at first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent.errors import ModelError
from agent.models.secrets import scrubbed, without_keys

MOST_TOKENS = 1_000_000_000
FILTERED = "the provider's filter stopped the reply"


@dataclass(frozen=True)
class Answered:
    """The answer itself; `link` is the number of the model that gave it."""

    text: str
    refusal: str
    cut_off: bool
    link: int


def answer(response: Any) -> Answered:
    """The answer of a chat completion, without the model's reasoning and without keys.

    Raises:
        ModelError: it is no chat completion.
    """
    try:
        choice = response.choices[0]
        message, finish = choice.message, choice.finish_reason
        content = message.content if message.content is not None else ""
    except (AttributeError, IndexError, TypeError) as error:
        raise ModelError("malformed", "the reply is no chat completion", billed=True) from error
    if not isinstance(content, str):
        raise ModelError("malformed", "the reply's content is no text", billed=True)
    refusal = getattr(message, "refusal", None)
    if not refusal and finish == "content_filter":
        refusal = FILTERED
    hidden = getattr(response, "_hidden_params", None) or {}
    number = str(hidden.get("model_id"))
    return Answered(
        text=without_keys(content),
        refusal=scrubbed(str(refusal or "")),
        cut_off=finish == "length",
        link=int(number) if number.isdecimal() else 0,
    )


def counts(response: Any, *, tokens_in: int, tokens_out: int) -> tuple[int, int, int]:
    """Tokens of the prompt, of the reply, and of the part of the prompt that was kept.

    Args:
        tokens_in, tokens_out: our own counts, for what the server leaves out or cannot mean.
    """
    usage = getattr(response, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    prompt = _sane(getattr(usage, "prompt_tokens", None), 1) or tokens_in
    reply = _sane(getattr(usage, "completion_tokens", None), 1) or tokens_out
    cached = _sane(getattr(details, "cached_tokens", None), 0) or 0
    return prompt, reply, min(cached, prompt)


def _sane(value: Any, least: int) -> int | None:
    return value if isinstance(value, int) and least <= value <= MOST_TOKENS else None
