"""Help, version, start-up time, and the pages that must say what the command line does."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from agent.cli import reference
from evaluators.policy import repository_root

ROOT = repository_root()
VERBS = list(reference.verbs())
SETTING = re.compile(r"KERNELWRIGHT_[A-Z_]+[A-Z]")


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_verb_has_help_json_and_debug(words: tuple[str, ...], call: Any) -> None:
    found = call(*words, "--help")
    assert found.code == 0
    for needed in ("Usage: kernelwright", "--json", "--debug"):
        assert needed in found.stdout
    summary = found.stdout.strip().splitlines()[2].strip()
    assert summary.endswith(".")


def test_alone_it_says_what_to_do_first(call: Any) -> None:
    found = call()
    assert found.code == 0
    assert found.stderr == ""
    named = re.findall(r"^  kernelwright ([a-z ]+?)(?:  | [A-Z-]| rms)", found.stdout, re.M)
    assert named[:3] == ["doctor", "ops", "optimize"]
    assert {tuple(command.split()) for command in named} <= set(VERBS)
    first = call("--json").json["first"]
    assert [step["command"].split()[1] for step in first][:3] == named[:3]


def test_the_help_of_it_all(call: Any) -> None:
    found = call("--help")
    assert found.stdout.startswith("Usage: kernelwright")
    assert "Exit codes" in found.stdout
    # No summary is cut short.
    assert "..." not in found.stdout.replace("[ARGS]...", "")


def test_version(call: Any) -> None:
    assert call("--version").stdout == f"kernelwright {version('kernelwright')}\n"


def test_the_parser_imports_nothing_heavy() -> None:
    heavy = "jax", "docker", "langgraph", "litellm", "scipy", "pydantic", "runs", "evaluators"
    code = f"import agent.cli.main, sys; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert found.stdout.strip() == "[]"


def test_help_takes_less_than_a_second() -> None:
    best = min(_seconds_of_help() for _ in range(3))
    assert best < 1.0


def _seconds_of_help() -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "agent.cli", "--help"], capture_output=True, cwd=ROOT, check=True
    )
    return time.perf_counter() - started


def test_the_console_script_is_installed() -> None:
    script = Path(sys.executable).parent / "kernelwright"
    found = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("kernelwright ")


def test_the_reference_page_is_current() -> None:
    written = (ROOT / "docs" / "cli.md").read_text()
    assert written == reference.page(), "run `make docs`"


def _readme_commands() -> list[str]:
    text = (ROOT / "README.md").read_text() + (ROOT / "AGENTS.md").read_text()
    return sorted(set(re.findall(r"kernelwright ((?:[a-z]+ ?)+)", text)))


def test_commands_in_the_readme_exist() -> None:
    verbs = {" ".join(words) for words in VERBS}
    named = _readme_commands()
    assert any(command.startswith("optimize") for command in named)
    for command in named:
        first_two = command.split()[:2]
        assert first_two[0] in verbs or " ".join(first_two) in verbs, command


def test_every_option_in_the_readme_exists(call: Any) -> None:
    text = (ROOT / "README.md").read_text()
    for line in re.findall(r"^\s*(?:\.venv/bin/)?kernelwright (.+)$", text, re.MULTILINE):
        line = line.split("#")[0].replace("\\", "")
        words = line.split()
        verb = next(v for v in VERBS if tuple(words[: len(v)]) == v)
        known = call(*verb, "--help").stdout
        for option in re.findall(r"--[a-z-]+", line):
            assert option in known, (line, option)


def test_make_targets_in_the_readme_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = (ROOT / "README.md").read_text() + (ROOT / "AGENTS.md").read_text()
    named = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", text, re.MULTILINE))
    assert {name for pair in named for name in pair if name} <= targets


def test_links_in_the_documents_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "AGENTS.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), (page.name, link)


def test_settings_are_documented_and_fewer_than_ten() -> None:
    folders = ("reference_kernels", "sandbox", "evaluators", "runs", "agent")
    read = {
        name
        for folder in folders
        for file in (ROOT / folder).rglob("*.py")
        if not {"testing.py", "testing", "contract"} & {*file.parts}
        for name in SETTING.findall(file.read_text())
    }
    table = re.findall(r"^\| `(KERNELWRIGHT_[A-Z_]+)`", (ROOT / "README.md").read_text(), re.M)
    assert sorted(read) == sorted(table)
    assert len(table) < 10


def test_constraints_name_versions_and_nothing_of_a_machine() -> None:
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line
