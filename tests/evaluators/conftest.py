"""One backend and one evaluator for all the tests that run the real pipeline."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import sandbox
from evaluators.evaluator import Evaluator
from evaluators.policy import Policy
from sandbox.records import Candidate

QUICK = Policy(screen_pairs=20, promote_pairs=20, seeds_per_distribution=(1, 1))


@pytest.fixture(scope="session")
def backend() -> sandbox.Backend:
    name = "subprocess" if os.environ.get("KERNELWRIGHT_TEST_NO_DOCKER") == "1" else "docker"
    return sandbox.open_backend(name)


@pytest.fixture(scope="session")
def evaluator(backend: sandbox.Backend, tmp_path_factory: pytest.TempPathFactory) -> Evaluator:
    return Evaluator(backend, QUICK, cache=tmp_path_factory.mktemp("shipped"))


@pytest.fixture
def rms_norm_candidate() -> Callable[[str], Candidate]:
    def make(text: str) -> Candidate:
        return Candidate(op="rms_norm", implementation="xla", target="cpu", files={"xla.py": text})

    return make


@pytest.fixture
def shipped_text() -> str:
    root = Path(__file__).parents[2]
    return (root / "reference_kernels" / "rms_norm" / "xla.py").read_text()
