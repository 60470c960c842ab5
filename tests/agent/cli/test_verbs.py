"""Every verb with good input; the judge is canned, everything else is real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.cli import review, wiring
from evaluators.policy import repository_root
from reference_kernels import catalog
from runs import review as decisions
from runs import rollback as rollbacks
from runs.errors import ChangedIncumbentError, ChangedSinceError
from runs.store import RunStore

FASTER = {"ratio": 1.1, "low": 1.08, "high": 1.12}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A file whose program is not the shipped one."""
    file = tmp_path / "mine.py"
    text = (repository_root() / "reference_kernels/rms_norm/xla.py").read_text()
    file.write_text(f"{text}\nEXTRA = 1\n")
    return file


def test_ops(call: Any) -> None:
    listed = call("ops", "--json").json["ops"]
    assert [op["name"] for op in listed] == list(catalog.names())
    one = call("ops", "rms_norm", "--json").json["ops"][0]
    problem = catalog.problem("rms_norm")
    assert [case["name"] for case in one["cases"]] == [case.name for case in problem.cases]
    assert {"xla", "plain"} <= {i["name"] for i in one["implementations"]}
    assert one["entries"] == [entry.name for entry in problem.entries]
    text = call("ops", "rms_norm").stdout
    assert all(case.name in text for case in problem.cases)
    assert "rms_norm" in call("ops").stdout


@pytest.mark.parametrize(
    ("status", "code"),
    [("faster", 0), ("unmeasured", 0), ("slower", 1), ("no_gain", 1), ("wrong", 1)],
)
def test_evaluate_says_by_its_code_how_it_went(
    status: str, code: int, call: Any, judge_says: Any, module: Path, home: Path
) -> None:
    numbers = FASTER if status == "faster" else {}
    judge = judge_says(status, **numbers)
    found = call("evaluate", str(module), "--op", "rms_norm", "--json")
    assert found.code == code
    assert found.json["status"] == status
    kept = RunStore(home).verdict(found.json["verdict"])
    assert kept.status == status
    assert kept.candidate == judge.asked[0]["candidate"].digest
    assert judge.asked[0]["candidate"].files == {"xla.py": module.read_text()}
    assert judge.asked[0]["tier"] == "screen"


def test_evaluate_for_a_person(call: Any, judge_says: Any, module: Path) -> None:
    judge_says("faster", **FASTER)
    found = call("evaluate", str(module), "--op", "rms_norm", "--tier", "promote")
    assert found.code == 0
    assert "faster x1.100 [1.080, 1.120]" in found.stdout
    assert "kernelwright promote" in found.stdout
    assert "\x1b" not in found.stdout
    assert [line.split("] ")[1] for line in found.stderr.splitlines()] == [
        "rms_norm/xla",
        "build",
        "timing",
    ]


def test_evaluate_warns_that_a_subprocess_is_no_boundary(
    call: Any, judge_says: Any, module: Path
) -> None:
    judge_says("wrong")
    found = call("evaluate", str(module), "--op", "rms_norm", "--backend", "subprocess")
    assert "no security boundary" in found.stderr


def test_optimize_finds_and_says_where_to_look_next(
    call: Any, judge_says: Any, module: Path
) -> None:
    judge_says("faster", **FASTER)
    found = call("optimize", "rms_norm", "--patch", str(module), "--rounds", "1")
    assert found.code == 0, found.stderr
    assert "+EXTRA = 1" in found.stdout
    assert "kernelwright review" in found.stdout
    assert "kernelwright promote" in found.stdout
    assert "steered by" in found.stderr
    assert not any("Traceback" in line for line in found.stderr.splitlines())


def test_optimize_then_review_ends_the_run(
    call: Any, judge_says: Any, module: Path, home: Path
) -> None:
    judge_says("faster", **FASTER)
    words = ["optimize", "rms_norm", "--patch", str(module), "--rounds", "1", "--json"]
    ended = call(*words).json
    assert ended["status"] == "awaiting_review"
    [winner] = ended["promotable"]
    assert ended["candidates"][0]["candidate"] == winner
    listed = call("runs", "list", "--json").json["runs"]
    assert [run["state"] for run in listed] == ["stopped"]
    rejected = call("review", ended["run"], "--reject", winner, "--reason", "ugly", "--json")
    assert rejected.code == 0
    assert rejected.json["promotion"]["decision"] == "rejected"
    assert rejected.json["promotion"]["reason"] == "ugly"
    listed = call("runs", "list", "--json").json["runs"]
    assert [run["state"] for run in listed] == ["finished"]


