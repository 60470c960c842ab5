"""The oracle of `rms_norm` against implementations that other people wrote."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest

from reference_kernels.problem import Case
from reference_kernels.rms_norm.op import PROBLEM

torch = pytest.importorskip("torch")

CASES = [c for c in PROBLEM.tagged("smoke") if c.dtype == "float32"]


def drawn(each: Case, entry: str, distribution: str) -> dict:
    """Inputs in float64, as numpy arrays."""
    arguments = PROBLEM.entry(entry).inputs(jax.random.key(5), each, distribution)
    return jax.tree.map(lambda a: np.asarray(a).astype(np.float64), arguments)


def oracle(each: Case, entry: str, arguments: dict):
    with jax.enable_x64(True):
        result = PROBLEM.entry(entry).oracle(
            jax.tree.map(jax.numpy.asarray, arguments), each.statics
        )
        return jax.tree.map(np.asarray, result)


@pytest.mark.parametrize("distribution", PROBLEM.distributions)
@pytest.mark.parametrize("each", CASES, ids=lambda c: c.name)
def test_oracle_is_torchs_rms_norm_with_gradients(each, distribution):
    arguments = drawn(each, "forward_with_grad", distribution)
    values, gradients = oracle(each, "forward_with_grad", arguments)

    names = [n for n in ("x", "weight", "residual") if n in arguments]
    tensors = {n: torch.tensor(arguments[n], requires_grad=True) for n in names}
    h = tensors["x"] + tensors["residual"] if "residual" in tensors else tensors["x"]
    gain = each.statics["weight_offset"] + tensors["weight"]
    y = torch.nn.functional.rms_norm(h, (each["dim"],), gain, each.statics["eps"])
    results = (y, h) if "residual" in tensors else (y,)
    cotangents = jax.tree.leaves(arguments["cotangents"])
    torch.autograd.backward(results, [torch.tensor(c) for c in cotangents])

    for mine, theirs in zip(jax.tree.leaves(values), results, strict=True):
        np.testing.assert_allclose(mine, theirs.detach().numpy(), rtol=1e-12, atol=1e-13)
    for name in names:
        theirs = tensors[name].grad.numpy()
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(gradients[name], theirs, rtol=1e-9, atol=1e-11 * scale)


def transformers_norm(model: str, dim: int, eps: float):
    with warnings.catch_warnings():
        # The import of transformers warns of its own optional parts; none of them is used here.
        warnings.simplefilter("ignore")
        if model == "llama":
            from transformers.models.llama.modeling_llama import LlamaRMSNorm as Norm
        else:
            from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextRMSNorm as Norm
    return Norm(dim, eps=eps)


@pytest.mark.parametrize(
    ("model", "name"),
    [("llama", "ragged"), ("qwen3_next", "tiny-plus-one"), ("qwen3_next", "tiny-heads")],
)
@pytest.mark.parametrize("distribution", PROBLEM.distributions)
def test_oracle_is_the_models_norm(model, name, distribution):
    each = PROBLEM.case(name)
    assert each.statics["weight_offset"] == (1.0 if model == "qwen3_next" else 0.0)
    arguments = drawn(each, "forward", distribution)
    result = oracle(each, "forward", arguments)
    y, h = result if "residual" in arguments else (result, arguments["x"])
    norm = transformers_norm(model, each["dim"], each.statics["eps"])
    with torch.no_grad():
        norm.weight.copy_(torch.tensor(arguments["weight"]))
        # These modules compute in float32.
        theirs = norm(torch.tensor(h, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(y, theirs, rtol=1e-5, atol=1e-6)
