"""The rule by which results are right or wrong."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from reference_kernels.accuracy import Discrepancy, compare
from reference_kernels.problem import Tolerance

TOLERANCE = Tolerance()
DTYPES = {"float32": np.dtype(np.float32), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def passed(result, plain, oracle, tolerance: Tolerance = TOLERANCE) -> bool:
    return all(item.passed for item in compare(result, plain, oracle, tolerance))


@st.composite
def truths(draw) -> np.ndarray:
    """Float64 arrays over many magnitudes, with more than one value in them."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=9))
    seed = draw(st.integers(0, 2**32 - 1))
    scale = 10.0 ** draw(st.integers(-6, 6))
    return scale * normal(*shape, seed=seed)


def summed(terms: np.ndarray) -> np.ndarray:
    """Rows added one after another, in float32."""
    total = np.zeros_like(terms[0])
    for row in terms:
        total = total + row
    return total


class TestHonestResults:
    def test_a_sum_in_another_order_passes(self):
        """The largest error of the plain version is a draw from a tail: some draws are lucky."""
        random = np.random.default_rng(5)
        for _ in range(500):
            terms = random.standard_normal((37, 197))
            # As the gradient of a weight is: a few columns hold nearly all.
            terms[random.integers(0, 37, 37), random.integers(0, 197, 37)] *= 14.0
            single = terms.astype(np.float32)
            true = single.astype(np.float64).sum(axis=0)
            reordered = summed(single[random.permutation(37)])
            assert passed(reordered, summed(single), true, Tolerance(factor=3.0, floor_ulps=2.0))

    @settings(deadline=None)
    @given(truths(), st.sampled_from(sorted(DTYPES)))
    def test_rounding_passes(self, true, dtype):
        rounded = true.astype(DTYPES[dtype])
        assert passed(rounded, rounded, true)

    @settings(deadline=None)
    @given(truths(), st.sampled_from(sorted(DTYPES)), st.integers(0, 99))
    def test_another_rounding_passes(self, true, dtype, seed):
        """Truncated where plain rounds to nearest, up or down by one unit."""
        plain = true.astype(DTYPES[dtype])
        unit = float(ml_dtypes.finfo(DTYPES[dtype]).eps)
        sign = np.random.default_rng(seed).choice([-1.0, 1.0], true.shape)
        other = (true * (1 + sign * unit / 2)).astype(DTYPES[dtype])
        assert passed(other, plain, true)

    def test_result_better_than_plain_passes(self):
        true = normal(8, 8)
        plain = (true + 0.01 * normal(8, 8, seed=1)).astype(np.float32)
        assert passed(true.astype(np.float32), plain, true)

    def test_exact_zeros_pass(self):
        zeros = np.zeros((3, 4))
        assert passed(zeros.astype(np.float32), zeros.astype(np.float32), zeros)

    def test_empty_arrays_pass(self):
        assert passed(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), np.zeros((0, 3)))

    def test_same_non_finite_positions_pass(self):
        true = normal(4, 4)
        true[0] = [np.inf, -np.inf, np.nan, 1.0]
        assert passed(true.astype(np.float32), true.astype(np.float32), true)


