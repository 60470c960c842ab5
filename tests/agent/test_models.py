"""litellm against a real HTTP server on loopback: prices, errors, retries, keys."""

from __future__ import annotations

import pytest

from agent.errors import ModelError
from agent.models import LiteLLMModel, Message, scrubbed
from tests.agent.openai_server import Scripted, serving, status, text

ASK = (Message("system", "be brief"), Message("user", "hello"))


def model(base_url: str, **changes: object) -> LiteLLMModel:
    fields = {"base_url": base_url, "max_tokens": 100, "timeout_s": 20.0, "retries": 0}
    return LiteLLMModel("openai/scripted", **{**fields, **changes})  # type: ignore[arg-type]


def test_completes_and_prices_a_reply() -> None:
    with serving([text("hi there", tokens_in=1000, tokens_out=500)]) as server:
        reply = model(server.base_url, price_in=2.0, price_out=10.0, temperature=0.5).complete(ASK)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("hi there", 1000, 500)
    assert reply.dollars == pytest.approx(0.007)
    assert not reply.cut_off
    (body,) = server.requests
    assert body["model"] == "scripted"
    assert body["temperature"] == 0.5
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert 100 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_a_cut_off_reply_says_so() -> None:
    with serving([text("hal", finish="length")]) as server:
        assert model(server.base_url).complete(ASK).cut_off


def test_price_is_unknown_for_a_server_of_ones_own() -> None:
    mine = LiteLLMModel("openai/gpt-4o", base_url="http://127.0.0.1:9/v1")
    assert not mine.price_known()
    assert mine.worst_case(ASK).dollars is None
    assert not LiteLLMModel("openai/nobody-has-heard-of-it").price_known()


def test_worst_case_counts_bytes_and_every_attempt() -> None:
    priced = LiteLLMModel("x", price_in=1.0, price_out=2.0, max_tokens=1000, retries=2)
    once = LiteLLMModel("x", price_in=1.0, price_out=2.0, max_tokens=1000, retries=0)
    worst, single = priced.worst_case(ASK), once.worst_case(ASK)
    assert single.tokens >= 1000 + len("be briefhello")
    assert worst.tokens == 3 * single.tokens
    assert worst.dollars == pytest.approx(3 * (single.dollars or 0))
    assert (single.dollars or 0) >= 1000 * 2.0 / 1e6


def test_a_known_model_has_a_price_without_the_network() -> None:
    known = LiteLLMModel("gpt-4o", max_tokens=1000, retries=0)
    assert known.price_known()
    assert 0.001 < (known.worst_case(ASK).dollars or 0) < 1


@pytest.mark.parametrize(
    ("code", "kind", "billed"),
    [
        (400, "refused", False),
        (401, "auth", False),
        (404, "refused", False),
        (429, "rate_limit", False),
        (500, "server", True),
        (503, "server", True),
    ],
)
def test_errors_are_typed(code: int, kind: str, billed: bool) -> None:
    with serving([status(code)]) as server, pytest.raises(ModelError) as failure:
        model(server.base_url).complete(ASK)
    assert (failure.value.kind, failure.value.billed) == (kind, billed)
    assert len(server.requests) == 1


def test_retries_are_litellms_own_and_bounded() -> None:
    with serving([status(500), status(500), text("at last")]) as server:
        assert model(server.base_url, retries=2).complete(ASK).text == "at last"
    assert len(server.requests) == 3
    with serving([status(500)]) as server, pytest.raises(ModelError):
        model(server.base_url, retries=1).complete(ASK)
    assert len(server.requests) == 2


def test_a_slow_server_times_out() -> None:
    with serving([text("late", delay_s=3.0)]) as server, pytest.raises(ModelError) as failure:
        model(server.base_url).complete(ASK, timeout_s=0.5)
    assert failure.value.kind == "timeout"
    assert failure.value.billed


def test_no_server_is_a_connection_error() -> None:
    with serving([text("x")]) as server:
        gone = server.base_url
    with pytest.raises(ModelError) as failure:
        model(gone).complete(ASK)
    assert failure.value.kind in {"connection", "server"}


def test_a_reply_that_is_no_completion_is_a_server_error() -> None:
    with serving([Scripted(200, {"hello": "world"})]) as server, pytest.raises(ModelError):
        model(server.base_url).complete(ASK)


def test_keys_stay_out_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "top-secret-0123456789")
    message = "Incorrect API key provided: top-secret-0123456789, or sk-proj-abcdef123"
    with serving([status(401, message)]) as server, pytest.raises(ModelError) as failure:
        model(server.base_url).complete(ASK)
    assert server.keys == ["Bearer top-secret-0123456789"]
    assert "top-secret" not in str(failure.value)
    assert "abcdef" not in str(failure.value)


def test_scrubbed_messages_are_one_short_line() -> None:
    assert scrubbed("a\n b\t c" + "d" * 1000).startswith("a b cd")
    assert len(scrubbed("d" * 1000)) <= 300
