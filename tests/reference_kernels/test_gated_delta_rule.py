"""What `gated_delta_rule` promises: the contract of every op, and what is its own."""

from __future__ import annotations

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from reference_kernels.errors import UnsupportedError
from reference_kernels.gated_delta_rule import gated_delta_rule, gated_delta_rule_decode, plain, xla
from reference_kernels.gated_delta_rule.cases import MODEL
from reference_kernels.gated_delta_rule.op import PROBLEM
from reference_kernels.problem import Case, case
from reference_kernels.testing import OpContract, failures, inputs, truth
from reference_kernels.testing.trial import compiled

OP = "gated_delta_rule"
CONFIGS = [
    xla.Config(chunk, inverse, correction, local)
    for chunk, inverse, correction, local in product(
        (16, 64), ("blocked", "solve"), ("ahead", "in_scan"), ("ahead", "in_scan")
    )
]
FORMS = [
    xla.Config(inverse=i, correction=c)
    for i, c in product(("blocked", "solve"), ("ahead", "in_scan"))
]


def shape(seq: int, batch: int = 1, heads: int = 1, groups: int = 2, **other: int) -> Case:
    sizes = {"key_dim": 16, "value_dim": 8, "initial": 1, **other}
    return case(
        "other",
        "smoke",
        batch=batch,
        seq=seq,
        heads=heads,
        value_heads=heads * groups,
        static=MODEL,
        **sizes,
    )


class TestContract(OpContract):
    op = OP
    smooth = ("typical", "correlated_keys", "masked_tokens")


class TestChunks:
    @settings(max_examples=12, deadline=None, derandomize=True)
    @given(
        seq=st.integers(1, 150),
        batch=st.integers(1, 2),
        heads=st.integers(1, 2),
        groups=st.integers(1, 3),
        config=st.sampled_from(CONFIGS),
        distribution=st.sampled_from(PROBLEM.distributions),
    )
    def test_any_length_equals_the_recurrence(
        self, seq, batch, heads, groups, config, distribution
    ):
        each = shape(seq, batch, heads, groups)
        arrays = inputs(OP, "forward", each, distribution)
        result = compiled(OP, "xla", "forward", each, config)(**arrays)
        assert not failures(OP, "forward", each, distribution, result)

    @pytest.mark.parametrize("implementation", ["plain", "xla"])
    @pytest.mark.parametrize("cut", [1, 64, 77])
    def test_sequence_in_two_parts_equals_the_whole(self, implementation, cut):
        each = shape(seq=100)
        arrays = inputs(OP, "forward", each, "typical")
        forward = compiled(OP, implementation, "forward", each)
        state = arrays["initial_state"]
        tokens = {name: x for name, x in arrays.items() if name != "initial_state"}
        first, state = forward(**{n: x[:, :cut] for n, x in tokens.items()}, initial_state=state)
        second, state = forward(**{n: x[:, cut:] for n, x in tokens.items()}, initial_state=state)
        out = jnp.concatenate([first, second], axis=1)
        assert not failures(OP, "forward", each, "typical", (out, state))

    @pytest.mark.parametrize("implementation", ["plain", "xla"])
    def test_decoding_equals_prefill(self, implementation):
        each = shape(seq=20, batch=2)
        arrays = inputs(OP, "forward", each, "typical")
        decode = compiled(OP, implementation, "decode", each)
        state = arrays.pop("initial_state")
        outs = []
        for token in range(each["seq"]):
            out, state = decode(**{n: x[:, token] for n, x in arrays.items()}, initial_state=state)
            outs.append(out)
        assert not failures(OP, "forward", each, "typical", (jnp.stack(outs, axis=1), state))

    @pytest.mark.parametrize("config", FORMS, ids=lambda c: f"{c.inverse}-{c.correction}")
    def test_padding_leaves_the_state_to_the_bit(self, config):
        arrays = inputs(OP, "forward", shape(seq=20), "typical")
        arrays |= {name: jnp.zeros_like(arrays[name]) for name in ("g", "beta")}
        _, state = xla.forward(**arrays, use_qk_l2norm=True, config=config)
        np.testing.assert_array_equal(state, arrays["initial_state"])


class TestTraps:
    """Numerical traps that implementations of this op fell into."""

    @pytest.mark.parametrize("inverse", ["blocked", "solve"])
    @pytest.mark.parametrize("size", [64, 128])
    @pytest.mark.parametrize(("cosine", "beta"), [(0.9, 1.0), (1.0, 1.0), (1.0, 2.0)])
    def test_inverse_of_correlated_keys(self, inverse, size, cosine, beta):
        rng = np.random.default_rng(0)
        keys = rng.standard_normal((size, 128)) * np.sqrt(1 / cosine - 1) + rng.standard_normal(128)
        keys /= np.linalg.norm(keys, axis=1, keepdims=True)
        triangle = np.tril(beta * keys @ keys.T, -1)
        exact = np.linalg.inv(np.eye(size) + triangle)

        def error(found) -> float:
            return float(np.linalg.norm(np.asarray(found) - exact) / np.linalg.norm(exact))

        single = triangle.astype(np.float32)
        config = xla.Config(chunk=size, inverse=inverse)
        assert error(xla._inverse(jnp.asarray(single), config)) < 2e-6

        # (I + A)^-1 = (I - A)(I + A^2)(I + A^4)...: right on paper.
        identity = np.eye(size, dtype=np.float32)
        doubled, power = identity - single, single
        with np.errstate(all="ignore"):
            for _ in range(size.bit_length() - 2):
                power = power @ power
                doubled = doubled @ (identity + power)
            assert not error(doubled) < 1

    @pytest.mark.parametrize("config", FORMS, ids=lambda c: f"{c.inverse}-{c.correction}")
    def test_gradients_stay_finite_whatever_the_gates(self, config):
        each = shape(seq=40)
        arrays = inputs(OP, "forward_with_grad", each, "typical")
        for g in (0.0, -1e-30, -88.0, -1e4, -1e30):
            arrays["g"] = jnp.full_like(arrays["g"], g)
            result = compiled(OP, "xla", "forward_with_grad", each, config)(**arrays)
            for path, leaf in jax.tree_util.tree_leaves_with_path(result):
                assert jnp.isfinite(leaf).all(), (g, jax.tree_util.keystr(path))

    def test_memory_between_two_resets_keeps_its_digits(self):
        """Sums from the chunk's start would have lost those of the gates after a reset."""
        each = shape(seq=64, groups=1)
        arrays = inputs(OP, "forward", each, "typical")
        g = np.full((1, 64, 1), -1e-3, np.float32)
        g[:, :32] = -1e3
        arrays["g"] = jnp.asarray(g)
        out, _ = compiled(OP, "xla", "forward", each)(**arrays)
        plain_out, _ = compiled(OP, "plain", "forward", each)(**arrays)
        np.testing.assert_allclose(out, plain_out, rtol=0, atol=2e-6)


