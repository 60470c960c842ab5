"""How far a result is from the truth, and how far it may be.

The rule (DESIGN.md §4): the yardstick is the error of the op's plain XLA version in the same dtype
against the float64 oracle. A result may be `factor` times as far away, plus a floor from the
dtype's rounding scaled by the oracle's rms; in total, slice by slice along every axis, and in its
largest element. Structure, dtype, shape and non-finite positions come first.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np

from reference_kernels.problem import Tolerance, Tree

PEAK_ROUNDINGS = 4
"""Float32 roundings of the largest element that any one element may be off by."""


@dataclass(frozen=True)
class Discrepancy:
    """The tightest of the comparisons of one result array.

    Attributes:
        leaf: path of the array in the result tree, e.g. `[0]`.
        kind: `structure`, `dtype`, `shape`, `nonfinite`, `total`, `slice`, `element`.
        error: error found (rms or largest absolute, in the array's own unit).
        allowed: the most that would have passed.
        where: which axis and index, for a slice.
    """

    leaf: str
    kind: str
    error: float
    allowed: float
    where: str = ""

    @property
    def passed(self) -> bool:
        # Written so that a NaN fails.
        return bool(self.error <= self.allowed)

    @property
    def ratio(self) -> float:
        """Error over allowance: above 1 is a failure."""
        if self.allowed > 0:
            return self.error / self.allowed
        return 0.0 if self.error == 0 else float("inf")


def compare(result: Tree, plain: Tree, oracle: Tree, tolerance: Tolerance) -> list[Discrepancy]:
    """Judge a result tree.

    Args:
        result: what is judged, arrays in their own dtypes.
        plain: the plain XLA version's result for the same inputs.
        oracle: the truth, float64.

    Returns:
        One `Discrepancy` a leaf, the worst of its comparisons; a single `structure` one when the
        trees differ. All must have `passed`.
    """
    found, want = jax.tree_util.tree_structure(result), jax.tree_util.tree_structure(plain)
    if found != want:
        return [Discrepancy("", "structure", float("inf"), 0.0, f"{found} instead of {want}")]
    worst = []
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(plain)]
    leaves = (jax.tree_util.tree_leaves(tree) for tree in (result, plain, oracle))
    for leaf, got, base, true in zip(paths, *leaves, strict=True):
        checks = _leaf(leaf, np.asarray(got), np.asarray(base), np.asarray(true), tolerance)
        failed = [c for c in checks if not c.passed]
        worst.append(failed[0] if failed else max(checks, key=lambda c: c.ratio))
    return worst


def _leaf(
    leaf: str, got: np.ndarray, base: np.ndarray, true: np.ndarray, tolerance: Tolerance
) -> list[Discrepancy]:
    if got.dtype != base.dtype:
        return [Discrepancy(leaf, "dtype", float("inf"), 0.0, f"{got.dtype} not {base.dtype}")]
    if got.shape != base.shape:
        return [Discrepancy(leaf, "shape", float("inf"), 0.0, f"{got.shape} not {base.shape}")]
    if got.size == 0:
        return [Discrepancy(leaf, "total", 0.0, 0.0)]
    unit = float(jax.numpy.finfo(base.dtype).eps)
    got, base, true = (a.astype(np.float64) for a in (got, base, true))
    mismatch = _nonfinite_mismatches(got, true)
    if mismatch:
        return [Discrepancy(leaf, "nonfinite", float(mismatch), 0.0)]
    finite = np.isfinite(true)
    # An oracle that overflows the dtype makes the plain version's error infinite there: only the
    # finite part measures anything.
    error = np.where(finite, got - np.where(finite, true, 0.0), 0.0)
    own = np.where(finite & np.isfinite(base), base - np.where(finite, true, 0.0), 0.0)
    size = np.where(finite, true, 0.0)
    single = float(np.finfo(np.float32).eps)
    floor = max(tolerance.floor_ulps * unit, tolerance.accumulation_ulps * single)
    checks = [_bound(leaf, "total", _rms(error), _rms(own), _rms(size), tolerance.factor, floor)]
    checks += _slices(leaf, error, own, size, tolerance.factor, floor)
    peak = float(np.abs(error).max())
    # The largest of n rounding errors sits several rms away; the oracle's largest element carries
    # the largest rounding of its own.
    largest = float(np.abs(size).max())
    scale = max(_rms(size), largest / 4)
    # The plain version's largest error is one draw from a tail, and now and then a lucky one: a few
    # float32 roundings of the largest element are no fault of a sum in another order.
    luck = PEAK_ROUNDINGS * single * largest
    own_peak = tolerance.factor * float(np.abs(own).max())
    checks.append(Discrepancy(leaf, "element", peak, own_peak + floor * scale + luck))
    return checks


def _nonfinite_mismatches(got: np.ndarray, true: np.ndarray) -> int:
    same = (
        (np.isnan(got) == np.isnan(true))
        & (np.isposinf(got) == np.isposinf(true))
        & (np.isneginf(got) == np.isneginf(true))
    )
    return int((~same).sum())


def _slices(
    leaf: str, error: np.ndarray, own: np.ndarray, size: np.ndarray, factor: float, floor: float
) -> list[Discrepancy]:
    checks = []
    for axis in range(error.ndim):
        if error.ndim == 1 or error.shape[axis] == 1:
            continue
        rest = tuple(a for a in range(error.ndim) if a != axis)
        err, base, true = (np.sqrt(np.mean(np.square(a), axis=rest)) for a in (error, own, size))
        # A slice where the plain version happens to be exact is no yardstick: its typical relative
        # error is.
        typical = _rms(own) / max(_rms(size), np.finfo(np.float64).tiny) * true
        allowed = factor * np.maximum(base, typical) + floor * true + floor * 0.25 * _rms(size)
        index = int(np.argmax(err / np.maximum(allowed, np.finfo(np.float64).tiny)))
        checks.append(
            Discrepancy(
                leaf, "slice", float(err[index]), float(allowed[index]), f"axis {axis}[{index}]"
            )
        )
    return checks


def _bound(
    leaf: str, kind: str, error: float, own: float, size: float, factor: float, floor: float
) -> Discrepancy:
    return Discrepancy(leaf, kind, error, factor * own + floor * size)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
