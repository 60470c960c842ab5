"""A run that an older checkout was killed at is taken up again by this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.run import resume
from runs.queries import run_summaries
from runs.store import RunStore
from tests.agent.judge import DiaryJudge
from tests.agent.openai_server import Server
from tests.agent.toy_run import QUICK, install, make_checkout
from tests.durability.evidence import check_files
from tests.runs import old_stores


@pytest.mark.parametrize("with_checkpoint", [True, False])
def test_a_run_of_an_older_checkout_goes_on(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, with_checkpoint: bool
) -> None:
    """Its settings name one `model`, as they did then. Without a checkpoint the store suffices."""
    install(monkeypatch.setattr)
    home = tmp_path / "home"
    home.mkdir()
    before = old_stores.make(home, old_stores.DUMPED, server=server.base_url)
    store = RunStore(home)
    (summary,) = run_summaries(store)
    assert summary.run.settings["model"] == "openai/scripted"
    if with_checkpoint:
        old_stores.load("checkpoint", home / "checkpoints" / f"{summary.run.id}.sqlite")

    judge = DiaryJudge(tmp_path / "diary")
    result = resume(
        summary.run.id, store, judge, make_checkout(tmp_path / "checkout"), patience=QUICK
    )

    assert result.status == "awaiting_review"
    known = {(v.tier, v.candidate) for v in store.verdicts()[: len(before["verdicts"])]}
    judged = [(tier, candidate) for tier, _, candidate in judge.done()]
    assert judged
    assert not known & set(judged)
    assert len(store.verdicts(run=result.run)) == len(known) + len(judged)
    numbers = [int(p.id.rpartition("/")[2]) for p in store.proposals(result.run)]
    assert sorted(numbers) == list(range(6))
    # One request for the third round; those of the first two were paid then.
    assert len(server.requests) == 1
    assert result.spent.dollars == pytest.approx(3 * 120 / 1e6)
    check_files(home)
