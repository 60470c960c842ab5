"""The real pipeline in the real sandbox: builds that fail, judges that die, targets not here."""

from collections.abc import Callable
from pathlib import Path

import pytest

import sandbox
from evaluators.builder import shipped_candidate
from evaluators.errors import JudgeFaultError
from evaluators.evaluator import Evaluator
from evaluators.policy import Policy
from evaluators.verdict import Status
from sandbox.records import Candidate

pytestmark = pytest.mark.docker

Make = Callable[[str], Candidate]


def screened(evaluator: Evaluator, candidate: Candidate, case: str = "ragged") -> object:
    return evaluator.judge(candidate, tier="screen", case=case).verdict


def test_a_copy_of_the_incumbent_shows_no_gain(
    evaluator: Evaluator, rms_norm_candidate: Make, shipped_text: str
) -> None:
    outcome = evaluator.judge(
        rms_norm_candidate(shipped_text + "\n# a copy\n"), tier="screen", case="ragged"
    )
    verdict = outcome.verdict
    # On a busy machine a copy may look slower; what it must never look is faster.
    assert verdict.status in (Status.NO_GAIN, Status.SLOWER)
    assert verdict.facts["unchanged"] == ["forward--ragged"]
    assert {gate.name for gate in verdict.gates} >= {
        *("program", "signature", "numerics", "inputs"),
        *("determinism", "dependence", "work", "physics", "control", "speed"),
    }
    cell = verdict.timings[0]
    assert len(cell.pairs_ns) == len(cell.control_pairs_ns) == 20
    assert len(set(verdict.seeds)) == len(verdict.seeds) > 40
    assert verdict.environment is not None
    assert verdict.environment.packages["jax"]
    assert outcome.blobs[verdict.traces[0]]
    assert outcome.builds[0].artefacts[0].digest in outcome.blobs


def test_the_verdict_names_no_path_of_this_machine(
    evaluator: Evaluator, rms_norm_candidate: Make
) -> None:
    found = screened(evaluator, rms_norm_candidate("def forward(: pass"))
    assert found.status is Status.BUILD_FAILED
    assert "SyntaxError" in found.reason
    assert str(Path(__file__).parents[2]) not in found.model_dump_json()


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("raise RuntimeError('no')", Status.BUILD_FAILED),
        ("import os; os.abort()", Status.CRASHED),
        ('x = []\nwhile True: x.append(b"1" * (1 << 24))', Status.RESOURCE_LIMIT),
        ("import os\nwhile True:\n    os.fork()", Status.RESOURCE_LIMIT),
        ("class Config: pass", Status.BUILD_FAILED),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", Status.BUILD_FAILED),
    ],
)
def test_a_build_that_fails_is_typed(
    evaluator: Evaluator, rms_norm_candidate: Make, text: str, status: Status
) -> None:
    assert screened(evaluator, rms_norm_candidate(text)).status is status


def test_a_build_that_never_ends_is_a_resource_limit(
    backend: sandbox.Backend, rms_norm_candidate: Make
) -> None:
    hasty = Evaluator(backend, Policy(build_wall_s=8))
    found = screened(hasty, rms_norm_candidate("while True: pass"))
    assert found.status is Status.RESOURCE_LIMIT


ENDLESS = """
import jax
from jax import lax
from reference_kernels.gradients import with_grad
from reference_kernels.rms_norm.plain import Config, forward as honest


def forward(**arguments):
    y, h = honest(**arguments)
    y = lax.while_loop(lambda c: c[0, 0] != 12345.0, lambda c: c + 1e-9, y)
    return y, h


forward_with_grad = with_grad(forward, ("x", "weight", "residual"))
"""


@pytest.mark.slow
def test_a_program_that_never_ends_is_told_from_a_fault_of_ours(
    backend: sandbox.Backend, rms_norm_candidate: Make
) -> None:
    patient = Evaluator(backend, Policy(screen_wall_s=45, screen_pairs=10))
    found = screened(patient, rms_norm_candidate(ENDLESS))
    assert found.status is Status.RESOURCE_LIMIT
    assert "canary lived" in found.reason


def test_when_the_canary_dies_too_the_candidate_is_not_blamed(
    backend: sandbox.Backend, rms_norm_candidate: Make, shipped_text: str
) -> None:
    starved = Evaluator(backend, Policy(screen_wall_s=0.4))
    with pytest.raises(JudgeFaultError):
        screened(starved, rms_norm_candidate(shipped_text))


def test_a_tpu_kernel_is_right_and_unmeasured(evaluator: Evaluator) -> None:
    candidate = shipped_candidate(evaluator.library, "rms_norm", "pallas_tpu", "tpu")
    found = screened(evaluator, candidate, case="tiny")
    assert found.status is Status.UNMEASURED
    assert found.trust == "artefact"
    assert found.facts["target_programs"]
    assert not found.promotable


def test_a_triton_kernel_is_a_process_diagnostic(evaluator: Evaluator) -> None:
    candidate = shipped_candidate(evaluator.library, "rms_norm", "triton", "cuda")
    found = screened(evaluator, candidate, case="tiny")
    assert found.status is Status.UNMEASURED
    assert found.trust == "process"
    assert found.errors
    assert not found.promotable


def test_lowering_again_in_a_container_that_looks_different_gives_the_same_programs(
    evaluator: Evaluator, rms_norm_candidate: Make, shipped_text: str
) -> None:
    candidate = rms_norm_candidate(shipped_text)
    plain = evaluator.program_digests(candidate)
    assert len(plain) > 10
    assert evaluator.program_digests(candidate, disguise=True) == plain


SNIFFER = """
import os
_EXTRA = 0.0 if os.getcwd().startswith("/work") or os.getuid() == 65534 else 1.0
"""


def test_a_source_that_sniffs_its_surroundings_lowers_to_something_else(
    evaluator: Evaluator, rms_norm_candidate: Make, shipped_text: str
) -> None:
    text = shipped_text.replace("y = h * _inverse_rms", "y = _EXTRA + h * _inverse_rms").replace(
        "\nResult = ", SNIFFER + "\nResult = ", 1
    )
    assert "_EXTRA +" in text
    candidate = rms_norm_candidate(text)
    here = evaluator.program_digests(candidate)
    assert here != evaluator.program_digests(candidate, disguise=True)
