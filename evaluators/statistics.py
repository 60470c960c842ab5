"""Intervals and tests on paired times (scipy.stats). A ratio is baseline over candidate."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Interval:
    """A ratio with a two-sided confidence interval."""

    ratio: float
    low: float
    high: float
    confidence: float

    @property
    def half_width(self) -> float:
        """Half the interval's width relative to the ratio: 0.015 is plus or minus 1.5 %."""
        return (self.high - self.low) / (2 * self.ratio)


def log_ratios(pairs: Pairs) -> np.ndarray:
    """Natural log of baseline over candidate for each pair; times in any one unit, above 0."""
    times = np.asarray(pairs, dtype=np.float64)
    return np.log(np.maximum(times[:, 0], 1.0)) - np.log(np.maximum(times[:, 1], 1.0))


def median_interval(pairs: Pairs, confidence: float) -> Interval:
    """Median ratio of the pairs, with the exact order-statistic interval.

    It assumes independent pairs and nothing about their distribution. With too few pairs for the
    level asked, the interval is the whole range of what was seen, widened to no claim at all.
    """
    logs = log_ratios(pairs)
    found = stats.quantile_test(logs, q=0.0, p=0.5).confidence_interval(confidence)
    low = float(np.exp(found.low)) if np.isfinite(found.low) else 0.0
    # A record is JSON, which has no infinity.
    high = float(np.exp(found.high)) if np.isfinite(found.high) else sys.float_info.max
    return Interval(float(np.exp(np.median(logs))), low, high, confidence)


def pooled_interval(cells: Sequence[Pairs], confidence: float) -> Interval:
    """Geometric mean of the cells' median ratios, with a stratified bootstrap interval."""
    if len(cells) == 1:
        return median_interval(cells[0], confidence)
    logs = [log_ratios(pairs) for pairs in cells]
    found = stats.bootstrap(
        logs,
        _mean_of_medians,
        n_resamples=9_999,
        confidence_level=confidence,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(0),
    ).confidence_interval
    centre = _mean_of_medians(*logs, axis=-1)
    return Interval(
        float(np.exp(centre)), float(np.exp(found.low)), float(np.exp(found.high)), confidence
    )


def _mean_of_medians(*samples: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.mean([np.median(sample, axis=axis) for sample in samples], axis=0)


def worse_p(pairs: Pairs, margin: float) -> float:
    """P-value against "the candidate is slower by `margin` or more" (one-sided sign test).

    Small means that it is shown to be no worse; undecided is large, and counts as worse.
    """
    logs = log_ratios(pairs)
    better = int(np.sum(logs > -np.log1p(margin)))
    return float(stats.binomtest(better, len(logs), 0.5, alternative="greater").pvalue)


def corrected_confidence(confidence: float, candidates_measured: int) -> float:
    """Bonferroni: the level at which one of `candidates_measured` may claim a gain."""
    return 1 - (1 - confidence) / max(1, candidates_measured)
