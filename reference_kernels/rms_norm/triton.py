"""`rms_norm` as a Triton kernel, called on torch tensors.

One program normalises a tile of whole rows: a long row is a tile of its own, short ones (a head of
128) share one. The residual is added, summed, scaled and rounded in registers, so that every array
crosses the memory bus once.

Importing this module needs neither torch nor Triton; the first call of `forward` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from reference_kernels.errors import UnsupportedError
from reference_kernels.shapes import Float

if TYPE_CHECKING:
    import triton.language as tl
else:
    # Triton looks the names in a kernel up in its module's globals: bound by the first call.
    tl = None

MAX_DIM = 32768
"""Beyond it a row no longer fits the registers of one program."""


@dataclass(frozen=True)
class Config:
    """What a tuner may choose.

    Attributes:
        num_warps: warps of one program.
        tile_elements: elements of a tile; rows padded to a power of two are packed up to it.
    """

    num_warps: int = field(default=8, metadata={"choices": (1, 2, 4, 8, 16)})
    tile_elements: int = field(default=4096, metadata={"choices": (1024, 2048, 4096, 8192)})

    def __post_init__(self) -> None:
        for name in ("num_warps", "tile_elements"):
            value = getattr(self, name)
            if value < 1 or value & (value - 1):
                raise UnsupportedError(f"{name} {value} is no power of two")


def forward(
    *,
    x: Float[Any, "*batch dim"],
    weight: Float[Any, " dim"],
    residual: Float[Any, "*batch dim"] | None = None,
    eps: float = 1e-6,
    weight_offset: float = 0.0,
    config: Config = Config(),
) -> Float[Any, "*batch dim"] | tuple[Float[Any, "*batch dim"], Float[Any, "*batch dim"]]:
    """Normalise the last axis; see `reference_kernels.rms_norm.op.rms_norm`.

    Args:
        x: torch tensor `[..., dim]`, float32, bfloat16 or float16, on the GPU.
        weight: `[dim]`.
        residual: `[..., dim]` in the dtype of `x`.

    Returns:
        `y [..., dim]` in the dtype of `x`; with a residual `(y, h)`.

    Raises:
        UnsupportedError: a float64 or integer tensor, a `dim` over 32768, or a tensor that autograd
            is recording: there is no backward.
    """
    import torch

    inputs = [t for t in (x, weight, residual) if t is not None]
    if any(t.dtype not in (torch.float32, torch.bfloat16, torch.float16) for t in inputs):
        raise UnsupportedError("triton: only float32, bfloat16 and float16")
    if torch.is_grad_enabled() and any(t.requires_grad for t in inputs):
        raise UnsupportedError("triton: no backward; detach the inputs or use torch.no_grad()")
    dim = x.shape[-1]
    if dim > MAX_DIM:
        raise UnsupportedError(f"triton: rows of {dim}, and at most {MAX_DIM} fit one program")

    rows = x.numel() // max(dim, 1)
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    h = y if residual is None else torch.empty_like(y)
    if x.numel():
        columns = 1 << (dim - 1).bit_length()
        tile_rows = max(1, config.tile_elements // columns)
        _kernel()[(-(-rows // tile_rows),)](
            x.contiguous(),
            x if residual is None else residual.contiguous(),
            weight.contiguous(),
            y,
            h,
            rows,
            dim,
            eps,
            weight_offset,
            HAS_RESIDUAL=residual is not None,
            TILE_ROWS=tile_rows,
            COLUMNS=columns,
            num_warps=config.num_warps,
        )
    return y if residual is None else (y, h)


@cache
def _kernel() -> Any:
    """Compile-on-call kernel; defined here so that importing the module needs no Triton."""
    global tl
    import triton
    import triton.language as tl

    @triton.jit
    def rms_norm_forward(
        x_ptr,
        residual_ptr,
        weight_ptr,
        y_ptr,
        h_ptr,
        rows,
        dim,
        eps,
        weight_offset,
        HAS_RESIDUAL: tl.constexpr,
        TILE_ROWS: tl.constexpr,
        COLUMNS: tl.constexpr,
    ):
        # 64-bit: a prefill's activations exceed 2^31 elements.
        row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
        column = tl.arange(0, COLUMNS)[None, :]
        inside = (row < rows) & (column < dim)
        at = row * dim + column
        # Zero outside: padding adds nothing to the sum, which is divided by the real dim.
        h = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        if HAS_RESIDUAL:
            h += tl.load(residual_ptr + at, mask=inside, other=0.0).to(tl.float32)
            tl.store(h_ptr + at, h.to(h_ptr.dtype.element_ty), mask=inside)
        inverse = 1.0 / tl.sqrt(tl.sum(h * h, axis=1, keep_dims=True) / dim + eps)
        weight = tl.load(weight_ptr + column, mask=column < dim, other=0.0).to(tl.float32)
        y = h * inverse * (weight_offset + weight)
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)

    return rms_norm_forward
