"""litellm against a real HTTP server on loopback: prices, errors, retries, fallbacks, caching."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agent.errors import ModelError
from agent.models import LiteLLMModel, Message, Options, Prices, Reply
from agent.models.library import load
from tests.agent.openai_server import Scripted, Server, anthropic, serving, status, text

ASK = (Message("system", "be brief"), Message("user", "hello"))
CHEAP = Prices(2.0, 10.0, 0.5)


@pytest.fixture(autouse=True)
def waits_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """litellm's own back-off, a hundredth as long; what it would have been, in seconds."""
    load()
    from litellm.router_python_host import PythonHost

    waits: list[float] = []

    async def sleep(host: object, seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(seconds / 100)

    monkeypatch.setattr(PythonHost, "sleep", sleep)
    return waits


def model(
    server: Server | str,
    name: str = "openai/scripted",
    fallbacks: Sequence[str] = (),
    **changes: object,
) -> LiteLLMModel:
    base_url = server if isinstance(server, str) else server.base_url
    if name.startswith("anthropic/") and isinstance(server, Server):
        base_url = server.url
    fields = {"base_url": base_url, "max_tokens": 100, "attempt_s": 20.0, "retries": 0}
    return LiteLLMModel(name, fallbacks=fallbacks, options=Options(**{**fields, **changes}))  # type: ignore[arg-type]


def test_completes_and_prices_a_reply() -> None:
    with serving([text("hi there", tokens_in=1000, tokens_out=500)]) as server:
        reply = model(server, prices=CHEAP, temperature=0.5).complete(ASK)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("hi there", 1000, 500)
    assert reply.dollars == pytest.approx(0.007)
    assert (reply.model, reply.cut_off, reply.refusal, reply.lost_tokens) == (
        "openai/scripted", False, "", 0,
    )  # fmt: skip
    (body,) = server.requests
    # A plain request, nothing of litellm's own in it: servers refuse what they do not know.
    assert body == {
        "model": "scripted",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hello"},
        ],
        "max_tokens": 100,
        "temperature": 0.5,
    }


def test_kept_prompt_tokens_are_cheaper() -> None:
    kept = {"prompt_tokens_details": {"cached_tokens": 800}}
    with serving([text("x", tokens_in=1000, tokens_out=100, usage=kept)]) as server:
        reply = model(server, prices=CHEAP).complete(ASK)
    assert reply.tokens_cached == 800
    assert reply.dollars == pytest.approx((200 * 2 + 800 * 0.5 + 100 * 10) / 1e6)


def test_a_cut_off_reply_says_so() -> None:
    with serving([text("hal", finish="length")]) as server:
        assert model(server).complete(ASK).cut_off


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (text(None, refusal="I will not write that."), "I will not write that."),
        (text("half of", finish="content_filter"), "the provider's filter stopped the reply"),
    ],
)
def test_refusals_are_told_apart(answer: Scripted, said: str) -> None:
    with serving([answer]) as server:
        assert model(server).complete(ASK).refusal == said


def test_a_providers_refusal_in_its_own_protocol() -> None:
    with serving([anthropic("", stop="refusal")]) as server:
        assert model(server, "anthropic/claude-sonnet-4-5").complete(ASK).refusal


@pytest.mark.parametrize(
    "answer",
    [
        text("the answer", reasoning_content="```python\nsecret thoughts\n```"),
        text("<think>```python\nsecret thoughts\n```</think>the answer"),
    ],
)
def test_reasoning_is_no_part_of_the_answer(answer: Scripted) -> None:
    with serving([answer]) as server:
        assert model(server).complete(ASK).text == "the answer"


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": -5, "completion_tokens": 10**25},
        {"prompt_tokens": None, "completion_tokens": None},
    ],
)
def test_counts_that_a_server_cannot_mean_are_replaced(usage: dict[str, object]) -> None:
    with serving([text("word " * 50, usage=usage)]) as server:
        reply = model(server, prices=CHEAP).complete(ASK)
    assert 2 <= reply.tokens_in <= 30
    assert 40 <= reply.tokens_out <= 250
    assert reply.dollars == pytest.approx(CHEAP.dollars(reply.tokens_in, reply.tokens_out))


def test_price_is_unknown_for_a_server_of_ones_own() -> None:
    mine = model("http://127.0.0.1:9/v1", "openai/gpt-4o")
    assert not mine.price_known()
    assert mine.worst_case(ASK).dollars is None
    assert not LiteLLMModel("openai/nobody-has-heard-of-it").price_known()