class TestCalls:
    def test_value_heads_share_keys_in_consecutive_groups(self):
        each = shape(seq=10, heads=2, groups=2)
        arrays = inputs(OP, "forward", each, "typical")
        out, state = gated_delta_rule(**arrays, use_qk_l2norm=True)
        alone = {n: x[:, :, 2:3] for n, x in arrays.items() if n in ("v", "g", "beta")}
        alone |= {n: arrays[n][:, :, 1:] for n in ("q", "k")}
        alone["initial_state"] = arrays["initial_state"][:, 2:3]
        out_alone, state_alone = gated_delta_rule(**alone, use_qk_l2norm=True)
        np.testing.assert_allclose(out[:, :, 2:3], out_alone, atol=1e-6)
        np.testing.assert_allclose(state[:, 2:3], state_alone, atol=1e-6)

    def test_no_initial_state_is_a_state_of_zeros(self):
        arrays = inputs(OP, "forward", shape(seq=10), "typical")
        state = arrays.pop("initial_state")
        for implementation in ("plain", "xla"):
            without = gated_delta_rule(**arrays, implementation=implementation)
            zeros = gated_delta_rule(
                **arrays, initial_state=jnp.zeros_like(state), implementation=implementation
            )
            jax.tree.map(np.testing.assert_array_equal, without, zeros)

    def test_scale_multiplies_the_output_alone(self):
        arrays = inputs(OP, "forward", shape(seq=10), "typical")
        out, state = gated_delta_rule(**arrays, use_qk_l2norm=True, scale=1.0)
        default, same = gated_delta_rule(**arrays, use_qk_l2norm=True)
        np.testing.assert_allclose(out / 4, default, rtol=1e-6)
        np.testing.assert_array_equal(state, same)

    def test_shapes_that_do_not_belong_together_are_refused(self):
        arrays = inputs(OP, "forward", shape(seq=10), "typical")
        with pytest.raises((ValueError, TypeCheckError)):
            gated_delta_rule(**{**arrays, "k": arrays["k"][:, 1:]})
        with pytest.raises((ValueError, TypeCheckError)):
            gated_delta_rule(**{**arrays, "beta": arrays["beta"][..., :1]})
        token = inputs(OP, "decode", shape(seq=1, heads=2, groups=1), "typical")
        gates = {n: token[n][:, :1] for n in ("v", "g", "beta", "initial_state")}
        with pytest.raises(ValueError, match="no multiple"):
            gated_delta_rule_decode(**{**token, **gates})

    @pytest.mark.parametrize("module", [plain, xla])
    def test_annotated_shapes_are_checked(self, module):
        arrays = inputs(OP, "forward", shape(seq=10), "typical")
        arrays["g"] = arrays["g"][:, 1:]
        with pytest.raises(TypeCheckError):
            module.forward(**arrays)

    @pytest.mark.parametrize(
        "fields",
        [{"chunk": 48}, {"chunk": 8}, {"inverse": "neumann"}, {"local": ""}, {"unroll": 0}],
        ids=str,
    )
    def test_config_refuses(self, fields):
        with pytest.raises(UnsupportedError):
            xla.Config(**fields)


def test_oracle_is_linear_in_the_values_and_the_state():
    """Doubling both doubles all results: a property of the definition, not of any code."""
    each = shape(seq=30)
    arrays = inputs(OP, "forward", each, "typical")
    once = truth(OP, "forward", each, "typical")
    arrays |= {name: 2 * arrays[name] for name in ("v", "initial_state")}
    twice = compiled(OP, "plain", "forward", each)(**arrays)
    for a, b in zip(once, twice, strict=True):
        np.testing.assert_allclose(2 * a, b, rtol=0, atol=1e-5)


def test_a_transposed_or_narrow_state_is_refused():
    q = jnp.ones((1, 3, 1, 16))
    v, gate = jnp.ones((1, 3, 2, 8)), jnp.zeros((1, 3, 2))
    state = jnp.zeros((1, 2, 16, 8))
    assert gated_delta_rule(q, q, v, gate, gate, state)[1].shape == state.shape
    for wrong in (jnp.zeros((1, 2, 8, 16)), state.astype("bfloat16")):
        # jaxtyping's hook may see it first; without it the op's own check does.
        with pytest.raises((ValueError, TypeError)):
            gated_delta_rule(q, q, v, gate, gate, wrong)
