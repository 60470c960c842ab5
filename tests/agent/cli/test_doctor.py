"""`doctor`: what it finds, what it makes of a lack, and what it never shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.cli import machine


def _findings(call: Any, *flags: str) -> tuple[int, dict[str, Any]]:
    found = call("doctor", *flags, "--json")
    return found.code, {finding["name"]: finding for finding in found.json["findings"]}


def test_without_docker(call: Any) -> None:
    code, by_name = _findings(call)
    assert code == 3
    assert by_name["python"]["found"]
    assert by_name["jax"]["found"]
    for package in ("xprof", "litellm"):
        assert by_name[package]["detail"][0].isdigit()
    assert not by_name["docker"]["found"]
    assert not by_name["image"]["found"]
    assert {"torch", "triton", "git", "cores", "memory", "scratch", "model"} <= set(by_name)
    # Every lack has its remedy.
    assert all(f["mend"] for f in by_name.values() if not f["found"])


def test_for_a_person(call: Any) -> None:
    shown = call("doctor")
    assert shown.code == 3
    assert "unset DOCKER_HOST" in shown.stdout
    assert shown.stderr == ""


def test_a_garbled_address_is_named(call: Any, environment: dict[str, str]) -> None:
    environment["DOCKER_HOST"] = "garbage"
    _, by_name = _findings(call)
    assert "DOCKER_HOST=garbage" in by_name["docker"]["detail"]


def test_docker_is_not_needed_by_the_other_backend(call: Any, environment: dict[str, str]) -> None:
    environment["KERNELWRIGHT_BACKEND"] = "subprocess"
    code, by_name = _findings(call)
    assert not by_name["docker"]["found"]
    assert not by_name["docker"]["needed"]
    assert code == 0


def test_names_of_keys_and_no_values(
    call: Any, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in machine.os.environ if n.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    environment |= {
        "OPENAI_API_KEY": "sk-HUSH",
        "ACME_API_KEY": "HUSH",
        "EMPTY_API_KEY": "",
        "HF_TOKEN": "HUSH",
    }
    found = call("doctor", "--json")
    assert "HUSH" not in found.stdout
    _, by_name = _findings(call)
    assert by_name["keys"]["detail"] == "ACME_API_KEY, HF_TOKEN, OPENAI_API_KEY"


@pytest.mark.parametrize(
    ("model", "base_url", "lacks"),
    [
        ("anthropic/some-model", "", "ANTHROPIC_API_KEY"),
        ("claude-some-model", "", "ANTHROPIC_API_KEY"),
        ("gpt-some-model", "", "OPENAI_API_KEY"),
        ("anthropic/some-model", "http://localhost:1", None),
        ("ollama/some-model", "", None),
        ("acme/some-model", "", None),
        ("acme/some-model,gpt-some-model", "", "OPENAI_API_KEY"),
    ],
)
def test_the_key_of_the_model(
    model: str, base_url: str, lacks: str | None, call: Any, environment: dict[str, str]
) -> None:
    environment |= {
        "KERNELWRIGHT_MODEL": model,
        "KERNELWRIGHT_BASE_URL": base_url,
        "ACME_API_KEY": "x",
        "ANTHROPIC_API_KEY": "",
        "OPENAI_API_KEY": "",
    }
    _, by_name = _findings(call)
    found = by_name["model"]
    assert found["found"] == (lacks is None)
    assert found["detail"].startswith(model.replace(",", ", "))
    if lacks:
        assert lacks in found["mend"]


def test_the_store(call: Any, home: Path, tmp_path: Path) -> None:
    _, by_name = _findings(call)
    assert by_name["store"]["found"]
    assert str(home) in by_name["store"]["detail"]
    # Looking does not make it.
    assert not home.exists()
    file = tmp_path / "file"
    file.write_text("")
    code, by_name = _findings(call, "--home", str(file / "below"))
    assert code == 3
    assert not by_name["store"]["found"]
    home.mkdir()
    (home / "store.sqlite").write_bytes(b"this is no database, whatever its name says" * 100)
    _, by_name = _findings(call)
    assert not by_name["store"]["found"]


def test_little_room_is_a_lack(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = machine.shutil.disk_usage("/")
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: usage._replace(free=1 << 20))
    _, by_name = _findings(call)
    for name in ("store", "scratch"):
        assert not by_name[name]["found"]
        assert by_name[name]["mend"]
