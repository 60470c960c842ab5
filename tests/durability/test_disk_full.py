"""A disk that fills up under a run: one clear line, nothing lost, and on it goes with room again.

The disk is a small tmpfs of its own, which takes root to mount.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from runs.errors import DiskFullError
from runs.queries import run_summaries
from runs.store import RunStore
from tests.agent.openai_server import Server
from tests.durability import points
from tests.durability.disks import small_disk
from tests.durability.evidence import snapshot
from tests.durability.processes import Zygote, said
from tests.durability.toy_jobs import Whole, ending, make_job, with_model

LEFT_BYTES = (0, 4096, 20_000)


def one_clear_line(text: str) -> None:
    (line,) = text.splitlines()
    assert line.startswith("kernelwright: no space left"), line


@pytest.mark.parametrize(("part", "seed"), [("", 0), ("", 1), ("", 2), ("checkpoints", 0)])
def test_a_run_goes_on_once_there_is_room(
    zygote: Zygote, whole: Whole, tmp_path: Path, part: str, seed: int
) -> None:
    chance = random.Random(f"{part}{seed}")
    with small_disk(tmp_path / "home" / part) as disk:
        job = make_job(tmp_path)
        full = replace(
            job,
            trouble_at=chance.randint(1, whole.points * 7 // 10),
            fill=str(disk),
            left_bytes=chance.choice(LEFT_BYTES),
        )
        assert zygote.run(full) == 3, said(job)
        one_clear_line(said(job))
        # Again, with no room from the start; and what is there can be read all the same.
        assert zygote.run(job) == 3, said(job)
        one_clear_line(said(job))
        summaries = run_summaries(RunStore(tmp_path / "home"))
        (disk / points.FILLER).unlink()
        dead = [snapshot(tmp_path)]
        assert [s.proposals for s in summaries] == [
            s.proposals for s in run_summaries(RunStore(tmp_path / "home"))
        ]
        assert zygote.run(job) == 0, said(job)
        assert ending(tmp_path, dead) == whole.ending


@pytest.mark.parametrize("seed", range(2))
def test_a_full_disk_beneath_the_blobs_loses_no_reply_that_was_stored(
    zygote: Zygote, whole: Whole, tmp_path: Path, server: Server, seed: int
) -> None:
    chance = random.Random(seed)
    with small_disk(tmp_path / "home" / "blobs") as disk:
        job = make_job(tmp_path, with_model(server))
        full = replace(job, trouble_at=chance.randint(1, whole.points // 2), fill=str(disk))
        assert zygote.run(full) == 3, said(job)
        one_clear_line(said(job))
        (disk / points.FILLER).unlink()
        dead = [snapshot(tmp_path, server.requests)]
        assert zygote.run(job) == 0, said(job)
        ending(tmp_path, dead, server.requests)


def test_no_room_at_all(zygote: Zygote, tmp_path: Path) -> None:
    with small_disk(tmp_path / "home") as disk:
        points.fill(disk)
        job = make_job(tmp_path)
        assert zygote.run(job) == 3
        one_clear_line(said(job))
        with pytest.raises(DiskFullError, match="no space left"):
            RunStore(disk)
        (disk / points.FILLER).unlink()
        assert zygote.run(job) == 0, said(job)
        ending(tmp_path, [])
