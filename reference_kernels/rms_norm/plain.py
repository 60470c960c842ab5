"""`rms_norm` as a model would write it: plain JAX, float32 inside, XLA left to itself."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import lax

from reference_kernels.gradients import with_grad
from reference_kernels.shapes import Array, Float


@dataclass(frozen=True)
class Config:
    """Nothing to choose."""


def forward(
    *,
    x: Float[Array, "*batch dim"],
    weight: Float[Array, " dim"],
    residual: Float[Array, "*batch dim"] | None = None,
    eps: float = 1e-6,
    weight_offset: float = 0.0,
    config: Config = Config(),
) -> Float[Array, "*batch dim"] | tuple[Float[Array, "*batch dim"], Float[Array, "*batch dim"]]:
    """Normalise the last axis; see `reference_kernels.rms_norm.op.rms_norm`.

    Returns:
        `y` in the dtype of `x`; with a residual `(y, h)`.
    """
    wide = jnp.float64 if x.dtype == jnp.float64 else jnp.float32
    h = x.astype(wide)
    if residual is not None:
        h = h + residual.astype(wide)
    inverse = lax.rsqrt(jnp.mean(jnp.square(h), axis=-1, keepdims=True) + eps)
    scale = weight_offset + weight.astype(wide)
    y = (h * inverse * jnp.expand_dims(scale, range(h.ndim - 1))).astype(x.dtype)
    return y if residual is None else (y, h.astype(x.dtype))


forward_with_grad = with_grad(forward, ("x", "weight", "residual"))
