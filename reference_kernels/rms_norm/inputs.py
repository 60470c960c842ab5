"""Input distributions of `rms_norm`: the typical one first, then those that break norms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from reference_kernels.problem import Case, Tree

DISTRIBUTIONS = (
    "typical",
    "wide_range",
    "near_zero",
    "large_offset",
    "outlier",
    "constant_rows",
)


def shape(case: Case) -> tuple[int, ...]:
    """Shape of `x`: `[rows, dim]`, or `[rows, heads, dim]` where a case has heads."""
    heads = case.get("heads")
    return (case["rows"], heads, case["dim"]) if heads else (case["rows"], case["dim"])


def draw(key: jax.Array, case: Case, distribution: str) -> dict[str, Tree]:
    """Arguments of `forward`: `x`, `weight` and, where the case has one, `residual`.

    `x` and `residual` come from the same distribution, so that neither drowns the other. The weight
    is spread around what a model initialises it to (1 minus the offset).
    """
    # numpy: eager jax takes three times as long, and a timing draws anew for every call.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    offset = float(case.statics.get("weight_offset") or 0.0)
    weight = (1.0 - offset) + 0.3 * rng.standard_normal(case["dim"], np.float32)
    arrays = {"x": _activations(rng, shape(case), distribution), "weight": weight}
    if case.get("residual"):
        arrays["residual"] = _activations(rng, shape(case), distribution)
    return {name: jnp.asarray(x, jnp.dtype(case.dtype)) for name, x in arrays.items()}


def _activations(rng: np.random.Generator, shape: tuple[int, ...], distribution: str) -> np.ndarray:
    """Activations of one distribution, float32 `[..., dim]`."""
    noise = rng.standard_normal(shape, np.float32)
    rows = (*shape[:-1], 1)
    match distribution:
        case "typical":
            return noise
        case "wide_range":
            # Six decades between the elements of a row.
            return noise * _decades(rng, shape, -3.0, 3.0)
        case "near_zero":
            # The mean square lies on both sides of eps = 1e-6 and 1e-5.
            return noise * _decades(rng, rows, -5.0, -2.0)
        case "large_offset":
            # The norm must not subtract the mean, nor lose the spread around it.
            return np.float32(64.0) + noise
        case "outlier":
            # One element of each row holds nearly all of its energy, as in real residual streams.
            at = rng.integers(0, shape[-1], rows)
            return np.where(np.arange(shape[-1]) == at, np.float32(3e3) + noise, noise)
        case "constant_rows":
            # Every fourth row is all zero, as padding is: eps alone keeps it finite.
            level = np.float32(3.0) * rng.standard_normal(rows, np.float32)
            row = np.arange(shape[0]).reshape(-1, *(1 for _ in shape[1:]))
            return np.broadcast_to(np.where(row % 4 == 3, np.float32(0.0), level), shape)
    raise ValueError(f"rms_norm has no distribution {distribution!r}")


def _decades(
    rng: np.random.Generator, shape: tuple[int, ...], low: float, high: float
) -> np.ndarray:
    return np.power(10.0, rng.uniform(low, high, shape)).astype(np.float32)
