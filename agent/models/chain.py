"""A model with its fallbacks, asked through litellm's router.

The router, and no other of litellm's mechanisms, makes the same number of requests with every
provider: `1 + retries` with each model, one model after the other. `max_retries` is heeded by those
alone that OpenAI's client serves, and `num_retries` adds to it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from agent.budget import Cost
from agent.errors import ModelError
from agent.models import background, catalogue, tokens
from agent.models.bounds import Bounds, bounds_of_request
from agent.models.failures import model_error
from agent.models.library import load
from agent.models.link import Link
from agent.models.messages import Message, Reply
from agent.models.options import Options
from agent.models.reading import answer, counts

WAIT_S = 10.0
"""litellm's longest wait between two attempts, but for a server that asks for a longer one."""


class LiteLLMModel:
    """Any model that litellm reaches, and those to ask when it fails.

    Args:
        name: litellm's model string, e.g. `openai/gpt-5`, `ollama_chat/qwen3`.
        fallbacks: model strings, asked in this order.
    """

    def __init__(
        self, name: str, *, fallbacks: Sequence[str] = (), options: Options | None = None
    ) -> None:
        self._names = (name, *fallbacks)
        self._options = options or Options()
        self._lock = threading.Lock()
        self._made: list[Any] = []
        self._links_made: tuple[Link, ...] = ()

    @property
    def name(self) -> str:
        return self._names[0]

    def price_known(self) -> bool:
        return all(link.prices is not None for link in self._links)

    def unreachable(self) -> tuple[str, ...]:
        """Those of the model strings that name no provider, and have no address either."""
        return tuple(link.name for link in self._links if not link.provider and not link.own_server)

    def room_tokens(self) -> int:
        return min(link.room_tokens for link in self._links)

    def count_tokens(self, text: str) -> int:
        return max(tokens.count(link.name, text) for link in self._links)

    def worst_case(self, messages: tuple[Message, ...]) -> Cost:
        attempts = 1 + self._options.retries
        tokens_in = _most_tokens(messages)
        dollars = [link.worst_dollars(tokens_in) for link in self._links]
        known = [each for each in dollars if each is not None]
        return Cost(
            tokens=attempts * sum(tokens_in + link.reply_tokens for link in self._links),
            dollars=attempts * sum(known) if len(known) == len(dollars) else None,
        )

    def complete(self, messages: tuple[Message, ...], *, timeout_s: float | None = None) -> Reply:
        requests = len(self._names) * (1 + self._options.retries)
        within_s = requests * self._options.attempt_s + (requests - 1) * WAIT_S
        if timeout_s is not None:
            within_s = min(within_s, timeout_s)
        if within_s <= 0:
            raise ModelError("timeout", "no time is left for a request", billed=False)
        bounds = Bounds(attempt_s=min(self._options.attempt_s, within_s))
        router = self._router()
        try:
            response = background.finish(_send(router, messages, bounds), within_s=within_s)
        except TimeoutError:
            raise ModelError(
                "timeout", f"no reply within {within_s:g} s", billed=bounds.may_be_billed
            ) from None
        except Exception as error:
            # The clients that litellm uses raise errors of their own, now and then a LookupError.
            raise model_error(error, bounds) from None
        return self._reply(response, messages, bounds)

    def _reply(self, response: Any, messages: tuple[Message, ...], bounds: Bounds) -> Reply:
        answered = answer(response)
        link = self._links[answered.link if answered.link < len(self._links) else 0]
        found = counts(
            response,
            tokens_in=sum(tokens.count(link.name, m.content) for m in messages),
            tokens_out=tokens.count(link.name, answered.text),
        )
        tokens_in = _most_tokens(messages)
        worst = [link.worst_dollars(tokens_in) or 0.0 for link in self._links]
        lost = max(0, bounds.made - bounds.unbilled - 1)
        return Reply(
            text=answered.text,
            tokens_in=found[0],
            tokens_out=found[1],
            dollars=link.dollars(response, found),
            cut_off=answered.cut_off,
            model=link.name,
            tokens_cached=found[2],
            refusal=answered.refusal,
            lost_tokens=lost * (tokens_in + max(each.reply_tokens for each in self._links)),
            lost_dollars=lost * max(worst),
        )

    @property
    def _links(self) -> tuple[Link, ...]:
        with self._lock:
            if not self._links_made:
                first = catalogue.entry(self.name).provider
                self._links_made = tuple(
                    Link(
                        name,
                        self._options,
                        own_server=self._options.base_url is not None
                        and catalogue.entry(name).provider == first,
                    )
                    for name in self._names
                )
            return self._links_made

    def _router(self) -> Any:
        links = self._links
        with self._lock:
            if not self._made:
                others = [str(number) for number in range(1, len(links))]
                self._made.append(
                    load().Router(
                        model_list=[link.deployment(n) for n, link in enumerate(links)],
                        num_retries=self._options.retries,
                        fallbacks=[{"0": others}] if others else [],
                        max_fallbacks=len(links),
                        # One deployment a model: a pause would only turn requests down.
                        disable_cooldowns=True,
                    )
                )
            return self._made[0]


async def _send(router: Any, messages: tuple[Message, ...], bounds: Bounds) -> Any:
    bounds_of_request.set(bounds)
    return await router.acompletion(
        model="0",
        messages=[{"role": m.role, "content": m.content} for m in messages],
        timeout=bounds.attempt_s,
    )


def _most_tokens(messages: tuple[Message, ...]) -> int:
    return sum(tokens.most(m.content) + tokens.FRAMING for m in messages)
