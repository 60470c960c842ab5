"""Servers that misbehave: every attempt ends in time, within memory, and as a typed failure."""

from __future__ import annotations

import logging
import threading
import time
import tracemalloc

import pytest

from agent.errors import ModelError
from agent.models import LiteLLMModel, Message, Options, background, bounds
from agent.models.library import load
from tests.agent.openai_server import (
    MOST_SENT,
    Scripted,
    Server,
    behaving,
    serving,
    status,
    text,
    zipped,
)

ASK = (Message("system", "be brief"), Message("user", "hello"))
PROVIDERS = pytest.mark.parametrize("name", ["openai/scripted", "anthropic/claude-sonnet-4-5"])


def ask(server: Server, name: str = "openai/scripted", timeout_s: float | None = None,
        **changes: object) -> str:  # fmt: skip
    base_url = server.url if name.startswith("anthropic/") else server.base_url
    fields = {"base_url": base_url, "max_tokens": 100, "attempt_s": 20.0, "retries": 0}
    options = Options(**{**fields, **changes})  # type: ignore[arg-type]
    return LiteLLMModel(name, options=options).complete(ASK, timeout_s=timeout_s).text


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """litellm's import is not what these tests time."""
    load()
    with serving([text("x")]) as server:
        ask(server)


@PROVIDERS
@pytest.mark.parametrize("manner", ["drip", "drip_headers"])
def test_a_server_that_drips_is_given_up_on(name: str, manner: str) -> None:
    """No single read of it ever takes long."""
    slow = behaving(text("x"), manner)  # type: ignore[arg-type]
    with serving([slow]) as server:
        began = time.monotonic()
        with pytest.raises(ModelError) as failure:
            ask(server, name, attempt_s=0.4)
        assert time.monotonic() - began < 3
        # The connection is closed: nothing goes on costing money behind our back.
        assert server.left.wait(5)
    assert (failure.value.kind, failure.value.billed) == ("timeout", True)


def test_the_whole_request_has_a_limit_as_well() -> None:
    with serving([behaving(text("x"), "drip")]) as server:
        began = time.monotonic()
        with pytest.raises(ModelError) as failure:
            ask(server, attempt_s=0.3, retries=10, timeout_s=1.0)
        assert 0.9 < time.monotonic() - began < 3
        assert server.left.wait(5)
    assert failure.value.kind == "timeout"


def test_a_server_that_says_nothing_times_out_and_may_have_been_paid() -> None:
    with serving([text("late", delay_s=20)]) as server, pytest.raises(ModelError) as failure:
        ask(server, attempt_s=0.3)
    assert (failure.value.kind, failure.value.billed) == ("timeout", True)


@pytest.mark.parametrize(
    "slow",
    [
        text("late", delay_s=20),
        behaving(text("x"), "drip"),
        behaving(text("x"), "drip_headers"),
    ],
)
def test_a_time_out_of_one_attempt_leaves_the_next_its_own_time(slow: Scripted) -> None:
    with serving([slow, text("in time")]) as server:
        assert ask(server, attempt_s=0.4, retries=1) == "in time"
        assert len(server.requests) == 2


def test_without_time_nothing_is_sent() -> None:
    with serving([text("x")]) as server, pytest.raises(ModelError) as failure:
        ask(server, timeout_s=0.0)
    assert server.requests == []
    assert not failure.value.billed


@PROVIDERS
def test_an_endless_body_is_cut_and_not_asked_for_again(name: str) -> None:
    endless = behaving(text("x"), "endless")
    with serving([endless]) as server:
        tracemalloc.start()
        with pytest.raises(ModelError) as failure:
            ask(server, name, retries=1)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert server.left.wait(5)
    assert (failure.value.kind, failure.value.billed) == ("too_large", True)
    assert len(server.requests) == 1
    assert server.sent_bytes < MOST_SENT / 8
    assert peak < 8 * bounds.MOST_BYTES


def test_a_large_error_is_cut_too() -> None:
    with serving([status(500, "x" * (bounds.MOST_BYTES + 1))]) as server:
        with pytest.raises(ModelError) as failure:
            ask(server)
        assert failure.value.kind == "too_large"
        assert len(str(failure.value)) < 400


def test_a_long_reply_within_the_bounds_arrives_whole() -> None:
    whole = "word " * 200_000
    with serving([text(whole)]) as server:
        assert ask(server) == whole


def test_compressed_replies_are_neither_asked_for_nor_read() -> None:
    bomb = zipped(text("0" * 50_000_000))
    with serving([bomb]) as server, pytest.raises(ModelError) as failure:
        ask(server)
    assert failure.value.kind == "malformed"
    assert server.accepted == ["identity"]


@pytest.mark.parametrize(
    "answer",
    [
        Scripted(200, b'{"choices": [{"mess'),
        Scripted(200, b"<html>a proxy's error page</html>"),
        Scripted(200, b"\x00\xff\xfe\x01 binary"),
        Scripted(200, b""),
        Scripted(200, {"hello": "world"}),
        Scripted(200, [1, 2]),
        Scripted(200, {"choices": []}),
        text(5),
        text({"a": 1}),
        text([{"type": "text", "text": "parts"}]),
        Scripted(200, b'data: {"choices": []}\n\ndata: [DONE]\n\n'),
    ],
)
def test_a_success_that_is_no_completion_is_malformed_and_paid(answer: Scripted) -> None:
    with serving([answer]) as server, pytest.raises(ModelError) as failure:
        ask(server)
    assert (failure.value.kind, failure.value.billed) == ("malformed", True)
    assert "Traceback" not in str(failure.value)


@pytest.mark.parametrize("manner", ["cut", "reset"])
def test_a_connection_that_breaks_may_have_been_paid(manner: str) -> None:
    broken = behaving(text("x" * 1000), manner)  # type: ignore[arg-type]
    with serving([broken]) as server, pytest.raises(ModelError) as failure:
        ask(server)
    assert (failure.value.kind, failure.value.billed) == ("connection", True)


def test_a_dropped_connection_is_tried_again() -> None:
    with serving(
        [behaving(text("x"), "cut"), behaving(text("x"), "reset"), text("at last")]
    ) as server:
        assert ask(server, retries=2) == "at last"
    assert len(server.requests) == 3


def test_a_request_that_reached_nobody_costs_nothing() -> None:
    with serving([text("x")]) as server:
        gone = server
    with pytest.raises(ModelError) as failure:
        ask(gone)
    assert (failure.value.kind, failure.value.billed) == ("connection", False)


def test_requests_run_beside_each_other() -> None:
    with serving([text("x", delay_s=0.5)]) as server:
        began = time.monotonic()
        threads = [threading.Thread(target=ask, args=(server,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - began < 1.8
    assert len(server.requests) == 4


def test_work_that_blocks_the_loop_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "GRACE_S", 0.2)
    freed = threading.Event()

    async def deaf() -> None:
        freed.wait(5)

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        background.finish(deaf(), within_s=0.2)
    freed.set()
    assert time.monotonic() - began < 2


def test_nothing_is_logged(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG), serving([status(500, "words of the server")]) as server:
        for name in ("LiteLLM", "LiteLLM Router", "openai", "httpx"):
            assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL)
        with pytest.raises(ModelError):
            ask(server)
    assert "words of the server" not in caplog.text
    said = capfd.readouterr()
    assert said.out + said.err == ""