def test_optimize_that_finds_nothing_is_a_negative(
    call: Any, judge_says: Any, module: Path
) -> None:
    judge_says("slower", ratio=0.9, low=0.8, high=0.95)
    found = call("optimize", "rms_norm", "--patch", str(module), "--rounds", "1")
    assert found.code == 1
    assert "nothing that may be promoted" in found.stdout


def test_a_run_that_breaks_off_says_how_to_go_on(
    call: Any, judge_says: Any, module: Path, home: Path
) -> None:
    judge = judge_says("faster", **FASTER)

    def interrupted(*words: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    judge.judge = interrupted
    found = call("optimize", "rms_norm", "--patch", str(module), "--rounds", "1")
    assert found.code == 130
    last = found.stderr.splitlines()[-1]
    [run] = [r["run"]["id"] for r in call("runs", "list", "--json").json["runs"]]
    assert last == f"kernelwright: interrupted; the run is kept: kernelwright resume {run}"
    del judge.judge
    resumed = call("resume", run, "--json")
    assert resumed.code == 0, resumed.stderr
    assert resumed.json["run"] == run


def test_runs(call: Any, filled: Any) -> None:
    [listed] = call("runs", "list", "--json").json["runs"]
    assert listed["run"]["id"] == filled.run
    assert listed["best"]["candidate"] == filled.winner.digest
    assert listed["statuses"] == {"faster": 1, "wrong": 1}
    assert filled.run in call("runs", "list").stdout
    shown = call("runs", "show", filled.run[:12], "--json").json
    assert [c["status"] for c in shown["candidates"]] == ["faster", "wrong"]
    assert len(shown["proposals"]) == 3
    text = call("runs", "show", filled.run).stdout
    assert "the answer was empty" in text
    assert "candidates 3" in text


def test_no_runs_yet(call: Any) -> None:
    assert "kernelwright optimize" in call("runs", "list").stdout
    assert call("runs", "list", "--json").json == {"runs": []}


def test_review_shows_the_ranking_the_diff_and_the_numbers(call: Any, filled: Any) -> None:
    found = call("review", filled.run)
    assert found.code == 0
    assert "+# wins" in found.stdout
    assert "+# loses" not in found.stdout
    assert "x1.100" in found.stdout
    assert "--accept" in found.stdout
    assert "fold the scale" in found.stdout
    assert "cost $0.0000" in found.stdout
    assert "50.0 %" in found.stdout
    assert "0.500" in found.stdout
    assert "\x1b" not in found.stdout
    assert "+# loses" in call("review", filled.run, "--show", filled.loser.digest[:12]).stdout
    ranked = call("review", filled.run, "--json").json["candidates"]
    assert [c["candidate"] for c in ranked] == [filled.winner.digest, filled.loser.digest]
    assert ranked[0]["cost"]["judging_s"] == 3.0


def test_review_by_flags(call: Any, filled: Any) -> None:
    deferred = call("review", filled.run, "--defer", filled.winning[:16])
    assert deferred.code == 0
    assert deferred.stdout.startswith("deferred: rms_norm/xla")
    assert filled.store.promotions(run=filled.run)[-1].decision == "deferred"


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        ("r\ntoo clever\n", "rejected"),
        ("x\nd\nlater\n", "deferred"),
        ("s\n", None),
        ("\n", None),
        ("q\n", None),
        ("p\nR\nugly\n", "rejected"),
    ],
)
def test_review_asks_on_a_terminal(
    typed: str, decision: str | None, call: Any, filled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "on_a_terminal", lambda: True)
    monkeypatch.setattr(review, "close_if_decided", lambda store, run: None)
    found = call("review", filled.run, input=typed)
    assert found.code == 0, found.stderr
    made = [p.decision for p in filled.store.promotions(run=filled.run)]
    assert made == ([decision] if decision else [])


