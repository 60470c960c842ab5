"""Screenings in sandboxes that got ready beforehand: quicker, and judged as any other."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sandbox
from evaluators.api import INCUMBENT, program_key
from evaluators.errors import DeadlineError, KnownProgramError
from evaluators.evaluator import Evaluator
from evaluators.verdict import Status, Verdict
from sandbox.records import Candidate
from tests.evaluators.conftest import QUICK

pytestmark = pytest.mark.docker

Make = Callable[[str], Candidate]
ROOT = Path(__file__).parents[2]

TAINT = """
import os, tempfile
import jax, numpy
jax.numpy.mean = jax.numpy.sum
numpy.random.default_rng = None
for folder in (os.environ["TMPDIR"], os.environ["HOME"], "/tmp", os.getcwd()):
    try:
        open(os.path.join(folder, "taint"), "w").write("taint")
    except OSError:
        pass
"""
SNIFF = """
import os
for folder in (os.environ["TMPDIR"], os.environ["HOME"], "/tmp", os.getcwd()):
    assert not os.path.exists(os.path.join(folder, "taint")), folder
"""


@pytest.fixture(scope="module")
def warm(backend: sandbox.Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    made = Evaluator(backend, QUICK, cache=tmp_path_factory.mktemp("warm"), ready=True)
    with contextlib.closing(made):
        yield made


@pytest.fixture
def plain_text() -> str:
    return (ROOT / "reference_kernels" / "rms_norm" / "plain.py").read_text()


def screened(evaluator: Evaluator, candidate: Candidate) -> Verdict:
    return evaluator.judge(candidate, tier="screen", case="ragged").verdict


def test_every_screening_is_fresh_and_judged_alike(
    warm: Evaluator, evaluator: Evaluator, rms_norm_candidate: Make, plain_text: str
) -> None:
    texts = {
        "honest": plain_text,
        "taints": plain_text + TAINT,
        "sniffs": plain_text + SNIFF,
        "wrong": plain_text.replace("jnp.mean(", "1.01 * jnp.mean("),
        "raises": "raise RuntimeError('no')",
        "honest again": plain_text + "\n# again\n",
    }
    found = {}
    for name, text in texts.items():
        assert warm.pool is not None
        warm.pool.settle()
        found[name] = screened(warm, rms_norm_candidate(text))
    cold = screened(evaluator, rms_norm_candidate(plain_text))
    timed = (Status.NO_GAIN, Status.SLOWER, Status.FASTER)
    for name in ("honest", "sniffs", "honest again"):
        assert found[name].status in timed, found[name].reason
        assert program_key(found[name]) == program_key(cold)
        assert [gate.name for gate in found[name].gates] == [gate.name for gate in cold.gates]
    assert found["wrong"].status is Status.WRONG
    assert found["raises"].status is Status.BUILD_FAILED
    assert program_key(found["raises"]) is None
    seeds = [seed for verdict in found.values() for seed in verdict.seeds]
    assert len(set(seeds)) == len(seeds)


def test_a_ready_screening_waits_for_less(
    warm: Evaluator, rms_norm_candidate: Make, plain_text: str
) -> None:
    def start_ns(verdict: Verdict) -> int:
        return verdict.stage_ns["build"] + verdict.stage_ns["start"]

    assert warm.pool is not None
    screened(warm, rms_norm_candidate(plain_text + "\n# one\n"))
    warm.pool.settle()
    ready = screened(warm, rms_norm_candidate(plain_text + "\n# two\n"))
    with contextlib.closing(Evaluator(warm.backend, QUICK, cache=warm._shipped._cache)) as cold:
        other = screened(cold, rms_norm_candidate(plain_text + "\n# three\n"))
    assert start_ns(ready) < 0.6 * start_ns(other)


class TestKnownPrograms:
    def test_the_same_program_in_other_words_is_known(
        self, evaluator: Evaluator, rms_norm_candidate: Make, plain_text: str
    ) -> None:
        first = rms_norm_candidate(plain_text)
        key = program_key(screened(evaluator, first))
        assert key is not None
        known = {key: first.digest}
        renamed = plain_text.replace("def forward(", "def forward(", 1) + "\nUNUSED = 1\n"
        with pytest.raises(KnownProgramError) as caught:
            evaluator.judge(rms_norm_candidate(renamed), tier="screen", case="ragged", known=known)
        assert caught.value.of == first.digest
        other = rms_norm_candidate(plain_text.replace("jnp.mean(", "1.5 * jnp.mean("))
        verdict = evaluator.judge(other, tier="screen", case="ragged", known=known).verdict
        assert verdict.status is Status.WRONG

    def test_the_incumbents_program_is_known(
        self, evaluator: Evaluator, rms_norm_candidate: Make, shipped_text: str
    ) -> None:
        copy = rms_norm_candidate(shipped_text + "\nUNUSED = 1\n")
        with pytest.raises(KnownProgramError) as caught:
            evaluator.judge(copy, tier="screen", case="ragged", known={INCUMBENT: "f" * 64})
        assert caught.value.of == "f" * 64


@pytest.mark.parametrize("wall_left_s", [0.0, 0.3, 3.0])
def test_a_callers_time_is_not_passed(
    evaluator: Evaluator, rms_norm_candidate: Make, wall_left_s: float
) -> None:
    endless = rms_norm_candidate("while True: pass")
    started = time.monotonic()
    with pytest.raises(DeadlineError):
        evaluator.judge(endless, tier="screen", case="ragged", wall_left_s=wall_left_s)
    # The container is killed and removed after that.
    assert time.monotonic() - started < wall_left_s + 8