@pytest.mark.parametrize(
    "name", ["claude-opus-4-1", "meta_llama/Llama-3.3-70B-Instruct", "dashscope/qwen-flash"]
)
def test_a_model_that_the_catalogue_has_no_price_of_is_not_free(name: str) -> None:
    # litellm.get_model_info says 0 for each of them.
    assert not LiteLLMModel(name).price_known()


def test_every_model_of_a_chain_needs_a_price() -> None:
    assert LiteLLMModel("gpt-4o", fallbacks=("claude-sonnet-4-5",)).price_known()
    assert not LiteLLMModel("gpt-4o", fallbacks=("openai/nobody",)).price_known()
    given = Options(prices=CHEAP)
    assert LiteLLMModel("gpt-4o", fallbacks=("openai/nobody",), options=given).price_known()


def test_worst_case_counts_bytes_and_every_request_at_its_own_price() -> None:
    def worst(*names: str, retries: int) -> tuple[int, float]:
        options = Options(prices=Prices(1.0, 2.0, 1.0), max_tokens=1000, retries=retries)
        cost = LiteLLMModel(names[0], fallbacks=names[1:], options=options).worst_case(ASK)
        assert cost.dollars is not None
        return cost.tokens, cost.dollars

    tokens, dollars = worst("openai/x", retries=0)
    assert tokens >= 1000 + len("be briefhello")
    assert dollars >= 1000 * 2.0 / 1e6
    assert worst("openai/x", retries=2) == (3 * tokens, pytest.approx(3 * dollars))
    known = worst("gpt-4o", retries=0)[1]
    # With the price of a prompt that goes into the provider's cache, which is the higher one.
    assert known >= (len("be briefhello") * 2.5 + 1000 * 10) / 1e6
    both = worst("openai/x", "gpt-4o", retries=1)
    assert both == (4 * tokens, pytest.approx(2 * (dollars + known)))


def test_marked_prompts_are_bounded_at_the_price_of_keeping_them() -> None:
    options = Options(max_tokens=1, retries=0)
    text = Message("user", "x" * 100_000)
    worst = LiteLLMModel("claude-sonnet-4-5", options=options).worst_case((text,)).dollars
    assert (worst or 0) >= 100_000 * 3.75 / 1e6


