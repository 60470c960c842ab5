"""Intervals cover what they claim, and a test that is undecided says so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators import statistics


def pairs(rng: np.random.Generator, count: int, ratio: float, noise: float) -> list:
    """`count` (baseline, candidate) pairs of about 1 ms with lognormal noise and outliers."""
    base = 1e6 * np.exp(noise * rng.standard_normal(count))
    other = 1e6 / ratio * np.exp(noise * rng.standard_normal(count))
    other[rng.random(count) < 0.05] *= 3
    return [(int(b), int(c)) for b, c in zip(base, other, strict=True)]


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_median_interval_covers_at_its_level(confidence: float) -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        found = statistics.median_interval(pairs(rng, 30, 1.1, 0.05), confidence)
        # The outliers move the true median of the ratio by less than half a per cent.
        covered += found.low <= 1.1 * 1.004 and found.high >= 1.1 * 0.996
    assert covered / 400 >= confidence - 0.03


def test_an_aa_pair_rarely_shows_a_gain() -> None:
    rng = np.random.default_rng(2)
    gains = sum(
        statistics.median_interval(pairs(rng, 30, 1.0, 0.05), 0.95).low > 1.03 for _ in range(400)
    )
    assert gains <= 8


def test_a_true_gain_is_found() -> None:
    rng = np.random.default_rng(3)
    found = [statistics.median_interval(pairs(rng, 60, 1.1, 0.03), 0.95) for _ in range(50)]
    assert sum(interval.low > 1.03 for interval in found) >= 48


def test_too_few_pairs_claim_nothing() -> None:
    found = statistics.median_interval([(1000, 500), (1000, 500), (1000, 500)], 0.999)
    assert found.low == 0
    assert found.high > 1e300


def test_pooling_weighs_cells_alike() -> None:
    rng = np.random.default_rng(4)
    cells = [pairs(rng, 60, 1.2, 0.02), pairs(rng, 200, 1.0, 0.02)]
    found = statistics.pooled_interval(cells, 0.95)
    assert found.ratio == pytest.approx(np.sqrt(1.2), rel=0.01)
    assert found.low < found.ratio < found.high


def test_undecided_counts_as_worse() -> None:
    rng = np.random.default_rng(5)
    assert statistics.worse_p(pairs(rng, 60, 1.0, 0.005), 0.03) < 0.05
    assert statistics.worse_p(pairs(rng, 60, 0.9, 0.005), 0.03) > 0.9
    assert statistics.worse_p(pairs(rng, 6, 1.0, 0.5), 0.03) > 0.05


@given(st.integers(1, 10_000))
def test_the_correction_never_asks_for_less(count: int) -> None:
    level = statistics.corrected_confidence(0.95, count)
    assert 0.95 <= level < 1
    assert (1 - level) * count == pytest.approx(0.05)
