"""What `rms_norm` promises beyond the contract of every op."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import export

from reference_kernels import accuracy, catalog
from reference_kernels.errors import UnsupportedError
from reference_kernels.problem import Case, Tree, case
from reference_kernels.rms_norm import pallas_tpu, plain, rms_norm, xla
from reference_kernels.rms_norm.op import PROBLEM
from reference_kernels.testing import OpContract

JAX_IMPLEMENTATIONS = ("plain", "xla", "pallas_tpu")
ENTRIES = ("forward", "forward_with_grad")


class TestContract(OpContract):
    op = "rms_norm"


def draw(each: Case, entry: str, distribution: str = "typical", seed: int = 0) -> dict[str, Tree]:
    return PROBLEM.entry(entry).inputs(jax.random.key(seed), each, distribution)


def run(name: str, entry: str, each: Case, arguments: dict[str, Tree], config=None) -> Tree:
    module = catalog.module("rms_norm", name)
    extra = {"interpret": True} if PROBLEM.implementation(name).interpret else {}
    function = getattr(module, entry)
    return function(**arguments, **each.statics, **extra, config=config or module.Config())


def failures(result: Tree, each: Case, entry: str, arguments: dict[str, Tree]) -> list:
    """The comparisons with the oracle that do not pass."""
    base = run("plain", entry, each, arguments)
    with jax.enable_x64(True):
        exact = jax.tree.map(lambda a: np.asarray(a).astype(np.float64), arguments)
        truth = jax.tree.map(np.asarray, PROBLEM.entry(entry).oracle(exact, each.statics))
    found = accuracy.compare(result, base, truth, PROBLEM.tolerance)
    return [item for item in found if not item.passed]


class TestPublicFunction:
    def test_with_residual_returns_the_next_residual(self):
        x, residual = jnp.ones((2, 8)), jnp.full((2, 8), 2.0)
        y, h = rms_norm(x, jnp.ones(8), residual)
        np.testing.assert_array_equal(h, x + residual)
        np.testing.assert_allclose(y, np.ones((2, 8)), rtol=1e-6)

    def test_without_residual_returns_one_array(self):
        y = rms_norm(jnp.full((3, 2, 8), -4.0), jnp.ones(8))
        np.testing.assert_allclose(y, -np.ones((3, 2, 8)), rtol=1e-6)

    @pytest.mark.parametrize("name", JAX_IMPLEMENTATIONS[:2])
    def test_one_plus_weight_equals_that_weight(self, name):
        x = jax.random.normal(jax.random.key(0), (4, 16))
        weight = jax.random.normal(jax.random.key(1), (16,))
        offset = rms_norm(x, weight, weight_offset=1.0, implementation=name)
        np.testing.assert_allclose(offset, rms_norm(x, 1 + weight, implementation=name), rtol=1e-6)

    def test_zero_weight_is_the_identity_scale_of_gemma(self):
        x = jax.random.normal(jax.random.key(0), (4, 16))
        expected = rms_norm(x, jnp.ones(16))
        np.testing.assert_array_equal(rms_norm(x, jnp.zeros(16), weight_offset=1.0), expected)

    def test_one_dimensional_input(self):
        assert rms_norm(jnp.ones(8), jnp.ones(8)).shape == (8,)

    def test_named_implementation_that_declines_says_why(self):
        with pytest.raises(UnsupportedError, match="float16"):
            rms_norm(jnp.ones((2, 8), "float16"), jnp.ones(8), implementation="pallas_tpu")


class TestNumerics:
    @pytest.mark.parametrize("name", JAX_IMPLEMENTATIONS)
    def test_sums_are_wider_than_bfloat16(self, name):
        # Added up in bfloat16, 4096 ones stop at 256.
        x = jnp.ones((16, 4096), jnp.bfloat16)
        module = catalog.module("rms_norm", name)
        extra = {"interpret": True} if name == "pallas_tpu" else {}
        y = module.forward(x=x, weight=jnp.ones(4096, jnp.bfloat16), **extra)
        np.testing.assert_array_equal(y.astype(jnp.float32), np.ones((16, 4096), np.float32))

    @pytest.mark.parametrize("name", JAX_IMPLEMENTATIONS)
    def test_bfloat16_weight_gradient_is_summed_in_float32(self, name):
        # 4096 equal terms: a bfloat16 running sum stops at 256 of them.
        each = case("sum", "smoke", dtype="bfloat16", rows=4096, dim=8, static=STATIC)
        ones = jnp.ones((4096, 8), jnp.bfloat16)
        arguments = {"x": ones, "weight": ones[0], "cotangents": ones}
        _, gradients = run(name, "forward_with_grad", each, arguments)
        np.testing.assert_array_equal(gradients["weight"].astype(jnp.float32), 4096.0)

    @pytest.mark.parametrize("name", JAX_IMPLEMENTATIONS)
    def test_zero_rows_have_finite_gradients(self, name):
        each = case("zero", "smoke", rows=3, dim=8, residual=1, static=STATIC)
        zeros = jnp.zeros((3, 8))
        arguments = {
            "x": zeros,
            "residual": zeros,
            "weight": jnp.ones(8),
            "cotangents": (jnp.ones((3, 8)), zeros),
        }
        (y, _), gradients = run(name, "forward_with_grad", each, arguments)
        np.testing.assert_array_equal(y, zeros)
        np.testing.assert_allclose(gradients["x"], np.full((3, 8), 1e3), rtol=1e-5)

    @pytest.mark.parametrize("entry", ENTRIES)
    @pytest.mark.parametrize("config", [{"square_sum": "dot"}, {"materialize": False}])
    @pytest.mark.parametrize("weight_sum", ["reduce", "dot"])
    def test_xla_choices_agree_with_the_oracle(self, entry, config, weight_sum):
        each = PROBLEM.case("ragged")
        arguments = draw(each, entry, "outlier")
        result = run("xla", entry, each, arguments, xla.Config(**config, weight_sum=weight_sum))
        assert not failures(result, each, entry, arguments)

    @pytest.mark.parametrize("module", [plain, xla])
    def test_jax_differentiates_twice_and_forward(self, module):
        def total(x):
            return jnp.sum(module.forward(x=x, weight=jnp.ones(4)) ** 3)

        x = jax.random.normal(jax.random.key(3), (2, 4))
        forward = jax.jacfwd(jax.grad(total))(x)
        reverse = jax.jacrev(jax.grad(total))(x)
        np.testing.assert_allclose(forward, reverse, atol=1e-5)


STATIC = {"eps": 1e-6, "weight_offset": 0.0}


class TestPallas:
    @settings(max_examples=12, deadline=None, derandomize=True)
    @given(
        rows=st.integers(1, 70),
        # Rows of a few elements are left out: their dx is what cancellation leaves of larger terms.
        dim=st.integers(8, 150),
        residual=st.integers(0, 1),
        block_rows=st.sampled_from([16, 32, 64]),
        dtype=st.sampled_from(["float32", "bfloat16"]),
        distribution=st.sampled_from(PROBLEM.distributions),
    )
    def test_any_shape_with_gradients(self, rows, dim, residual, block_rows, dtype, distribution):
        each = case(
            "any", "smoke", dtype=dtype, rows=rows, dim=dim, residual=residual, static=STATIC
        )
        arguments = draw(each, "forward_with_grad", distribution)
        config = pallas_tpu.Config(block_rows=block_rows)
        result = run("pallas_tpu", "forward_with_grad", each, arguments, config)
        assert not failures(result, each, "forward_with_grad", arguments)

    def test_rows_past_the_end_do_not_reach_the_weight_gradient(self):
        # 17 rows in blocks of 16: interpret mode fills the other 15 with NaN.
        each = case("tail", "smoke", rows=17, dim=8, residual=1, static=STATIC)
        arguments = draw(each, "forward_with_grad")
        config = pallas_tpu.Config(block_rows=16)
        _, gradients = run("pallas_tpu", "forward_with_grad", each, arguments, config)
        assert np.isfinite(gradients["weight"]).all()

    def test_jax_grad_runs_the_kernel_of_the_backward(self):
        each = PROBLEM.case("tiny")
        arguments = draw(each, "forward")

        def total(x):
            return pallas_tpu.forward(**{**arguments, "x": x}, interpret=True)[0].sum()

        assert "rms_norm_backward" in str(jax.make_jaxpr(jax.grad(total))(arguments["x"]))

    def test_batched_over_leading_axes(self):
        x = jax.random.normal(jax.random.key(0), (3, 4, 24))
        weight = jnp.ones(24)

        def norm(rows):
            return pallas_tpu.forward(x=rows, weight=weight, interpret=True)

        np.testing.assert_allclose(jax.vmap(norm)(x), norm(x), rtol=1e-6)

    def test_no_rows(self):
        empty = jnp.ones((0, 8))
        assert pallas_tpu.forward(x=empty, weight=jnp.ones(8), interpret=True).shape == (0, 8)

    def test_a_row_too_long_for_vmem_is_declined(self):
        x = jax.ShapeDtypeStruct((1, 1 << 20), "float32")
        weight = jax.ShapeDtypeStruct((1 << 20,), "float32")
        with pytest.raises(UnsupportedError, match="exceed 12 MiB"):
            jax.eval_shape(lambda x, w: pallas_tpu.forward(x=x, weight=w), x, weight)

    @pytest.mark.parametrize("entry", ENTRIES)
    @pytest.mark.parametrize("name", ["tiny", "ragged-bf16", "llama3-70b-prefill-8192"])
    def test_lowers_for_tpu_without_one(self, name, entry):
        program = exported(name, entry, "tpu", interpret=False)
        assert program.mlir_module().count("tpu_custom_call") >= 1
        assert program.serialize()

    @pytest.mark.parametrize("entry", ENTRIES)
    def test_interpreted_it_is_plain_xla(self, entry):
        program = exported("ragged", entry, "cpu", interpret=True)
        assert "custom_call" not in program.mlir_module()

    def test_every_declared_choice_lowers(self):
        for name in ("block_rows", "vmem_mib"):
            field = next(f for f in dataclasses.fields(pallas_tpu.Config) if f.name == name)
            for choice in field.metadata["choices"]:
                config = pallas_tpu.Config(**{name: choice})
                exported(
                    "llama3-70b-prefill-8192", "forward", "tpu", interpret=False, config=config
                )


def exported(
    name: str, entry: str, platform: str, *, interpret: bool, config=None
) -> export.Exported:
    each = PROBLEM.case(name)
    function = getattr(pallas_tpu, entry)

    def program(arguments):
        return function(
            **arguments, **each.statics, config=config or pallas_tpu.Config(), interpret=interpret
        )

    arguments = PROBLEM.entry(entry).arguments(each)
    return export.export(jax.jit(program), platforms=[platform])(arguments)


class TestCost:
    def test_bytes_of_a_case_by_hand(self):
        cost = PROBLEM.entry("forward").cost(PROBLEM.case("qwen3-next-512"))
        activations = 512 * 2048 * 4
        assert cost.bytes_read == 2 * activations + 2048 * 4
        assert cost.bytes_written == 2 * activations

    def test_gradient_reads_cotangents_and_writes_gradients(self):
        cost = PROBLEM.entry("forward_with_grad").cost(PROBLEM.case("qwen3-qk-norm-256"))
        activations, weight = 256 * 32 * 128 * 4, 128 * 4
        assert cost.bytes_read == 2 * activations + weight
        assert cost.bytes_written == 2 * activations + weight


@pytest.mark.parametrize(
    ("x", "weight", "residual"),
    [
        (jnp.ones((2, 4), "int32"), jnp.ones(4), None),
        (jnp.ones((2, 4)), jnp.ones(1), None),
        (jnp.ones((2, 4)), jnp.ones((1, 4)), None),
        (jnp.ones((2, 4)), jnp.ones(4), jnp.ones((1, 4))),
    ],
)
def test_what_would_broadcast_or_truncate_is_refused(x, weight, residual):
    # jaxtyping's hook may see it first; without it the op's own check does.
    with pytest.raises((ValueError, TypeError)):
        rms_norm(x, weight, residual)