def test_a_known_models_reply_costs_what_litellm_says(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"prompt_tokens_details": {"cached_tokens": 600}}
    with serving([text("x", tokens_in=1000, tokens_out=100, usage=kept)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-the-loopback-server")
        reply = LiteLLMModel("gpt-4o", options=Options(retries=0)).complete(ASK)
    assert reply.dollars == pytest.approx((400 * 2.5 + 600 * 1.25 + 100 * 10) / 1e6)


@pytest.mark.parametrize(
    ("code", "kind", "billed"),
    [
        (400, "refused", False),
        (401, "auth", False),
        (403, "auth", False),
        (404, "refused", False),
        (429, "rate_limit", False),
        (500, "server", True),
        (503, "server", True),
    ],
)
def test_errors_are_typed(code: int, kind: str, billed: bool) -> None:
    with serving([status(code)]) as server, pytest.raises(ModelError) as failure:
        model(server).complete(ASK)
    assert (failure.value.kind, failure.value.billed) == (kind, billed)
    assert len(server.requests) == 1
    assert "scripted error" in str(failure.value)


@pytest.mark.parametrize("name", ["openai/scripted", "anthropic/claude-sonnet-4-5", "deepseek/x"])
@pytest.mark.parametrize("retries", [0, 1, 2])
def test_every_provider_makes_as_many_requests_as_the_worst_case_counts(
    name: str, retries: int
) -> None:
    with serving([status(500)]) as server, pytest.raises(ModelError):
        model(server, name, retries=retries).complete(ASK)
    assert len(server.requests) == 1 + retries


def test_fallbacks_are_asked_in_order_and_counted() -> None:
    chain = ("openai/second", "openai/third")
    with serving([status(503)]) as server, pytest.raises(ModelError) as failure:
        model(server, fallbacks=chain, retries=1).complete(ASK)
    assert server.models == ["scripted", "scripted", "second", "second", "third", "third"]
    assert failure.value.kind == "server"
    with serving([status(401), status(500), text("at last")]) as server:
        reply = model(server, fallbacks=chain, prices=CHEAP).complete(ASK)
    assert (reply.text, reply.model) == ("at last", "openai/third")
    # The 401 is billed by nobody; the 500 may be.
    worst = model(server, prices=CHEAP).worst_case(ASK)
    assert (reply.lost_tokens, reply.lost_dollars) == (worst.tokens, pytest.approx(worst.dollars))


def test_a_bad_key_is_not_tried_again() -> None:
    with serving([status(401)]) as server, pytest.raises(ModelError):
        model(server, retries=3).complete(ASK)
    assert len(server.requests) == 1


def test_a_failure_after_one_that_may_be_billed_may_be_billed() -> None:
    with serving([status(500), status(401)]) as server, pytest.raises(ModelError) as failure:
        model(server, retries=1).complete(ASK)
    assert failure.value.billed
    assert len(server.requests) == 2


def test_a_server_that_says_when_to_come_back_is_heeded(waits_s: list[float]) -> None:
    with serving([status(429, retry_after="7"), status(500), text("now")]) as server:
        assert model(server, retries=2).complete(ASK).text == "now"
    assert len(server.requests) == 3
    asked, own = waits_s
    assert 7 <= asked < 9
    assert 0 < own < 7


def test_a_fallback_of_another_provider_is_asked_at_its_own_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving([status(500)]) as mine, serving([anthropic("theirs")]) as theirs:
        monkeypatch.setenv("ANTHROPIC_API_BASE", theirs.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-for-the-loopback-server")
        reply = model(mine, fallbacks=("anthropic/claude-sonnet-4-5",)).complete(ASK)
    assert (reply.text, reply.model) == ("theirs", "anthropic/claude-sonnet-4-5")
    assert (len(mine.requests), len(theirs.requests)) == (1, 1)
    assert "a-key-for" not in "".join(mine.keys)


@pytest.mark.parametrize(
    ("name", "caching", "marked"),
    [
        ("anthropic/claude-sonnet-4-5", True, True),
        ("anthropic/claude-sonnet-4-5", False, False),
        ("openai/claude-behind-a-proxy", True, False),
        ("hosted_vllm/x", True, False),
    ],
)
def test_the_stable_beginning_is_marked_where_the_provider_wants_it(
    name: str, caching: bool, marked: bool
) -> None:
    answer = anthropic("x") if name.startswith("anthropic") else text("x")
    with serving([answer]) as server:
        model(server, name, prompt_caching=caching).complete(ASK)
    (body,) = server.requests
    assert ("cache_control" in str(body)) is marked
    if marked:
        assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" not in str(body["messages"])


def test_windows_and_replies_are_those_of_the_smallest_model() -> None:
    def room(*names: str, **options: object) -> int:
        made = Options(**options)  # type: ignore[arg-type]
        return LiteLLMModel(names[0], fallbacks=names[1:], options=made).room_tokens()

    assert 128_000 - 16_000 - 500 < room("gpt-4o") < 128_000 - 16_000
    assert room("gpt-4o", "claude-sonnet-4-5") == room("gpt-4o")
    assert room("openai/nobody") < 65_536 < room("gpt-4o")
    # A window as small as the cap on replies is shared.
    assert 3000 < room("openai/nobody", context_tokens=8192) < 4096
    assert room("gpt-4o", context_tokens=20_000) < 12_000


def test_a_reply_is_capped_at_what_the_model_can_write() -> None:
    with serving([text("x")]) as server:
        model(server, max_tokens=16_000, context_tokens=8192).complete(ASK)
    assert server.requests[0]["max_tokens"] == 4096


def test_no_model_without_a_provider_or_an_address() -> None:
    assert LiteLLMModel("just-a-name").unreachable() == ("just-a-name",)
    with serving([text("x")]) as server:
        assert model(server, "just-a-name").unreachable() == ()
        assert model(server, "just-a-name").complete(ASK).text == "x"
    assert server.models == ["just-a-name"]


def test_tokens_are_never_more_than_bytes() -> None:
    known = LiteLLMModel("gpt-4o")
    assert known.count_tokens("") == 0
    for sample in ("def f(x):\n    return x\n" * 50, "<|endoftext|>", "\ud800", "é" * 100):
        assert 0 < known.count_tokens(sample) <= len(sample.encode("utf-8", "replace"))


def test_a_reply_of_an_earlier_version_can_be_read() -> None:
    assert Reply(text="x", tokens_in=1, tokens_out=2, dollars=None, cut_off=False).model == ""
