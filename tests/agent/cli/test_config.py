"""Config files: what they may say, who wins, and what is said when they are wrong."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from agent.cli import config_file, tree
from agent.cli.main import app
from evaluators.policy import repository_root

COMMAND: Any = typer.main.get_command(app)


@pytest.fixture
def write(tmp_path: Path, environment: dict[str, str]) -> Any:
    """Write the config file that is read."""

    def written(text: str) -> Path:
        path = tmp_path / "kernelwright.toml"
        path.write_text(text)
        environment["KERNELWRIGHT_CONFIG"] = str(path)
        return path

    return written


def _setting(shown: Any, name: str, section: str = "common") -> dict[str, Any]:
    [found] = [s for s in shown["settings"] if (s["section"], s["name"]) == (section, name)]
    return found


def test_flag_then_environment_then_file_then_default(
    call: Any, write: Any, environment: dict[str, str]
) -> None:
    line = ("config", "show", "optimize", "rms_norm")

    def model(*flags: str) -> tuple[Any, str]:
        found = _setting(call(*line, *flags, "--json").json, "model", "optimize")
        return found["value"], found["source"]

    assert model() == ([], "default")
    path = write('[optimize]\nmodel = "of/file"\n')
    assert model() == (["of/file"], "file")
    shown = _setting(call(*line, "--json").json, "model", "optimize")
    assert shown["origin"] == str(path)
    environment["KERNELWRIGHT_MODEL"] = "of/environment"
    assert model() == (["of/environment"], "env")
    assert model("--model", "of/flag") == (["of/flag"], "flag")


def test_a_run_takes_what_the_file_says(
    call: Any, write: Any, judge_says: Any, tmp_path: Path
) -> None:
    judge_says("slower", ratio=0.9, low=0.8, high=0.95)
    write(
        '[common]\nbackend = "subprocess"\n[optimize]\nproposer = ["tune"]\nrounds = 1\nseed = 5\n'
        "width = 3\nbudget-candidates = 2\n"
    )
    assert call("optimize", "rms_norm", "--seed", "9").code == 1
    [run] = [r["run"] for r in call("runs", "list", "--json").json["runs"]]
    assert run["settings"]["proposers"] == [{"name": "tune", "weight": 1}]
    assert (run["settings"]["seed"], run["settings"]["width"]) == (9, 3)
    assert run["budget"]["candidates"] == 2


def test_a_verb_wins_over_common_and_the_checkout_over_the_user(tmp_path: Path) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text('[common]\nhome = "a"\n[resume]\nhome = "b"\n')
    second.write_text('[common]\nhome = "c"\nquiet = true\n')
    files = [f for path in (first, second) for f in config_file.load(COMMAND, path)]
    made = config_file.default_map(COMMAND, files, {})
    assert made["optimize"]["home"] == str(tmp_path / "a")
    assert made["resume"]["home"] == str(tmp_path / "b")
    assert made["resume"]["quiet"] is True
    # A verb that has no such option is not given it.
    assert "quiet" not in made["runs"]["list"]
    assert made["runs"]["list"]["home"] == str(tmp_path / "a")


def test_where_files_are_looked_for(call: Any, environment: dict[str, str], tmp_path: Path) -> None:
    environment.pop("KERNELWRIGHT_CONFIG")
    environment["XDG_CONFIG_HOME"] = str(tmp_path)
    found = call("config", "path", "--json").json["files"]
    assert Path(found[0]["path"]).name == "kernelwright.toml"
    assert found[1] == {"path": f"{tmp_path}/kernelwright/config.toml", "exists": False}
    (tmp_path / "kernelwright").mkdir()
    (tmp_path / "kernelwright" / "config.toml").write_text('[evaluate]\ntier = "promote"\n')
    if not found[0]["exists"]:
        shown = call("config", "show", "--json").json
        assert _setting(shown, "tier", "evaluate")["value"] == "promote"
    named = call("--config", "/dev/null", "config", "path", "--json").json["files"]
    assert named == [{"path": "/dev/null", "exists": True}]


WRONG = [
    ("model = 'm'", "model stands in no section"),
    ("[common]\nop = 'rms_norm'", "[common] has no key 'op'"),
    ("[optimise]\nseed = 1", "no verb [optimise]"),
    ("[optimize]\nsede = 1", "[optimize] has no key 'sede'; it has: "),
    ("[optimize]\nwidth = 'two'", "[optimize] width needs a whole number, not a string"),
    ("[optimize]\nwidth = true", "width needs a whole number, not true or false"),
    ("[optimize]\nwidth = 0", "[optimize] width: "),
    ("[optimize]\nbudget_dollars = '5'", "budget_dollars needs a number"),
    ("[optimize]\nbudget_dollars = inf", "finite"),
    ("[optimize]\nproposer = 1", "proposer needs a string, or a list of such, not a whole"),
    ("[optimize]\nproposer = [1]", "proposer needs a string, or a list of such"),
    ("[optimize]\nbackend = 'chroot'", "[optimize] backend: "),
    ("[optimize]\nquiet = 1", "quiet needs true or false"),
    ("[optimize]\njson = true", "each time anew"),
    ("[optimize]\nallow-unsafe = true", "each time anew"),
    ("[review]\naccept = 'abc'", "each time anew"),
    ("[optimize]\nbudget-wall-s = 1\nbudget_wall_s = 2", "budget_wall_s twice"),
    ("[runs]\nlimit = 3", "[runs] has no 'limit'"),
    ("[runs.frob]\nlimit = 3", "[runs] has no 'frob'"),
    ("[runs.list]\nlimit = 0", "[runs.list] limit: "),
    ("[optimize", "is not TOML"),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=[text for text, _ in WRONG])
def test_a_wrong_file_is_one_line_that_names_it(
    text: str, says: str, call: Any, write: Any
) -> None:
    path = write(text)
    for verb in (("runs", "list"), ("config", "show")):
        call(*verb).fails(2, str(path), says)
    assert call("config", "path").code == 0
    found = call("doctor", "--json")
    assert found.code == 3
    [config] = [f for f in found.json["findings"] if f["name"] == "config"]
    assert says in config["detail"]


@pytest.mark.parametrize(
    "text",
    [
        "OPENAI_API_KEY = 'HUSH'",
        "[common]\napi_key = 'HUSH'",
        "[optimize]\nanthropic-api-key = 'HUSH'",
        "[optimize]\nmodel = 'sk-HUSH'",
        "[optimize]\nbase_url = 'https://me:HUSH@host/v1'",
        "[optimize]\nproposer = ['tune', 'sk-HUSH']",
    ],
)
def test_a_key_is_refused_and_not_repeated(text: str, call: Any, write: Any) -> None:
    path = write(text)
    found = call("runs", "list")
    found.fails(2, str(path), "environment")
    assert "HUSH" not in found.stderr


def test_a_budget_of_tokens_is_no_key(call: Any, write: Any) -> None:
    write("[optimize]\nbudget_tokens = 1000\n")
    assert call("runs", "list").code == 0


def test_the_documented_file_is_a_good_one(call: Any, write: Any) -> None:
    page = (repository_root() / "docs" / "configuration.md").read_text()
    [example] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    path = write(example)
    shown = call("config", "show", "--json").json
    assert shown["files"] == [str(path)]
    assert _setting(shown, "budget_dollars", "optimize")["value"] == 5


def test_a_named_patch_is_not_left_out_for_configured_proposers(
    call: Any, write: Any, judge_says: Any, tmp_path: Path
) -> None:
    judge = judge_says("wrong")
    write('[optimize]\nproposer = ["tune"]\n')
    mine = tmp_path / "mine.py"
    mine.write_text(
        f"{(repository_root() / 'reference_kernels/rms_norm/xla.py').read_text()}\nEXTRA = 1\n"
    )
    call("optimize", "rms_norm", "--rounds", "1", "--patch", str(mine))
    assert any("EXTRA" in asked["candidate"].files["xla.py"] for asked in judge.asked)


def test_files_that_cannot_be_read(call: Any, environment: dict[str, str], tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    for path, says in ((binary, "UTF-8"), (tmp_path, "directory"), (tmp_path / "none", "No such")):
        environment["KERNELWRIGHT_CONFIG"] = str(path)
        call("runs", "list").fails(2, str(path), says)


def test_show_tells_what_every_verb_would_take(call: Any, environment: dict[str, str]) -> None:
    shown = call("config", "show", "--json").json["settings"]
    home = next(s for s in shown if s["name"] == "home")
    assert home["section"] == "common"
    assert home["source"] == "env"
    assert home["origin"] == "KERNELWRIGHT_HOME"
    sections = {s["section"] for s in shown}
    assert {"common", "optimize", "runs.list"} <= sections
    settable = {
        (".".join(words), name)
        for words, leaf in tree.leaves(COMMAND)
        for name in tree.settings(leaf)
        if name not in config_file.IN_COMMON
    }
    assert settable <= {(s["section"], s["name"]) for s in shown}
    assert "KERNELWRIGHT_HOME" in call("config", "show").stdout
    call("config", "show", "frobnicate").fails(2, "frobnicate")
    assert os.environ.get("KERNELWRIGHT_HOME") != environment["KERNELWRIGHT_HOME"]
