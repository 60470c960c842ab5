"""A run is recorded through a real server and repeated exactly, without one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent import events, prompting
from agent.budget import StopReason
from agent.errors import ExhaustedError, RecordingError
from agent.exporting import record
from agent.proposers.protocol import Context, Proposer
from agent.proposers.replay import ReplayProposer, rebuilt
from agent.proposers.testing import ProposerContract
from agent.recording import RecordedProposal, Recording, load, read, save
from agent.run import RunResult, resume
from agent.settings import Settings, Share
from evaluators.policy import repository_root
from tests.agent import toy
from tests.agent.bench import Bench
from tests.agent.openai_server import serving, text
from tests.agent.retelling import contexts
from tests.agent.toy_run import QUICK, install

JOINED = toy.SOURCE.replace("jnp.exp(w) * jnp.exp(w)", "jnp.exp(2 * w)")
SCRIPT = (
    text(f"One exponential.\n```python\n{JOINED}```"),
    text("Idea.\n```python\ndef forward(:\n```"),
    text("Edit.\n<<<<<<< SEARCH\n    left = scores @ x\n=======\n    left = x @ x.T @ x\n"
         ">>>>>>> REPLACE\n"),
    text("I'm sorry, I can't."),
)  # fmt: skip
KEY = "sk-a-key-that-must-stay-secret"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    install(monkeypatch.setattr)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return Bench(tmp_path)


def recorded(bench: Bench, **settings: Any) -> RunResult:
    """A run of a model and the offline proposers, on a scripted server that is gone after it."""
    fields: dict[str, Any] = {
        "rounds": 4, "patience": 9, "width": 2, "promote": 1, "retries": 0, "models": ["openai/m"],
        "proposers": (Share(name="llm"), Share(name="tune")), "price_in": 1.0, "price_out": 1.0,
    }  # fmt: skip
    with serving(SCRIPT) as server:
        result = bench.start(**{**fields, "base_url": server.base_url, **settings})
        assert server.requests
    return result


def texts(bench: Bench, run: str) -> list[tuple[str, str | None, str, str, str]]:
    return [(p.kind, p.candidate, p.failure, p.parent, p.rationale) for p in bench.proposals(run)]


def test_a_replay_is_the_same_run_and_free(bench: Bench) -> None:
    first = recorded(bench)
    recording = record(bench.store, first.run)
    # The verdicts may come out otherwise: what is proposed from what does not depend on them.
    bench.judge.ratio = lambda candidate: 0.9
    second = bench.replay(recording)
    assert second.run != first.run
    assert texts(bench, second.run) == texts(bench, first.run)
    assert {p.proposer for p in bench.proposals(second.run)} == {"replay"}
    assert (second.spent.dollars, second.spent.tokens) == (0, 0)
    assert first.spent.dollars > 0
    assert second.stop is StopReason.ROUNDS
    # Judged anew, each candidate once.
    digests = {p.candidate for p in bench.proposals(second.run) if p.candidate}
    assert {v.candidate for v in bench.verdicts(second.run)} == digests
    assert second.best is None
    assert first.best is not None


def test_the_same_verdicts_confirm_the_same(bench: Bench) -> None:
    first = recorded(bench)
    second = bench.replay(record(bench.store, first.run))
    assert second.promotable == first.promotable != ()
    assert (second.best, second.status) == (first.best, "awaiting_review")


def test_a_recording_outlives_its_store(bench: Bench, tmp_path: Path) -> None:
    recording = record(bench.store, recorded(bench).run)
    (tmp_path / "run.json").write_bytes(save(recording))
    assert read(tmp_path / "run.json") == recording
    other = Bench(tmp_path / "other")
    # The checkout has moved on; the recorded incumbent is what it begins with.
    module = other.checkout / "reference_kernels" / "toy" / "xla.py"
    module.write_text(JOINED)
    result = other.replay(read(tmp_path / "run.json"))
    assert [p.candidate for p in other.proposals(result.run)] == [
        p.candidate for p in recording.proposals
    ]


def test_a_replay_can_be_recorded_and_killed(bench: Bench) -> None:
    recording = record(bench.store, recorded(bench).run)
    done = 0

    class Killed(Exception):
        pass

    def heard(event: events.Event) -> None:
        nonlocal done
        done += isinstance(event, events.Judged)
        if done == 2:
            done += 1
            raise Killed

    from agent.run import replay

    with pytest.raises(Killed):
        replay(recording, bench.store, bench.judge, bench.checkout, heard, patience=QUICK)
    result = resume(bench.run(), bench.store, bench.judge, bench.checkout, patience=QUICK)
    assert [p.candidate for p in bench.proposals(result.run)] == [
        p.candidate for p in recording.proposals
    ]
    again = record(bench.store, result.run)
    assert {n: c.digest for n, c in rebuilt(again).items()} == {
        n: c.digest for n, c in rebuilt(recording).items()
    }


def test_what_is_recorded(bench: Bench) -> None:
    run = recorded(bench).run
    recording = record(bench.store, run)
    asked = [p for p in recording.proposals if p.proposer == "llm"]
    assert [p.reply for p in asked] == [
        answer.body["choices"][0]["message"]["content"] for answer in SCRIPT
    ]
    assert recording.models == ("openai/m",)
    assert all(p.model == "openai/m" and p.tokens_in and p.dollars for p in asked)
    assert [m.role for m in asked[0].prompt] == ["system", "user"]
    assert "toy" in asked[0].prompt[0].content
    assert [p.repairs for p in asked if p.repairs is not None]
    # No repeats of text: what a reply gives is not written out.
    assert all((p.files is None) == (p.reply is not None or p.candidate is None)
               for p in recording.proposals)  # fmt: skip
    first = next(p for p in asked if p.candidate)
    assert (first.parent, first.status is not None, first.ratio is not None) == (None, True, True)
    said = save(recording).decode()
    assert "127.0.0.1" not in said
    assert KEY not in said
    assert toy.HELD_OUT not in said


@pytest.mark.parametrize("secret", [KEY, toy.HELD_OUT])
def test_what_gives_something_away_is_not_exported(bench: Bench, secret: str) -> None:
    patch = toy.SOURCE + f"NAME = '{secret}'\n"
    result = bench.start(proposers=(Share(name="patch"),), patches=(patch,), rounds=1)
    with pytest.raises(RecordingError, match="not exported"):
        record(bench.store, result.run)


def test_contexts_of_a_recording_render(bench: Bench) -> None:
    recording = record(bench.store, recorded(bench).run)
    told = list(contexts(recording))
    assert [number for number, _ in told] == [p.number for p in recording.proposals]
    assert any(context.repair is not None for _, context in told)
    for number, context in told:
        assert "toy" in prompting.render(context, number)[0].content


def changed(recording: Recording, number: int, **fields: object) -> Recording:
    proposals = tuple(
        p.model_copy(update=fields) if p.number == number else p for p in recording.proposals
    )
    return recording.model_copy(update={"proposals": proposals})


def test_a_reply_that_gives_something_else_is_a_clear_failure(bench: Bench) -> None:
    recording = record(bench.store, recorded(bench).run)
    number = next(p.number for p in recording.proposals if p.reply and p.candidate)
    other = f"```python\n{toy.SOURCE}X = 9\n```"
    for broken, why in (
        (changed(recording, number, reply=other), f"proposal {number} gives candidate"),
        (changed(recording, number, reply="no idea"), "gives no module now"),
        (changed(recording, number, parent=99), "starts from what is not recorded"),
        (changed(recording, number, reply=None), "no candidate's files"),
    ):
        runs = len(bench.store.proposals(bench.run()))
        with pytest.raises(RecordingError, match=why):
            rebuilt(broken)
        with pytest.raises(RecordingError, match=why):
            bench.replay(broken)
        assert len(bench.store.proposals(bench.run())) == runs
        # And the proposer by itself records a failure.
        answer = ReplayProposer(broken).propose(toy.context(), number=number)
        assert answer.failure.startswith("replay: ")


def test_another_parent_is_a_failure() -> None:
    proposer = TestReplayContract().proposer()
    answer = proposer.propose(toy.context(parent=toy.module(JOINED)), number=0)
    assert "another text" in answer.failure


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"format": 2}', b"\xff\xfe", b'{"op": "toy"}'],
)
def test_what_is_no_recording_is_said(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is no recording"):
        load(data)
    with pytest.raises(RecordingError, match="cannot read"):
        read(tmp_path / "nowhere.json")


def test_a_recording_is_whole_and_in_order(bench: Bench) -> None:
    data = json.loads(save(made(JOINED)))
    for change in (
        {"incumbent": {"other.py": ""}},
        {"proposals": [data["proposals"][0]] * 2},
        {"format": 2},
        {"extra": 1},
    ):
        with pytest.raises(RecordingError):
            load(json.dumps({**data, **change}).encode())


def test_settings_know_what_a_replay_needs() -> None:
    for fields in (
        {"proposers": (Share(name="replay"),)},
        {"recording": "f" * 64},
        {"proposers": (Share(name="replay"), Share(name="tune")), "recording": "f" * 64},
    ):
        with pytest.raises(ValueError, match="replay"):
            Settings(op="toy", **fields)  # type: ignore[arg-type]


def made(*sources: str) -> Recording:
    """A recording of these texts, all from the incumbent."""
    return Recording(
        op="toy", implementation="xla", target="cpu", case="steering", settings={},
        incumbent={"xla.py": toy.SOURCE}, models=("m",),
        proposals=tuple(
            RecordedProposal(
                number=number, proposer="llm", kind="source", parent=None, model="m",
                reply=f"Idea {number}.\n```python\n{source}```",
                candidate=toy.module(source).digest,
            )
            for number, source in enumerate(sources)
        ),
    )  # fmt: skip


class TestReplayContract(ProposerContract):
    held_out = (toy.HELD_OUT,)

    def proposer(self) -> Proposer:
        return ReplayProposer(made(JOINED, JOINED + "X = 1\n", JOINED + "X = 2\n"))

    def context(self) -> Context:
        return toy.context()


def test_a_recording_ends() -> None:
    with pytest.raises(ExhaustedError):
        TestReplayContract().proposer().propose(toy.context(), number=3)


CHILD = """
import sys
from pathlib import Path
from agent.recording import read
from agent.run import replay
from runs.store import RunStore
from tests.agent.judge import DiaryJudge
from tests.agent.toy_run import QUICK, install

install(setattr)
folder = Path(sys.argv[1])
result = replay(read(folder / "run.json"), RunStore(folder / "home2"),
                DiaryJudge(folder / "diary2"), folder / "checkout", patience=QUICK)
assert result.spent.candidates > 0
print(sorted(m for m in ("litellm", "openai", "httpx", "aiohttp") if m in sys.modules))
"""


def test_a_replay_loads_no_model_library(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(save(record(bench.store, recorded(bench).run)))
    found = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        cwd=repository_root(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "litellm" not in found.stdout
    assert "openai" not in found.stdout
