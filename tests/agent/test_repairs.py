"""What a model wrote and failed is mended a bounded number of times, with the log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent import events
from agent.settings import Share
from evaluators.verdict import Status
from runs.search_rows import SearchRows
from sandbox.records import Candidate
from tests.agent import toy
from tests.agent.bench import Bench
from tests.agent.judge import DiaryJudge, verdict
from tests.agent.openai_server import Scripted, serving, text
from tests.agent.toy_run import install

LOG = "error: the compiler did not like line 7"


def module(n: int) -> str:
    return f"{toy.SOURCE}X = {n}\n"


def whole(n: int) -> Scripted:
    return text(f"Idea {n}.\n```python\n{module(n)}```")


class LoggingJudge(DiaryJudge):
    """Fails the candidates that say `X = 1`, `X = 2`..., up to `failures`."""

    failures = 1
    status = Status.BUILD_FAILED

    def judge(self, candidate: Candidate, **question: Any) -> Any:
        outcome = super().judge(candidate, **question)
        if not any(f"X = {n}\n" in candidate.files["xla.py"] for n in range(1, self.failures + 1)):
            return outcome
        failed = verdict(
            candidate, None, tier=question["tier"], status=self.status, errors=(), log=LOG,
            facts={"programs": {}},
        )  # fmt: skip
        return type(outcome)(failed)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    install(monkeypatch.setattr)
    made = Bench(tmp_path)
    made.judge = LoggingJudge(tmp_path / "diary", ratio=lambda candidate: 1.2)
    return made


def run(bench: Bench, script: Sequence[Scripted], **settings: Any) -> list[str]:
    """Run on scripted replies; the last message of each request."""
    fields: dict[str, Any] = {
        "rounds": 3, "patience": 9, "width": 1, "promote": 0, "retries": 0,
        "proposers": (Share(name="llm"),), "model": "openai/scripted",
    }  # fmt: skip
    with serving(script) as server:
        bench.start(**{**fields, "base_url": server.base_url, **settings})
    return [str(request["messages"][-1]["content"]) for request in server.requests]


def test_a_failed_build_is_mended_with_its_log(bench: Bench) -> None:
    asked = run(bench, [whole(1), whole(8), whole(9)])
    proposals = bench.proposals(bench.run())
    broken = toy.module(module(1)).digest
    assert [p.parent == broken for p in proposals] == [False, True, False]
    assert LOG not in asked[0]
    assert LOG in asked[1]
    assert "X = 1" in asked[1]
    # The failed text is nobody's parent; the mended one is, like any other that is faster.
    assert proposals[2].parent == proposals[1].candidate
    assert SearchRows(bench.store.database, bench.run()).repairs() == {1: 0}


@pytest.mark.parametrize("repairs", [0, 1, 2])
def test_a_chain_is_bounded(bench: Bench, repairs: int) -> None:
    assert isinstance(bench.judge, LoggingJudge)
    bench.judge.failures = 4
    run(bench, [whole(n) for n in range(1, 5)], rounds=4, repairs=repairs)
    proposals = bench.proposals(bench.run())
    incumbent = toy.module().digest
    originals = [number for number, p in enumerate(proposals) if p.parent == incumbent]
    assert originals == list(range(0, 4, repairs + 1))


def test_edits_of_a_repair_are_of_the_failed_text(bench: Bench) -> None:
    edit = text("Mend it.\n<<<<<<< SEARCH\nX = 1\n=======\nX = 5\n>>>>>>> REPLACE\n")
    run(bench, [whole(1), edit], rounds=2)
    assert bench.proposals(bench.run())[1].candidate == toy.module(module(5)).digest


def test_a_suspect_one_is_not_mended(bench: Bench) -> None:
    assert isinstance(bench.judge, LoggingJudge)
    bench.judge.status = Status.SUSPECT
    run(bench, [whole(1), whole(2)], rounds=2)
    assert [p.parent for p in bench.proposals(bench.run())] == [toy.module().digest] * 2


def test_a_reply_without_a_module_is_mended(bench: Bench) -> None:
    broken = text("Idea.\n```python\ndef forward(:\n    SAID_BEFORE\n```")
    asked = run(bench, [broken, whole(3)], rounds=2)
    first, second = bench.proposals(bench.run())
    assert first.failure.startswith("syntax_error")
    assert second.candidate == toy.module(module(3)).digest
    assert SearchRows(bench.store.database, bench.run()).repairs() == {1: 0}
    assert "syntax_error" in asked[1]
    assert "SAID_BEFORE" in asked[1]


def test_a_refusal_is_not_mended(bench: Bench) -> None:
    run(bench, [text("I'm sorry, I can't help with that."), whole(3)], rounds=2)
    assert SearchRows(bench.store.database, bench.run()).repairs() == {}


def test_a_repair_goes_to_who_wrote_it(bench: Bench) -> None:
    run(
        bench, [whole(1), whole(8), whole(9)], rounds=2, width=2,
        proposers=(Share(name="llm"), Share(name="rewrite")),
    )  # fmt: skip
    proposals = bench.proposals(bench.run())
    assert [p.proposer for p in proposals] == ["llm", "rewrite", "llm", "rewrite"]
    assert SearchRows(bench.store.database, bench.run()).repairs() == {2: 0}
    assert proposals[2].parent == proposals[0].candidate


def test_offline_proposers_go_on_as_before(bench: Bench) -> None:
    bench.judge.ratio = lambda candidate: None
    result = bench.start(rounds=2, patience=9, width=2)
    assert SearchRows(bench.store.database, result.run).repairs() == {}
    assert {p.parent for p in bench.proposals(result.run)} == {toy.module().digest}


def test_a_beam_of_parents_in_one_round(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.judge = DiaryJudge(bench.judge.diary)
    result = bench.start(
        rounds=4, patience=9, width=4, search="beam", beam=3, proposers=(Share(name="rewrite"),)
    )
    assert not bench.seen(events.Duplicate) or len(bench.screened()) >= 8
    rounds = [bench.proposals(result.run)[n : n + 4] for n in range(0, 16, 4)]
    assert len({p.parent for p in rounds[0]}) == 1
    assert max(len({p.parent for p in proposals}) for proposals in rounds) == 3
    assert len(bench.screened()) == len(set(bench.screened()))