def _accepts(monkeypatch: pytest.MonkeyPatch, filled: Any) -> list[tuple[str, dict[str, Any]]]:
    asked: list[tuple[str, dict[str, Any]]] = []
    template = decisions.defer(filled.store, filled.winning, reviewer="t", now=wiring.now())
    accepted = template.model_copy(update={"decision": "accepted", "commit": "c" * 40})

    def accept(store: RunStore, digest: str, **named: Any) -> Any:
        asked.append((digest, named))
        return accepted

    monkeypatch.setattr(decisions, "accept", accept)
    return asked


@pytest.mark.parametrize("by", ["winning", "winner", "review"])
def test_promote(
    by: str, call: Any, filled: Any, judge_says: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_says("faster", **FASTER)
    asked = _accepts(monkeypatch, filled)
    digest = filled.winner.digest if by == "winner" else filled.winning
    words = ["review", filled.run, "--accept"] if by == "review" else ["promote"]
    found = call(*words, digest[:12], "--no-commit", "--reason", "read it")
    assert found.code == 0, found.stderr
    assert "kernelwright rollback" in found.stdout
    [(verdict, named)] = asked
    assert verdict == filled.winning
    assert named["commit"] is False
    assert named["reason"] == "read it"
    assert named["checkout"] == repository_root()


def test_a_refused_promotion_is_a_negative(
    call: Any, filled: Any, judge_says: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_says("faster", **FASTER)

    def refuse(*words: Any, **named: Any) -> None:
        raise ChangedIncumbentError("the incumbent is another one now")

    monkeypatch.setattr(decisions, "accept", refuse)
    found = call("promote", filled.winning)
    assert found.code == 1
    assert found.stderr.splitlines()[-1] == "kernelwright: the incumbent is another one now"
    monkeypatch.setattr(review, "on_a_terminal", lambda: True)
    found = call("review", filled.run, input="a\nfine\n")
    assert "refused: the incumbent is another one now" in found.stdout


def test_rollback(call: Any, filled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = decisions.defer(filled.store, filled.winning, reviewer="t", now=wiring.now())
    undone = made.model_copy(update={"decision": "rolled_back"})
    monkeypatch.setattr(rollbacks, "rollback", lambda store, promotion_id, **named: undone)
    found = call("rollback", made.id[:10], "--json")
    assert found.code == 0, found.stderr
    assert found.json["promotion"]["decision"] == "rolled_back"

    def refuse(*words: Any, **named: Any) -> None:
        raise ChangedSinceError("the file has changed since")

    monkeypatch.setattr(rollbacks, "rollback", refuse)
    call("rollback", made.id).fails(1, "changed since")


def test_trace_lays_files_out_for_xprof(call: Any, filled: Any, tmp_path: Path) -> None:
    found = call("trace", filled.winning[:12], "--out", str(tmp_path / "traces"), "--json")
    assert found.code == 0, found.stderr
    [file] = found.json["files"]
    assert Path(file).read_bytes() == b"a trace"
    assert Path(file).match("plugins/profile/*/*.xplane.pb")
    assert found.json["open"].startswith("xprof server --logdir ")
    assert "xprof server" in call("trace", filled.winning, "--out", str(tmp_path / "t")).stdout


def test_bench_prints_stages_and_widths(call: Any, judge_says: Any) -> None:
    judge = judge_says("slower", ratio=0.9, low=0.88, high=0.92)
    loop = call("bench", "loop", "--op", "rms_norm", "--repeats", "2")
    assert loop.code == 0, loop.stderr
    tiers = [asked["tier"] for asked in judge.asked]
    # Two to begin with, then each kind as often as asked.
    assert tiers == ["screen"] * 2 + ["screen"] * 4 + ["promote"] * 2
    assert len({asked["candidate"].digest for asked in judge.asked}) == 7
    assert "timing" in loop.stdout
    assert "warm screen" in loop.stdout
    interval = call("bench", "interval", "--repeats", "1")
    assert interval.code == 0, interval.stderr
    assert "4.4 %" in interval.stdout
    words = ("bench", "loop", "--repeats", "1", "--no-promote", "--json")
    found = call(*words).json
    assert {kind: len(verdicts) for kind, verdicts in found["kinds"].items()} == {
        "cold screen": 1,
        "warm screen": 1,
    }
    assert [len(found["duration_s"][kind]) for kind in found["kinds"]] == [1, 1]
