"""`rms_norm` for XLA, with its backward written out and the reductions shaped for the target.

The forward is one pass over memory in XLA's own fusion already. The backward is where a choice
pays: autodiff leaves the sum over rows that gives `dweight` to a reduction, while a product of the
row factors with a block of rows may be a matrix-vector product.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import jax.numpy as jnp
from jax import lax

from reference_kernels.errors import UnsupportedError
from reference_kernels.shapes import Array, Float

Result = Array | tuple[Array, Array]


@dataclass(frozen=True)
class Config:
    """What a tuner may choose.

    Attributes:
        square_sum: how a row's squares are added: a reduction, or a dot product with itself.
        materialize: write `h` in float32 once, where XLA would add the residual in every fusion.
        weight_sum: how `dweight` adds over rows: a reduction, or dot products over row blocks.
        weight_block: rows that one dot product adds; the partial sums are then added in turn.
    """

    square_sum: str = field(default="reduce", metadata={"choices": ("reduce", "dot")})
    materialize: bool = field(default=True, metadata={"choices": (False, True)})
    weight_sum: str = field(default="dot", metadata={"choices": ("reduce", "dot")})
    weight_block: int = field(default=16, metadata={"choices": (8, 16, 32)})

    def __post_init__(self) -> None:
        if not {self.square_sum, self.weight_sum} <= {"reduce", "dot"}:
            raise UnsupportedError(
                f"{self.square_sum!r} or {self.weight_sum!r} is not reduce or dot"
            )
        if self.weight_block < 1:
            raise UnsupportedError(f"weight_block {self.weight_block} is less than 1")


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

    JAX can differentiate it in either mode and to any order.

    Returns:
        `y` in the dtype of `x`; with a residual `(y, h)`.
    """
    h = _residual_stream(x, residual, config)
    y = h * _inverse_rms(h, eps, config) * _gain(weight, weight_offset, h)
    return y.astype(x.dtype) if residual is None else (y.astype(x.dtype), h.astype(x.dtype))


def forward_with_grad(
    *,
    cotangents: Float[Array, "*batch dim"]
    | tuple[Float[Array, "*batch dim"], Float[Array, "*batch dim"]],
    x: Float[Array, "*batch dim"],
    weight: Float[Array, " dim"],
    residual: Float[Array, "*batch dim"] | None = None,
    eps: float = 1e-6,
    weight_offset: float = 0.0,
    config: Config = Config(),
) -> tuple[Result, dict[str, Array]]:
    """Results of `forward` and the gradients of `x`, `weight` and `residual`.

    Args:
        cotangents: a tree like the results: `[..., dim]`, or a pair of it with a residual.

    Returns:
        The results, and a dict from argument name to a gradient of its shape and dtype.
    """
    h = _residual_stream(x, residual, config)
    inverse = _inverse_rms(h, eps, config)
    gain = _gain(weight, weight_offset, h)
    y = (h * inverse * gain).astype(x.dtype)

    dy: Array = cotangents if residual is None else cotangents[0]  # type: ignore[assignment]
    dh = None if residual is None else cotangents[1]
    dy = dy.astype(h.dtype)
    scaled = dy * gain
    along = jnp.mean(scaled * h, axis=-1, keepdims=True)
    total = scaled * inverse - h * (along * inverse * inverse * inverse)
    if dh is not None:
        total = total + dh.astype(h.dtype)
    gradients = {
        "x": total.astype(x.dtype),
        "weight": _weight_gradient(dy, h, inverse, config).astype(weight.dtype),
    }
    if residual is None:
        return y, gradients
    return (y, h.astype(x.dtype)), {**gradients, "residual": total.astype(residual.dtype)}


def _residual_stream(x: Array, residual: Array | None, config: Config) -> Array:
    """`h [..., dim]` in float32 or wider."""
    wide = jnp.float64 if x.dtype == jnp.float64 else jnp.float32
    if residual is None:
        return x.astype(wide)
    h = x.astype(wide) + residual.astype(wide)
    return lax.optimization_barrier(h) if config.materialize else h


def _inverse_rms(h: Array, eps: float, config: Config) -> Array:
    """`[..., 1]`."""
    if config.square_sum == "dot":
        squares = jnp.einsum("...d,...d->...", h, h, precision=lax.Precision.HIGHEST)
        mean = jnp.expand_dims(squares, -1) / h.shape[-1]
    else:
        mean = jnp.mean(jnp.square(h), axis=-1, keepdims=True)
    return lax.rsqrt(mean + eps)


def _gain(weight: Array, offset: float, h: Array) -> Array:
    return jnp.expand_dims(offset + weight.astype(h.dtype), range(h.ndim - 1))


def _weight_gradient(dy: Array, h: Array, inverse: Array, config: Config) -> Array:
    """Sum over rows of `dy * h * inverse`: `[dim]`."""
    dim = h.shape[-1]
    product = (dy * h).reshape(-1, dim)
    factors = inverse.reshape(-1)
    rows = product.shape[0]
    # A long dot product loses digits: it is one running sum. Sixteen rows lose none to speak of.
    block = min(config.weight_block, rows)
    whole = rows - rows % block if config.weight_sum == "dot" and block else 0
    rest = jnp.sum(product[whole:] * factors[whole:, None], axis=0)
    if not whole:
        return rest
    blocks = (-1, block)
    partial = jnp.einsum(
        "kb,kbd->kd",
        factors[:whole].reshape(blocks),
        product[:whole].reshape(*blocks, dim),
        precision=lax.Precision.HIGHEST,
    )
    return jnp.sum(partial, axis=0) + rest
