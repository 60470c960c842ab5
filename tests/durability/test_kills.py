"""Runs killed with SIGKILL at random moments: nothing is lost, judged twice or paid twice."""

from __future__ import annotations

import random
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.openai_server import Server
from tests.durability.evidence import snapshot
from tests.durability.processes import Zygote, said
from tests.durability.toy_jobs import Whole, ending, make_job, with_model
from tests.durability.worker import Job

QUICK_SEEDS = range(4)
SLOW_SEEDS = range(4, 54)


def kill_and_resume(
    zygote: Zygote, whole: Whole, job: Job, seed: int, requests: Sequence[dict[str, Any]] = ()
) -> tuple[Any, ...]:
    """Kill a run one to three times, check what was left each time, and let it end."""
    chance, dead, folder = random.Random(seed), [], Path(job.folder)
    for _ in range(chance.choice((1, 1, 2, 3))):
        if chance.random() < 0.5:
            code = zygote.run_killed(job, chance.uniform(0, whole.duration_s))
        else:
            code = zygote.run(replace(job, trouble_at=chance.randint(1, whole.points)))
        # One that was nearly done may end before it is killed.
        assert code in (0, -signal.SIGKILL), said(job)
        dead.append(snapshot(folder, requests))
    assert zygote.run(job) == 0, said(job)
    return ending(folder, dead, requests)


@pytest.mark.parametrize("seed", QUICK_SEEDS)
def test_a_killed_run_ends_like_one_that_was_not(
    zygote: Zygote, whole: Whole, tmp_path: Path, seed: int
) -> None:
    assert kill_and_resume(zygote, whole, make_job(tmp_path), seed) == whole.ending


@pytest.mark.parametrize("seed", QUICK_SEEDS)
def test_a_killed_run_pays_for_nothing_twice(
    zygote: Zygote, whole: Whole, tmp_path: Path, seed: int, server: Server
) -> None:
    job = make_job(tmp_path, with_model(server))
    kill_and_resume(zygote, whole, job, seed, server.requests)
    assert len(server.requests) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", SLOW_SEEDS)
def test_a_hundred_killed_runs(
    zygote: Zygote, whole: Whole, tmp_path: Path, seed: int, server: Server
) -> None:
    offline = make_job(tmp_path / "offline")
    assert kill_and_resume(zygote, whole, offline, seed) == whole.ending
    paid = make_job(tmp_path / "paid", with_model(server))
    kill_and_resume(zygote, whole, paid, seed, server.requests)


def test_a_kill_while_it_ends(zygote: Zygote, whole: Whole, tmp_path: Path) -> None:
    """At the last points all is judged, and what waits for review must go on waiting for it."""
    kill_at(range(whole.points - 9, whole.points + 1), zygote, whole, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_kill_at_every_durable_point(zygote: Zygote, whole: Whole, tmp_path: Path) -> None:
    kill_at(range(1, whole.points + 1), zygote, whole, tmp_path)


def kill_at(points: range, zygote: Zygote, whole: Whole, tmp_path: Path) -> None:
    for point in points:
        job = make_job(tmp_path / str(point))
        assert zygote.run(replace(job, trouble_at=point)) == -signal.SIGKILL
        dead = [snapshot(Path(job.folder))]
        assert zygote.run(job) == 0, said(job)
        assert ending(Path(job.folder), dead) == whole.ending
