"""What lowers to a program that was judged is not judged again, also after a kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import events
from agent.settings import Share
from runs.errors import UnknownRecordError
from runs.records import Run
from runs.search_rows import SearchRows
from runs.store import RunStore
from sandbox.records import Candidate
from tests.agent import toy
from tests.agent.bench import Bench
from tests.agent.toy_run import install

PATCHES = tuple(f"{toy.SOURCE}X = {n}\n" for n in range(4))


def lowered(candidate: Candidate) -> str:
    """0 and 2 are the same program, and so are 1 and 3."""
    number = candidate.files["xla.py"].rpartition("X = ")[2].strip()
    return "even" if number in "02" else "odd"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    install(monkeypatch.setattr)
    made = Bench(tmp_path)
    made.judge.lowered = lowered
    return made


def start(bench: Bench, **settings: object) -> str:
    fields = {
        "proposers": (Share(name="patch"),), "patches": PATCHES, "width": 2, "rounds": 2,
        "patience": 9, "promote": 0,
    }  # fmt: skip
    return bench.start(**{**fields, **settings}).run


def test_the_same_program_is_judged_once(bench: Bench) -> None:
    run = start(bench)
    assert bench.screened() == [toy.module(text).digest for text in PATCHES[:2]]
    assert [(d.number, d.of) for d in bench.seen(events.Duplicate)] == [(2, 0), (3, 1)]
    assert SearchRows(bench.store.database, run).same_programs() == {
        toy.module(PATCHES[2]).digest: toy.module(PATCHES[0]).digest,
        toy.module(PATCHES[3]).digest: toy.module(PATCHES[1]).digest,
    }
    # A build is no judgement.
    assert bench.store.ledger.spent(run).candidates == 2


def test_the_incumbents_program_is_known_from_the_start(bench: Bench) -> None:
    from evaluators.api import INCUMBENT
    from evaluators.errors import KnownProgramError

    asked = []

    class Knowing(type(bench.judge)):
        def judge(self, candidate: Candidate, **question):  # type: ignore[no-untyped-def]
            asked.append(question["known"])
            raise KnownProgramError(question["known"][INCUMBENT])

    bench.judge = Knowing(bench.judge.diary)
    start(bench, rounds=1)
    assert asked[0] == {INCUMBENT: toy.module().digest}
    assert [(d.number, d.of) for d in bench.seen(events.Duplicate)] == [(0, None), (1, None)]


def test_a_wrong_program_is_not_tried_again_either(bench: Bench) -> None:
    bench.judge.ratio = lambda candidate: None
    start(bench)
    assert len(bench.screened()) == 2


def test_confirmations_judge_what_they_are_given(bench: Bench) -> None:
    bench.judge.ratio = lambda candidate: 1.2
    start(bench, promote=2)
    assert [tier for tier, _, _ in bench.judge.done()] == ["screen"] * 2 + ["promote"] * 2


def test_a_resumed_run_remembers(bench: Bench) -> None:
    """Killed between the discovery and the end of the round."""
    seen = 0

    class Killed(Exception):
        pass

    def heard(event: events.Event) -> None:
        nonlocal seen
        if isinstance(event, events.Duplicate) and event.number == 2:
            seen += 1
            if seen == 1:
                raise Killed
        bench.events.append(event)

    from agent.run import start as begin
    from agent.settings import Settings
    from tests.agent.toy_run import QUICK

    settings = Settings(
        op="toy", proposers=(Share(name="patch"),), patches=PATCHES, width=2, rounds=2, patience=9,
        promote=0,
    )  # fmt: skip
    with pytest.raises(Killed):
        begin(settings, bench.store, bench.judge, bench.checkout, heard, patience=QUICK)
    builds = len(bench.judge.left)
    bench.resume(bench.run())
    # Only the fourth was built anew.
    assert len(bench.judge.left) == builds + 1
    assert [(d.number, d.of) for d in bench.seen(events.Duplicate)] == [(2, 0), (3, 1)]


def test_rows_are_idempotent_and_name_what_is_stored(store: RunStore, run: Run) -> None:
    rows = SearchRows(store.database, run.id)
    one, two = (store.record_candidate(toy.module(text)) for text in PATCHES[:2])
    for _ in range(2):
        rows.record_same_program(two, one)
        rows.record_repair(3, 1)
    assert rows.same_programs() == {two: one}
    assert rows.repairs() == {3: 1}
    with pytest.raises(UnknownRecordError):
        rows.record_same_program("f" * 64, one)
    assert SearchRows(store.database, "another").same_programs() == {}
