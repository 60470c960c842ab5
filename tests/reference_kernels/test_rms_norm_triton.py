"""Numerics of the Triton kernel on a CPU, and that it compiles for GPUs that are not here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evaluators.process import run_process_diagnostic
from reference_kernels.errors import UnsupportedError
from reference_kernels.rms_norm import triton as module
from reference_kernels.rms_norm.op import PROBLEM
from sandbox import open_backend

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

SOURCE = Path(module.__file__).read_text()


@pytest.mark.parametrize(
    ("name", "distribution", "executor"),
    [
        ("tiny", "outlier", "interpreter"),
        ("ragged", "wide_range", "interpreter"),
        ("tiny-heads", "near_zero", "interpreter"),
        ("tiny-bf16", "typical", "ttsem"),
        ("ragged-bf16", "constant_rows", "ttsem"),
        ("deepseek-v3-61-bf16", "large_offset", "ttsem"),
    ],
)
def test_agrees_with_the_oracle(name, distribution, executor):
    if executor == "ttsem":
        pytest.importorskip("ttsem")
    found = run_process_diagnostic(
        PROBLEM, SOURCE, "triton", "forward", name, distribution, 11, open_backend("subprocess")
    )
    assert found.passed, (found.outcome, found.message, found.discrepancies, found.log)
    assert found.facts["executor"] == executor
    assert not found.facts.get("races_unchecked")


def test_rows_share_a_tile_of_any_size():
    for tile in (1024, 8192):
        found = run_process_diagnostic(
            PROBLEM,
            SOURCE,
            "triton",
            "forward",
            "tiny-heads",
            "typical",
            3,
            open_backend("subprocess"),
            config={"tile_elements": tile},
        )
        assert found.passed, found


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (torch.ones(2, 8, dtype=torch.float64), "only float32"),
        (torch.ones(2, 8, requires_grad=True), "no backward"),
        (torch.ones(1, 40_000), "at most 32768"),
    ],
)
def test_declines_what_it_cannot_do(tensor, reason):
    weight = torch.ones(tensor.shape[-1], dtype=tensor.dtype)
    with pytest.raises(UnsupportedError, match=reason):
        module.forward(x=tensor, weight=weight)


def test_import_needs_neither_torch_nor_triton():
    code = (
        "import sys, reference_kernels.rms_norm.triton as m; m.Config();"
        "assert not {'torch', 'triton'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_compiles_to_wide_loads(capability):
    code = COMPILE.format(capability=capability)
    ran = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    wide, narrow = map(int, ran.stdout.split())
    assert wide >= 2
    assert narrow == 0


# In a process of its own: compiling leaves Triton's state behind.
COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from reference_kernels.rms_norm import triton as module
kernel = module._kernel()
types = ["*bf16"] * 5 + ["i32", "i32", "fp32", "fp32"] + ["constexpr"] * 3
aligned = {{(i,): [["tt.divisibility", 16]] for i in (0, 1, 2, 3, 4, 6)}}
compiled = triton.compile(
    ASTSource(
        kernel,
        dict(zip(kernel.arg_names, types, strict=True)),
        constexprs={{"HAS_RESIDUAL": True, "TILE_ROWS": 1, "COLUMNS": 8192}},
        attrs=aligned,
    ),
    target=GPUTarget("cuda", {capability}, 32),
    options={{"num_warps": 8}},
)
ptx = compiled.asm["ptx"]
print(ptx.count("ld.global.v4"), ptx.count("ld.global.b16"))
"""
