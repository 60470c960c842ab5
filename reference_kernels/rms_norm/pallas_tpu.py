"""`rms_norm` as Pallas TPU kernels: blocks of rows, each with its whole feature dimension.

The forward adds the residual, sums squares, scales and rounds while a block is in VMEM: every
array crosses HBM once. The backward is a kernel too. It recomputes `1 / rms` from `h`, which it
reads anyway, and adds `dweight` in float32 in an output block that stays in VMEM over the whole
grid; that grid is therefore sequential, and on a chip with two cores one does the work.

Between the two only `h` is kept, in the dtype of `x`: for bfloat16 the backward starts from the
rounded sum, as it does in every model that stores its residual stream.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from reference_kernels.errors import UnsupportedError
from reference_kernels.gradients import with_grad
from reference_kernels.shapes import Array, Float

SUBLANES = 16
"""Rows of a bfloat16 tile; a float32 tile has 8, which divides it."""


@dataclass(frozen=True)
class Config:
    """What a tuner may choose.

    Attributes:
        block_rows: most rows a grid step takes.
        vmem_mib: VMEM that the double-buffered blocks and float32 temporaries of a step may fill;
            rows of a large `dim` are cut to fit.
    """

    block_rows: int = field(default=256, metadata={"choices": (16, 32, 64, 128, 256, 512, 1024)})
    vmem_mib: int = field(default=12, metadata={"choices": (6, 12, 24)})

    def __post_init__(self) -> None:
        if self.block_rows < 1 or self.block_rows % SUBLANES:
            raise UnsupportedError(f"block_rows {self.block_rows} is no multiple of {SUBLANES}")
        if self.vmem_mib < 1:
            raise UnsupportedError(f"vmem_mib {self.vmem_mib} is less than 1")


@dataclass(frozen=True)
class _Call:
    """Everything static about one call: hashable, so that `custom_vjp` can hold it."""

    eps: float
    weight_offset: float
    config: Config
    interpret: bool


def forward(
    *,
    x: Float[Array, "*batch dim"],
    weight: Float[Array, " dim"],
    residual: Float[Array, "*batch dim"] | None = None,
    eps: float = 1e-6,
    weight_offset: float = 0.0,
    config: Config = Config(),
    interpret: bool = False,
) -> Float[Array, "*batch dim"] | tuple[Float[Array, "*batch dim"], Float[Array, "*batch dim"]]:
    """Normalise the last axis; see `reference_kernels.rms_norm.op.rms_norm`.

    Reverse mode only, once: its VJP is a kernel.

    Args:
        interpret: run the kernel's semantics in plain XLA, on any platform.

    Returns:
        `y` in the dtype of `x`; with a residual `(y, h)`.

    Raises:
        UnsupportedError: dtypes other than float32 and bfloat16, a residual of another dtype than
            `x`, or a `dim` of which not even one tile of rows fits `config.vmem_mib`.
    """
    _check(x, weight, residual)
    call = _Call(eps, weight_offset, config, interpret)
    if x.size == 0:
        return x if residual is None else (x, x)
    rows = (-1, x.shape[-1])
    if residual is None:
        return _norm(call, x.reshape(rows), weight).reshape(x.shape)
    y, h = _add_norm(call, x.reshape(rows), residual.reshape(rows), weight)
    return y.reshape(x.shape), h.reshape(x.shape)


forward_with_grad = with_grad(forward, ("x", "weight", "residual"))


def _check(x: Array, weight: Array, residual: Array | None) -> None:
    for name, array in (("x", x), ("weight", weight)):
        if array.dtype not in (jnp.float32, jnp.bfloat16):
            raise UnsupportedError(f"pallas_tpu: {name} is {array.dtype}, not float32 or bfloat16")
    if residual is not None and residual.dtype != x.dtype:
        raise UnsupportedError(f"pallas_tpu: residual is {residual.dtype}, x {x.dtype}")


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _norm(call: _Call, x: Array, weight: Array) -> Array:
    (y,) = _forward_kernel(call, (x,), weight)
    return y


def _norm_forward(call: _Call, x: Array, weight: Array) -> tuple[Array, tuple[Array, Array]]:
    return _norm(call, x, weight), (x, weight)


def _norm_backward(call: _Call, saved: tuple[Array, Array], dy: Array) -> tuple[Array, Array]:
    h, weight = saved
    return _backward_kernel(call, h, weight, (dy,))


_norm.defvjp(_norm_forward, _norm_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _add_norm(call: _Call, x: Array, residual: Array, weight: Array) -> tuple[Array, Array]:
    y, h = _forward_kernel(call, (x, residual), weight)
    return y, h


def _add_norm_forward(call: _Call, x: Array, residual: Array, weight: Array) -> Any:
    y, h = _add_norm(call, x, residual, weight)
    return (y, h), (h, weight)


def _add_norm_backward(
    call: _Call, saved: tuple[Array, Array], cotangents: tuple[Array, Array]
) -> tuple[Array, Array, Array]:
    h, weight = saved
    dx, dweight = _backward_kernel(call, h, weight, cotangents)
    return dx, dx, dweight


_add_norm.defvjp(_add_norm_forward, _add_norm_backward)


def _forward_kernel(call: _Call, summands: tuple[Array, ...], weight: Array) -> tuple[Array, ...]:
    """`y`, and `h` where there are two summands, all `[rows, dim]`."""
    rows, dim = summands[0].shape
    count = len(summands)
    block = _block_rows(summands[0], 2 * count, call.config)

    def kernel(*refs: Any) -> None:
        ins, weight_ref, outs = refs[:count], refs[count], refs[count + 1 :]
        h = ins[0][...].astype(jnp.float32)
        if count == 2:
            h = h + ins[1][...].astype(jnp.float32)
        gain = call.weight_offset + weight_ref[...].astype(jnp.float32)
        outs[0][...] = (h * _inverse_rms(h, call.eps) * gain).astype(outs[0].dtype)
        if count == 2:
            outs[1][...] = h.astype(outs[1].dtype)

    row_spec = pl.BlockSpec((block, dim), lambda i: (i, 0))
    # Rows of the last block that lie past the end hold anything; a row sees no other, and what is
    # written for them is dropped.
    results = pl.pallas_call(
        kernel,
        grid=(pl.cdiv(rows, block),),
        in_specs=[row_spec] * count + [pl.BlockSpec((1, dim), lambda i: (0, 0))],
        out_specs=[row_spec] * count,
        out_shape=[jax.ShapeDtypeStruct((rows, dim), summands[0].dtype)] * count,
        compiler_params=_parameters(call.config, "parallel"),
        cost_estimate=_cost(rows * dim, 4 + count, 2 * count, summands[0].dtype.itemsize),
        interpret=call.interpret,
        name="rms_norm_forward",
    )(*summands, weight[None])
    return tuple(results)


def _backward_kernel(
    call: _Call, h: Array, weight: Array, cotangents: tuple[Array, ...]
) -> tuple[Array, Array]:
    """`dx [rows, dim]` and `dweight [dim]` from `h` and the cotangents of `y` and perhaps `h`."""
    rows, dim = h.shape
    block = _block_rows(h, 2 + len(cotangents), call.config)

    def kernel(h_ref: Any, weight_ref: Any, *refs: Any) -> None:
        dy_ref, dx_ref, dweight_ref = refs[0], refs[-2], refs[-1]
        step = pl.program_id(0)
        row = step * block + lax.broadcasted_iota(jnp.int32, (block, dim), 0)
        inside = row < rows
        # Past the end the blocks hold anything, NaN included, and dweight sums over rows.
        wide = jnp.where(inside, h_ref[...].astype(jnp.float32), 0.0)
        dy = jnp.where(inside, dy_ref[...].astype(jnp.float32), 0.0)
        inverse = _inverse_rms(wide, call.eps)
        normed = wide * inverse
        scaled = dy * (call.weight_offset + weight_ref[...].astype(jnp.float32))
        along = jnp.mean(scaled * normed, axis=-1, keepdims=True)
        total = (scaled - normed * along) * inverse
        if len(cotangents) == 2:
            total = total + refs[1][...].astype(jnp.float32)
        dx_ref[...] = total.astype(dx_ref.dtype)

        @pl.when(step == 0)
        def _() -> None:
            dweight_ref[...] = jnp.zeros_like(dweight_ref)

        dweight_ref[...] += jnp.sum(dy * normed, axis=0, keepdims=True)

    row_spec = pl.BlockSpec((block, dim), lambda i: (i, 0))
    weight_spec = pl.BlockSpec((1, dim), lambda i: (0, 0))
    dx, dweight = pl.pallas_call(
        kernel,
        grid=(pl.cdiv(rows, block),),
        in_specs=[row_spec, weight_spec] + [row_spec] * len(cotangents),
        out_specs=[row_spec, weight_spec],
        out_shape=[
            jax.ShapeDtypeStruct((rows, dim), h.dtype),
            jax.ShapeDtypeStruct((1, dim), jnp.float32),
        ],
        compiler_params=_parameters(call.config, "arbitrary"),
        cost_estimate=_cost(rows * dim, 12, 2 + len(cotangents), h.dtype.itemsize),
        interpret=call.interpret,
        name="rms_norm_backward",
    )(h, weight[None], *cotangents)
    return dx, dweight[0].astype(weight.dtype)


def _inverse_rms(h: Array, eps: float) -> Array:
    return lax.rsqrt(jnp.mean(jnp.square(h), axis=-1, keepdims=True) + eps)


def _block_rows(array: Array, blocks: int, config: Config) -> int:
    """Rows of a grid step: a whole number of tiles within `config`, no more than there are."""
    rows, dim = array.shape
    # Each block is double-buffered; about three float32 values of a row live at a time.
    row_bytes = dim * (2 * blocks * array.dtype.itemsize + 3 * 4)
    fit = (config.vmem_mib << 20) // row_bytes // SUBLANES * SUBLANES
    if not fit:
        raise UnsupportedError(f"pallas_tpu: {SUBLANES} rows of {dim} exceed {config.vmem_mib} MiB")
    return min(config.block_rows, fit, pl.cdiv(rows, SUBLANES) * SUBLANES)


def _parameters(config: Config, semantics: Any) -> pltpu.CompilerParams:
    # Room for the weight and the compiler's own temporaries beside what `_block_rows` counts.
    return pltpu.CompilerParams(
        dimension_semantics=(semantics,), vmem_limit_bytes=(config.vmem_mib + 8) << 20
    )


def _cost(elements: int, operations: int, arrays: int, itemsize: int) -> pl.CostEstimate:
    return pl.CostEstimate(
        flops=elements * operations,
        bytes_accessed=elements * arrays * itemsize,
        transcendentals=0,
    )
