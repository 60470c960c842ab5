"""Two processes at once: on one store they do not disturb each other, on one run there is one."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from runs.queries import run_summaries
from runs.store import RunStore
from tests.durability.evidence import check_files, diary
from tests.durability.processes import Zygote, said
from tests.durability.toy_jobs import OFFLINE, make_job


def test_two_runs_on_one_store(zygote: Zygote, tmp_path: Path) -> None:
    """They propose the same candidates, and each judges them on a case of its own."""
    first = replace(make_job(tmp_path), name="-steering", fresh=True)
    small = OFFLINE.model_copy(update={"case": "small"}).model_dump_json()
    second = replace(first, name="-small", settings=small)
    pids = zygote.start(first), zygote.start(second)
    assert [zygote.wait(pid) for pid in pids] == [0, 0], said(first) + said(second)

    store = RunStore(tmp_path / "home")
    check_files(store.home)
    summaries = {summary.run.case: summary for summary in run_summaries(store)}
    assert set(summaries) == {"steering", "small"}
    for case, summary in summaries.items():
        verdicts = store.verdicts(run=summary.run.id)
        judged = [(v.tier, v.candidate) for v in verdicts]
        assert sorted(judged) == sorted(diary(tmp_path, f"-{case}"))
        assert len(judged) == len(set(judged)) >= 7
        assert {cell.case for v in verdicts if v.tier == "screen" for cell in v.errors} == {case}
        assert summary.spent.candidates == sum(v.tier == "screen" for v in verdicts)
        assert "awaiting review" in summary.end_reason or summary.state == "finished"
    proposed = [{p.candidate for p in store.proposals(s.run.id)} for s in summaries.values()]
    assert len(proposed[0] & proposed[1]) >= 2


def test_one_process_at_a_time_works_on_a_run(zygote: Zygote, tmp_path: Path) -> None:
    job = replace(make_job(tmp_path), judge_s=0.3)
    pid = zygote.start(job)
    until = time.monotonic() + 30
    while not diary(tmp_path) and time.monotonic() < until:
        time.sleep(0.02)
    other = replace(job, name="-other")
    assert zygote.run(other) == 3
    (line,) = said(other).splitlines()
    (summary,) = run_summaries(RunStore(tmp_path / "home"))
    assert line == (
        f"kernelwright: another process is working on run {summary.run.id}: wait for it, or stop it"
    )
    assert diary(tmp_path, "-other") == []
    assert zygote.wait(pid) == 0, said(job)
    # Refusing the second did not end the first.
    (summary,) = run_summaries(RunStore(tmp_path / "home"))
    assert summary.state == "finished" or "awaiting review" in summary.end_reason
