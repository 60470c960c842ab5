"""What goes to a model, what comes back, and what the `llm` proposer needs of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agent.budget import Cost


@dataclass(frozen=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True)
class Reply:
    """A model's answer.

    Attributes:
        text: the answer itself, without the model's reasoning.
        dollars: its price, None where nobody knows it.
        cut_off: the reply ended at the cap on its tokens.
        model: which of the models gave it, as the settings name it.
        tokens_cached: prompt tokens that the provider had kept; `tokens_in` contains them.
        refusal: the model's or its filter's refusal to answer, empty for none.
        lost_tokens, lost_dollars: worst case of earlier attempts of the same request that failed,
            but may be billed all the same.
    """

    text: str
    tokens_in: int
    tokens_out: int
    dollars: float | None
    cut_off: bool = False
    model: str = ""
    tokens_cached: int = 0
    refusal: str = ""
    lost_tokens: int = 0
    lost_dollars: float = 0.0


class ChatModel(Protocol):
    """What the `llm` proposer needs of a model, its fallbacks included."""

    @property
    def name(self) -> str: ...

    def price_known(self) -> bool: ...

    def room_tokens(self) -> int:
        """The most tokens that a prompt may have, by `count_tokens`."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, rather too many than too few."""
        ...

    def worst_case(self, messages: tuple[Message, ...]) -> Cost:
        """The most that a request can cost, its retries and fallbacks included."""
        ...

    def complete(self, messages: tuple[Message, ...], *, timeout_s: float | None = None) -> Reply:
        """Send a request.

        Args:
            timeout_s: time limit of the whole request, retries, waits and fallbacks included.

        Raises:
            ModelError: no usable reply; `billed` says whether it may be paid for all the same.
        """
        ...
