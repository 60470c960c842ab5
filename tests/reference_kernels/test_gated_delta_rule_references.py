"""The oracle of `gated_delta_rule` against implementations that other people wrote.

Theirs compute in float32, on a CPU here; ours in float64.
"""

from __future__ import annotations

import inspect
import warnings

import jax
import numpy as np
import pytest
import torch

from reference_kernels.gated_delta_rule.op import PROBLEM
from reference_kernels.problem import Case, Tree
from reference_kernels.testing import inputs, truth

with warnings.catch_warnings():
    # Importing them warns of their own dependencies, and that there is no GPU.
    warnings.simplefilter("ignore")
    from fla.ops.gated_delta_rule import naive
    from transformers.models.qwen3_next import modeling_qwen3_next as qwen3_next

OP = "gated_delta_rule"
CASES = [c for c in PROBLEM.tagged("smoke") if c.dtype == "float32"]


def tensors(each: Case, distribution: str, entry: str = "forward") -> dict[str, torch.Tensor]:
    arrays = inputs(OP, entry, each, distribution)
    return {n: torch.tensor(np.asarray(x)) for n, x in arrays.items() if n != "cotangents"}


def prepared(each: Case, given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Keys and queries as fla's naive functions want them: normalised, one for each value head."""
    given = dict(given)
    for name in ("q", "k"):
        if each.statics["use_qk_l2norm"]:
            given[name] = given[name] * torch.rsqrt((given[name] ** 2).sum(-1, True) + 1e-6)
        groups = each["value_heads"] // each["heads"]
        given[name] = given[name].repeat_interleave(groups, dim=2)
    return given


def assert_close(found: Tree, exact: Tree, limit: float = 1e-4) -> None:
    for got, want in zip(found, exact, strict=True):
        got = got.detach().numpy()
        error = np.abs(got - want).max() / np.sqrt(np.mean(want**2))
        assert got.shape == want.shape
        assert error < limit, error


def chunked_limit(distribution: str) -> float:
    """Their chunked forms subtract sums of gates from the chunk's start, and lose digits so."""
    return 1e-3 if distribution == "extreme_gates" else 1e-4


@pytest.mark.parametrize("distribution", PROBLEM.distributions)
@pytest.mark.parametrize("each", CASES, ids=lambda c: c.name)
class TestForward:
    def test_fla_recurrent(self, each, distribution):
        # Argument order differs between fla's two naive functions: names only.
        found = naive.naive_recurrent_gated_delta_rule(
            **prepared(each, tensors(each, distribution)),
            scale=each.statics["scale"],
            output_final_state=True,
        )
        assert_close(found, truth(OP, "forward", each, distribution))

    def test_fla_chunked(self, each, distribution):
        found = naive.naive_chunk_gated_delta_rule(
            **prepared(each, tensors(each, distribution)),
            scale=each.statics["scale"],
            output_final_state=True,
        )
        assert_close(found, truth(OP, "forward", each, distribution), chunked_limit(distribution))


@pytest.mark.parametrize("name", ["chunk", "recurrent"])
@pytest.mark.parametrize("distribution", PROBLEM.distributions)
@pytest.mark.parametrize("each", [c for c in CASES if not c.statics["scale"]], ids=lambda c: c.name)
def test_transformers(each, distribution, name):
    # The decorated function calls fla's Triton kernel where fla is installed.
    function = inspect.unwrap(getattr(qwen3_next, f"torch_{name}_gated_delta_rule"))
    given = tensors(each, distribution)
    found = function(
        given.pop("q"),
        given.pop("k"),
        given.pop("v"),
        **given,
        output_final_state=True,
        use_qk_l2norm_in_kernel=each.statics["use_qk_l2norm"],
    )
    assert_close(found, truth(OP, "forward", each, distribution), chunked_limit(distribution))


@pytest.mark.parametrize("distribution", PROBLEM.distributions)
@pytest.mark.parametrize("each", CASES, ids=lambda c: c.name)
def test_gradients_are_those_of_torch_autograd(each, distribution):
    given = tensors(each, distribution, "forward_with_grad")
    for tensor in given.values():
        tensor.requires_grad_()
    results = naive.naive_recurrent_gated_delta_rule(
        **prepared(each, given), scale=each.statics["scale"], output_final_state=True
    )
    drawn = inputs(OP, "forward_with_grad", each, distribution)["cotangents"]
    cotangents = [torch.tensor(np.asarray(leaf)) for leaf in jax.tree.leaves(drawn)]
    found = torch.autograd.grad(results, list(given.values()), cotangents)
    values, gradients = truth(OP, "forward_with_grad", each, distribution)
    assert_close(results, values)
    assert_close(found, [gradients[name] for name in given])


@pytest.mark.parametrize("distribution", PROBLEM.distributions)
def test_decode_is_transformers_recurrent_step(distribution):
    each = PROBLEM.case("tiny-one-token")
    given = {n: x[:, None] for n, x in tensors(each, distribution, "decode").items()}
    state = given.pop("initial_state")[:, 0]
    function = inspect.unwrap(qwen3_next.torch_recurrent_gated_delta_rule)
    out, state = function(
        given.pop("q"),
        given.pop("k"),
        given.pop("v"),
        **given,
        initial_state=state,
        output_final_state=True,
    )
    assert_close((out[:, 0], state), truth(OP, "decode", each, distribution))
