"""Input distributions of `rms_norm`: the typical one first, then those that break norms."""

from __future__ import annotations

import jax
import jax.numpy as jnp

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
    keys = jax.random.split(key, 3)
    offset = float(case.statics.get("weight_offset") or 0.0)
    weight = (1.0 - offset) + 0.3 * jax.random.normal(keys[0], (case["dim"],), "float32")
    arrays = {
        "x": _activations(keys[1], shape(case), distribution).astype(case.dtype),
        "weight": weight.astype(case.dtype),
    }
    if case.get("residual"):
        arrays["residual"] = _activations(keys[2], shape(case), distribution).astype(case.dtype)
    return arrays


def _activations(key: jax.Array, shape: tuple[int, ...], distribution: str) -> jax.Array:
    """Activations of one distribution, float32 `[..., dim]`."""
    noise_key, scale_key = jax.random.split(key)
    noise = jax.random.normal(noise_key, shape, "float32")
    rows = (*shape[:-1], 1)
    match distribution:
        case "typical":
            return noise
        case "wide_range":
            # Six decades between the elements of a row.
            return noise * 10.0 ** jax.random.uniform(scale_key, shape, "float32", -3.0, 3.0)
        case "near_zero":
            # The mean square lies on both sides of eps = 1e-6 and 1e-5.
            return noise * 10.0 ** jax.random.uniform(scale_key, rows, "float32", -5.0, -2.0)
        case "large_offset":
            # The norm must not subtract the mean, nor lose the spread around it.
            return 64.0 + noise
        case "outlier":
            # One element of each row holds nearly all of its energy, as in real residual streams.
            at = jax.random.randint(scale_key, rows, 0, shape[-1], "int32")
            hit = jax.lax.broadcasted_iota("int32", shape, len(shape) - 1) == at
            return jnp.where(hit, 3e3 + noise, noise)
        case "constant_rows":
            # Every fourth row is all zero, as padding is: eps alone keeps it finite.
            level = jax.random.normal(scale_key, rows, "float32") * 3.0
            row = jax.lax.broadcasted_iota("int32", rows, 0)
            return jnp.broadcast_to(jnp.where(row % 4 == 3, 0.0, level), shape)
    raise ValueError(f"rms_norm has no distribution {distribution!r}")
