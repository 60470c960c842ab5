"""The process diagnostic on modules that are right, wrong, broken and hostile."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from evaluators.process import AnswerError, _decode, executor_for, run_process_diagnostic
from reference_kernels.rms_norm import triton as shipped
from reference_kernels.rms_norm.op import PROBLEM
from sandbox import Limits, open_backend

pytest.importorskip("torch")
pytest.importorskip("triton")

SOURCE = Path(shipped.__file__).read_text()

TORCH_ONLY = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Config:
    pass

def forward(*, x, weight, residual=None, eps, weight_offset, config):
    import torch
    h = x if residual is None else x + residual
    y = torch.nn.functional.rms_norm(h, (h.shape[-1],), weight_offset + weight, eps)
    BODY
    return y if residual is None else (y, h)
"""

DECLINE = "from reference_kernels import errors; raise errors.UnsupportedError('no')"


def diagnose(source: str, case: str = "tiny", **options):
    backend = open_backend("subprocess")
    return run_process_diagnostic(
        PROBLEM, source, "triton", "forward", case, "typical", 1, backend, **options
    )


def torch_module(body: str) -> str:
    return TORCH_ONLY.replace("BODY", body)


def test_a_right_module_passes():
    found = diagnose(torch_module(""))
    assert found.passed, found
    assert len(found.discrepancies) == 2
    assert found.facts["duration_ns"] > 0


def test_a_wrong_result_is_found_and_named():
    found = diagnose(torch_module("y = y * 1.001"))
    assert found.outcome == "compared"
    assert [d.passed for d in found.discrepancies] == [False, True]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return y", "structure"),
        ("y = y.double()", "dtype"),
        ("y = y[:1]", "shape"),
        ("y = y + float('nan')", "nonfinite"),
    ],
)
def test_a_result_of_another_kind(body, kind):
    found = diagnose(torch_module(body))
    assert found.outcome == "compared"
    assert found.discrepancies[0].kind == kind
    assert not found.passed


def test_written_inputs_are_noticed():
    found = diagnose(torch_module("x.zero_()"))
    assert found.facts["modified"] == ["x"]
    assert not found.passed


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("import os; os._exit(0)", "crashed"),
        ("import os; os.kill(os.getpid(), 11)", "crashed"),
        ("raise ValueError('no')", "error"),
        (DECLINE, "declined"),
        ("return object()", "error"),
    ],
)
def test_no_answer_is_no_pass(body, outcome):
    found = diagnose(torch_module(body))
    assert found.outcome == outcome
    assert not found.passed


def test_a_syntax_error_is_an_error_with_its_message():
    found = diagnose("def forward(:")
    assert found.outcome == "error"
    assert "SyntaxError" in found.message


def test_an_endless_loop_meets_the_limit():
    found = diagnose(torch_module("while True: pass"), limits=Limits(wall_s=8.0))
    assert found.outcome == "resource_limit"


def test_a_forgotten_mask_is_a_fault_at_its_line():
    pytest.importorskip("ttsem")
    store = "tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)"
    unmasked = store.replace("inside", "column < dim")
    source = SOURCE.replace(store, unmasked)
    assert source != SOURCE
    found = diagnose(source, "ragged-bf16")
    assert found.outcome == "fault"
    assert found.facts["kind"] == "oob_write"
    assert source.splitlines()[found.facts["line"] - 1].strip() == unmasked


def test_executor_by_dtype():
    assert executor_for({"x": jnp.ones(2), "n": jnp.ones(2, "int32")}) == "interpreter"
    assert executor_for({"x": jnp.ones(2, "bfloat16"), "n": jnp.ones(2)}) == "ttsem"


FILES = {"a.raw": np.arange(6, dtype=np.float32).tobytes()}


class TestAnswer:
    def leaf(self, **changes):
        return {"shape": [2, 3], "dtype": "float32", "file": "a.raw", **changes}

    def test_arrays_and_containers(self):
        found = _decode({"tuple": [self.leaf(), {"list": [self.leaf(shape=[6])]}]}, FILES)
        assert isinstance(found, tuple)
        assert found[0].shape == (2, 3)
        assert found[1][0].shape == (6,)

    @pytest.mark.parametrize(
        "node",
        [
            None,
            [],
            {"set": []},
            {"tuple": 3},
            {"shape": [2, 3], "dtype": "float32", "file": "missing.raw"},
            {"shape": [7], "dtype": "float32", "file": "a.raw"},
            {"shape": [-1], "dtype": "float32", "file": "a.raw"},
            {"shape": [3], "dtype": "object", "file": "a.raw"},
            {"shape": [3], "dtype": "no_dtype", "file": "a.raw"},
            {"shape": [6], "dtype": "float32", "file": "a.raw", "pickle": "x"},
        ],
    )
    def test_malformed_ones_are_refused(self, node):
        with pytest.raises(AnswerError):
            _decode(node, FILES)

    def test_deep_nesting_is_refused(self):
        node = self.leaf()
        for _ in range(9):
            node = {"list": [node]}
        with pytest.raises(AnswerError):
            _decode(node, FILES)
