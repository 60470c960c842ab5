"""What Tab offers, asked for as the shells do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.cli import offers
from evaluators.policy import repository_root
from reference_kernels import catalog


@pytest.fixture
def tab(call: Any, environment: dict[str, str]) -> Any:
    """Press Tab in bash after a line."""

    def pressed(line: str) -> list[str]:
        words = f"kernelwright {line}".split(" ")
        asked = {
            "_KERNELWRIGHT_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        environment.update(asked)
        found = call()
        for name in asked:
            environment.pop(name)
        assert found.code == 0
        assert found.stderr == ""
        return found.stdout.split()

    return pressed


def test_verbs_and_flags(tab: Any) -> None:
    assert {"optimize", "runs", "review"} <= set(tab(""))
    assert tab("runs co") == ["compare"]
    assert "--budget-dollars" in tab("optimize rms_norm --bu")
    assert tab("evaluate x.py --tier ") == ["screen", "promote"]


def test_ops_cases_and_implementations(tab: Any) -> None:
    assert tab("optimize ") == list(catalog.names())
    assert tab("ops rms") == ["rms_norm"]
    for op in catalog.names():
        problem = catalog.problem(op)
        shown = [case.name for case in problem.cases if "holdout" not in case.tags]
        assert tab(f"optimize {op} --case ") == shown
        assert sorted(tab(f"evaluate x.py --op {op} --implementation ")) == sorted(
            implementation.name for implementation in problem.implementations
        )
    assert tab("optimize rms_norm --target ") == ["cpu", "tpu", "cuda"]


def test_no_held_out_case_is_ever_offered(tab: Any, tmp_path: Path) -> None:
    offered = set(tab("optimize --case ")) | set(tab("optimize nope --case "))
    assert offered
    held_out = {c.name for op in catalog.names() for c in catalog.problem(op).tagged("holdout")}
    assert held_out
    assert not offered & held_out


def test_a_case_that_is_not_plain_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offers, "LIBRARY", tmp_path)
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "cases.py").write_text(
        'TAGS = ("holdout",)\nCASES = (case("a", "cpu"), case("b", *TAGS), case("c", TAG),\n'
        'case("d", "cpu", "holdout"), case("holdout-e", "cpu"))\n'
    )
    assert offers.case_names("toy") == ["a"]


def test_records(tab: Any, filled: Any) -> None:
    assert tab("resume ") == [filled.run]
    assert tab("runs compare 2026") == [filled.run]
    assert tab("runs compare nothing") == []
    digests = {filled.winner.digest[:12], filled.loser.digest[:12]}
    assert set(tab(f"review {filled.run} --show ")) == digests
    assert set(tab("review 2026 --accept ")) == digests
    assert tab("review 1999 --accept ") == []
    assert tab("promote ") == [filled.winning[:12]]
    assert set(tab("trace ")) == {filled.winning[:12], filled.losing[:12]}


def test_the_home_of_a_flag_and_of_a_config_file(
    tab: Any, filled: Any, home: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    environment["KERNELWRIGHT_HOME"] = str(tmp_path / "elsewhere")
    assert tab("resume ") == []
    assert tab(f"resume --home {home} ") == [filled.run]
    environment.pop("KERNELWRIGHT_HOME")
    config = tmp_path / "config.toml"
    config.write_text(f'[common]\nhome = "{home}"\n')
    environment["KERNELWRIGHT_CONFIG"] = str(config)
    assert tab("resume ") == [filled.run]
    # Nothing but a prompt would show an error.
    config.write_text("[")
    assert tab("resume ") == []


def test_nothing_is_made_where_there_is_no_store(tab: Any, home: Path) -> None:
    assert tab("resume ") == []
    assert not home.exists()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells(shell: str, filled: Any, call: Any, environment: dict[str, str]) -> None:
    environment["_KERNELWRIGHT_COMPLETE"] = f"complete_{shell}"
    environment["_TYPER_COMPLETE_ARGS"] = "kernelwright resume "
    environment["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    found = call()
    assert found.code == 0
    assert filled.run in found.stdout
    assert "rms_norm on cpu" in found.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script(shell: str, call: Any) -> None:
    found = call("completion", shell)
    assert found.code == 0
    assert "_KERNELWRIGHT_COMPLETE=complete_" + shell in found.stdout
    assert call("completion", shell, "--json").json["script"] == found.stdout.rstrip("\n")


def test_tab_loads_nothing_heavy(environment: dict[str, str], filled: Any) -> None:
    heavy = ("jax", "litellm", "langgraph", "docker", "scipy", "rich")
    for line in ("optimize rms_norm --case ", "resume ", "optimize r --implementation "):
        words = f"kernelwright {line}".split(" ")
        found = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "agent.cli"],
            env={
                **os.environ,
                **environment,
                "_KERNELWRIGHT_COMPLETE": "complete_bash",
                "COMP_WORDS": " ".join(words),
                "COMP_CWORD": str(len(words) - 1),
            },
            capture_output=True,
            text=True,
            cwd=repository_root(),
            check=True,
        )
        assert found.stdout.split()
        loaded = {row.rpartition("|")[2].strip() for row in found.stderr.splitlines()}
        assert not loaded & set(heavy)