class TestWrongResults:
    @settings(deadline=None)
    @given(truths(), st.sampled_from(sorted(DTYPES)), st.data())
    def test_fails(self, true, dtype, data):
        plain = true.astype(DTYPES[dtype])
        wrong = {
            "zeros": np.zeros_like(plain),
            "mean": np.full_like(plain, true.mean()),
            "negated": -plain,
            "5 % off": (true * 1.05).astype(plain.dtype),
            "nan": np.full_like(plain, np.nan),
            "inf": np.full_like(plain, np.inf),
        }
        name = data.draw(st.sampled_from(sorted(wrong)))
        assert not passed(wrong[name], plain, true), name

    @settings(deadline=None)
    @given(truths(), st.data())
    def test_one_bad_element_fails(self, true, data):
        plain = true.astype(np.float32)
        result = plain.copy()
        index = tuple(data.draw(st.integers(0, n - 1)) for n in true.shape)
        result[index] += np.float32(np.sqrt(np.mean(true**2)))
        assert not passed(result, plain, true)
        result[index] = np.nan
        assert not passed(result, plain, true)

    def test_one_bad_slice_among_many_fails(self):
        """In total its error drowns: it is one part in a thousand of the rms."""
        true = normal(1000, 16)
        result = true.astype(np.float32)
        result[7] *= np.float32(1.00001)
        (found,) = compare(result, true.astype(np.float32), true, TOLERANCE)
        assert (found.kind, found.where, found.passed) == ("slice", "axis 0[7]", False)

    def test_non_finite_where_the_truth_is_finite_fails(self):
        true = normal(4, 4)
        for value in (np.nan, np.inf, -np.inf):
            result = true.astype(np.float32)
            result[1, 2] = value
            (found,) = compare(result, true.astype(np.float32), true, TOLERANCE)
            assert (found.kind, found.error, found.passed) == ("nonfinite", 1.0, False)

    def test_finite_where_the_truth_is_not_fails(self):
        true = normal(4, 4)
        plain = true.astype(np.float32)
        true[0, 0] = np.inf
        assert not passed(plain, plain, true)

    def test_wrong_sign_of_infinity_fails(self):
        true = normal(4, 4)
        true[0, 0] = np.inf
        plain, result = true.astype(np.float32), true.astype(np.float32)
        result[0, 0] = -np.inf
        assert not passed(result, plain, true)

    def test_nan_in_plain_excuses_nothing(self):
        true = normal(4, 4)
        plain = true.astype(np.float32)
        plain[0, 0] = np.nan
        assert not passed(np.zeros_like(plain), plain, true)


class TestForm:
    def test_structure_dtype_and_shape_come_first(self):
        true = normal(4, 4)
        plain = true.astype(np.float32)
        for result, kind in (
            ((plain, plain), "structure"),
            (true, "dtype"),
            (plain[:2], "shape"),
            (plain.T[:3], "shape"),
        ):
            (found,) = compare(result, plain, true, TOLERANCE)
            assert (found.kind, found.passed) == (kind, False)

    def test_one_finding_a_leaf_under_its_path(self):
        true = {"a": normal(3), "b": [normal(2, 2)]}
        plain = {"a": true["a"].astype(np.float32), "b": [true["b"][0].astype(np.float32)]}
        wrong = {"a": plain["a"], "b": [plain["b"][0] * 2]}
        found = compare(wrong, plain, true, TOLERANCE)
        assert [(item.leaf, item.passed) for item in found] == [
            ("['a']", True),
            ("['b'][0]", False),
        ]


class TestDiscrepancy:
    def test_nan_error_fails(self):
        assert not Discrepancy("", "total", float("nan"), 1.0).passed
        assert not Discrepancy("", "total", 1.0, float("nan")).passed

    def test_ratio(self):
        assert Discrepancy("", "total", 1.0, 4.0).ratio == 0.25
        assert Discrepancy("", "total", 0.0, 0.0).ratio == 0.0
        assert Discrepancy("", "total", 1.0, 0.0).ratio == float("inf")


class TestTolerance:
    def test_accumulation_is_a_floor_for_float32_alone(self):
        """It widens what float32 results may lose, and never hides 5 % of a bfloat16 one."""
        true = normal(32, 32)
        wide = Tolerance(factor=2.0, floor_ulps=2.0, accumulation_ulps=64.0)
        plain = true.astype(np.float32)
        off = (true * (1 + 1.5e-6)).astype(np.float32)
        assert not passed(off, plain, true)
        assert passed(off, plain, true, wide)
        narrow = true.astype(ml_dtypes.bfloat16)
        assert not passed((true * 1.05).astype(ml_dtypes.bfloat16), narrow, true, wide)

    @pytest.mark.parametrize("factor", [1.0, 4.0])
    def test_factor_is_of_plains_own_error(self, factor):
        true = normal(64, 64)
        noise = 1e-2 * normal(64, 64, seed=1)
        plain = (true + noise).astype(np.float32)
        for scale, expected in ((0.9, True), (1.1, False)):
            result = (true + scale * factor * noise).astype(np.float32)
            assert passed(result, plain, true, Tolerance(factor, 0.0)) is expected
