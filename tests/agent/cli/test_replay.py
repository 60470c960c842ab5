"""`runs export` and `replay`, and the search's and the caps' options of `optimize` and `resume`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.recording import read
from runs.store import RunStore
from tests.agent.cli.conftest import Filled

FASTER = {"ratio": 1.1, "low": 1.08, "high": 1.12}


@pytest.fixture
def exported(call: Any, judge_says: Any, tmp_path: Path) -> Path:
    """The file of a small offline run."""
    judge_says("faster", **FASTER)
    ran = call("optimize", "rms_norm", "--proposer", "tune", "--rounds", "1", "--json").json
    file = tmp_path / "run.json"
    found = call("runs", "export", ran["run"], "--out", str(file), "--json")
    assert found.code == 0, found.stderr
    assert found.json["run"] == ran["run"]
    assert found.json["candidates"] == [p.candidate for p in read(file).proposals]
    return file


def test_export_says_how_to_repeat_it(
    call: Any, exported: Path, home: Path, tmp_path: Path
) -> None:
    run = RunStore(home).resolve("run", "2")
    found = call("runs", "export", run[:13], "--out", str(tmp_path / "other.json"))
    assert found.code == 0
    assert "kernelwright replay" in found.stdout
    assert (tmp_path / "other.json").read_bytes() == exported.read_bytes()


def test_a_file_is_replayed(call: Any, exported: Path, home: Path) -> None:
    found = call("replay", str(exported), "--json")
    assert found.code == 0, found.stderr
    recording = read(exported)
    proposals = RunStore(home).proposals(found.json["run"])
    assert [p.candidate for p in proposals] == [p.candidate for p in recording.proposals]
    assert {p.proposer for p in proposals} == {"replay"}
    assert found.json["spent"]["dollars"] == 0


def test_a_run_is_replayed_by_its_id(call: Any, exported: Path, home: Path) -> None:
    run = RunStore(home).resolve("run", "2")
    found = call("replay", run, "--no-judge", "--json")
    assert found.code == 0, found.stderr
    assert found.json["same"] == len(read(exported).proposals)
    assert "come out the same" in call("replay", run, "--no-judge").stdout


def test_another_candidate_than_recorded_is_refused(call: Any, exported: Path) -> None:
    data = json.loads(exported.read_text())
    data["proposals"][0]["candidate"] = "f" * 64
    exported.write_text(json.dumps(data))
    for flags in ((), ("--no-judge",)):
        call("replay", str(exported), *flags).fails(2, "proposal 0", "when it was recorded")


def test_a_replay_wants_a_sandbox(call: Any, exported: Path) -> None:
    call("replay", str(exported), "--backend", "subprocess").fails(2, "--allow-unsafe")


def test_a_resumed_replay_wants_one_too(call: Any, exported: Path) -> None:
    ran = call("replay", str(exported), "--json").json
    call("resume", ran["run"], "--backend", "subprocess").fails(2, "--allow-unsafe")


def test_bad_input(call: Any, tmp_path: Path, filled: Filled) -> None:
    (tmp_path / "bad.json").write_text("{}")
    call("replay", str(tmp_path / "bad.json")).fails(2, "bad.json is no recording")
    call("replay", str(tmp_path / "none.json")).fails(2, "no such file")
    call("replay", "nobody").fails(2, "no run begins with")
    call("runs", "export", "nobody", "--out", str(tmp_path / "x")).fails(2, "no run begins with")
    call("runs", "export", filled.run, "--out", str(tmp_path / "no" / "x")).fails(2, "cannot write")
    call("optimize", "rms_norm", "--proposer", "replay").fails(2, "recording")


def test_search_options_reach_the_run(call: Any, judge_says: Any, home: Path) -> None:
    judge_says("faster", **FASTER)
    ran = call(
        *("optimize", "rms_norm", "--proposer", "tune", "--rounds", "1", "--json"),
        *("--search", "beam", "--beam", "4", "--repairs", "2", "--stop-at-roofline", "0.4"),
    ).json
    settings = RunStore(home).run(ran["run"]).settings
    assert settings["search"] == "beam"
    assert (settings["beam"], settings["repairs"]) == (4, 2)
    assert settings["stop_at_speed_of_light"] == 0.4
    assert ran["why"] == "roofline: at 50 % of the speed of light, 40 % were asked for"


def test_bad_search_options(call: Any) -> None:
    base = ("optimize", "rms_norm")
    call(*base, "--search", "random").fails(2, "--search")
    call(*base, "--beam", "0").fails(2, "--beam")
    call(*base, "--repairs", "99").fails(2, "--repairs")
    call(*base, "--stop-at-roofline", "0").fails(2, "stop_at_speed_of_light")


def test_a_capped_run_goes_on_with_a_higher_cap(call: Any, judge_says: Any) -> None:
    judge_says("slower", ratio=0.9, low=0.8, high=0.95)
    ran = call(
        *("optimize", "rms_norm", "--proposer", "tune", "--budget-candidates", "1", "--json"),
    ).json
    assert ran["why"] == "candidates: 1 of 1 used"
    again = call("resume", ran["run"])
    assert "candidates: 1 of 1 used" in again.stdout
    more = call("resume", ran["run"], "--budget-candidates", "2", "--json").json
    assert (more["why"], more["spent"]["candidates"]) == ("candidates: 2 of 2 used", 2)
    call("resume", ran["run"], "--budget-candidates", "1").fails(2, "are spent already")
