"""Keys stay out of errors, replies, the store, logs and everything that is printed."""

from __future__ import annotations

import base64
import logging
from pathlib import Path
from urllib.parse import quote

import pydantic
import pytest

from agent.errors import ModelError
from agent.models import LiteLLMModel, Message, Options
from agent.models.secrets import scrubbed, without_keys
from agent.run import start
from agent.settings import Settings, Share
from runs.store import RunStore
from tests.agent import toy
from tests.agent.judge import DiaryJudge
from tests.agent.openai_server import serving, status, text
from tests.agent.toy_run import QUICK, install, make_checkout

KEY = "zq7-very/secret+0123456789=="
SPELLINGS = (KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode())
ASK = (Message("system", "be brief"), Message("user", "hello"))


@pytest.fixture(params=["OPENAI_API_KEY", "SOME_OTHER_PROVIDERS_TOKEN", "MY_SECRET"])
def variable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(request.param, KEY)
    return request.param


def test_keys_of_any_provider_are_found_in_any_spelling(variable: str) -> None:
    said = without_keys(f"a {' b '.join(SPELLINGS)} c")
    assert not any(spelling in said for spelling in SPELLINGS)
    assert said.startswith("a ")
    assert said.endswith(" c")


def test_short_and_other_values_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT_KEY", "abc")
    monkeypatch.setenv("HARMLESS", "block_size")
    assert without_keys("abc block_size") == "abc block_size"


def test_scrubbed_messages_are_one_short_line() -> None:
    assert scrubbed("a\n b\t c" + "d" * 1000).startswith("a b cd")
    assert len(scrubbed("d" * 1000)) <= 300


@pytest.mark.parametrize(
    "shape",
    ["sk-proj-abcdef123", "Bearer abcdef123", "AIzaSyabcdefabcdefabcdefabcdef", "gsk_abcdef123",
     "https://me:abcdef123@host/v1"],
)  # fmt: skip
def test_what_looks_like_a_key_goes_as_well(shape: str) -> None:
    assert "abcdef" not in scrubbed(f"denied for {shape}")


def test_a_server_that_sends_the_key_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving([status(401, f"bad key {KEY}"), text(f"your key is {KEY}")]) as server:
        options = Options(base_url=server.base_url, retries=0)
        model = LiteLLMModel("openai/scripted", options=options)
        with pytest.raises(ModelError) as failure:
            model.complete(ASK)
        reply = model.complete(ASK)
    assert server.keys[0] == f"Bearer {KEY}"
    assert "bad key ***" in str(failure.value)
    assert reply.text == "your key is ***"


def test_an_address_with_a_password_is_refused_without_being_shown() -> None:
    for address in (f"https://me:{quote(KEY, safe='')}@host/v1", "https://host/v1?key=abcdef123"):
        with pytest.raises(pydantic.ValidationError) as refusal:
            Settings(op="toy", base_url=address)
        assert "environment" in str(refusal.value)
        assert address not in str(refusal.value)


def test_a_run_leaves_its_key_nowhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """With a server that puts the key into everything that it says."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    install(monkeypatch.setattr)
    faster = toy.SOURCE.replace("jnp.exp(w) * jnp.exp(w)", "jnp.exp(2 * w)")
    script = [
        status(401, f"the key {KEY} is unknown"),
        text(f"I know {KEY}.\n\n```python\n{faster}# {KEY}\n```\n"),
        text(None, refusal=f"not with {KEY}"),
        status(500, KEY),
        text(f"no idea, but here: {KEY}"),
    ]
    home = tmp_path / "home"
    with caplog.at_level(logging.DEBUG), serving(script) as server:
        settings = Settings(
            op="toy", proposers=(Share(name="llm"),), models=("openai/scripted",),
            base_url=server.base_url, retries=0, width=1, rounds=5, patience=5, promote=0,
        )  # fmt: skip
        start(settings, RunStore(home), DiaryJudge(tmp_path / "diary"),
              make_checkout(tmp_path / "checkout"), patience=QUICK)  # fmt: skip
    assert server.keys == [f"Bearer {KEY}"] * 5
    kept = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert any(b"no idea, but here: ***" in data for data in kept.values())
    said = capfd.readouterr()
    everything = [*kept.values(), caplog.text.encode(), said.out.encode(), said.err.encode()]
    for spelling in SPELLINGS:
        assert not any(spelling.encode() in data for data in everything)
