"""RMSNorm: what it is, what it costs, and the function that a model calls."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from reference_kernels import dispatch
from reference_kernels.gradients import gradient_entry
from reference_kernels.problem import (
    Case,
    Cost,
    EntryPoint,
    Implementation,
    Problem,
    Scalar,
    Tree,
)
from reference_kernels.rms_norm import inputs
from reference_kernels.rms_norm.cases import CASES
from reference_kernels.shapes import Array, Float

DIFFERENTIABLE = ("x", "weight", "residual")


def rms_norm(
    x: Float[Array, "*batch dim"],
    weight: Float[Array, " dim"],
    residual: Float[Array, "*batch dim"] | None = None,
    *,
    eps: float = 1e-6,
    weight_offset: float = 0.0,
    implementation: str | None = None,
    config: Any = None,
) -> Float[Array, "*batch dim"] | tuple[Float[Array, "*batch dim"], Float[Array, "*batch dim"]]:
    """Divide each row by its root mean square, and scale it.

    `h = x + residual`, `y = h / sqrt(mean(h^2) + eps) * (weight_offset + weight)` along the last
    axis (Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019). Sums are taken in
    float32 or wider and `y` is rounded once, whatever the dtype.

    Args:
        x: `[..., dim]`, float32 or bfloat16.
        weight: `[dim]`.
        residual: `[..., dim]`, added to `x` first; it has the dtype of `x`.
        eps: added to the mean square.
        weight_offset: 1 for Gemma and Qwen3-Next, whose weight is stored as a difference from 1.
        implementation: use this module of the op and no other; by default the best for the device.
        config: that module's `Config`; by default the shipped tuning data's.

    Returns:
        `y [..., dim]` in the dtype of `x`; with a residual the pair `(y, h)`, `h` being the next
        residual.
    """
    _check(x, weight, residual)
    return dispatch.call(
        "rms_norm",
        "forward",
        {"x": x, "weight": weight, "residual": residual},
        {"eps": eps, "weight_offset": weight_offset},
        implementation=implementation,
        config=config,
    )


def _check(x: Array, weight: Array, residual: Array | None) -> None:
    """Say what is wrong with a call before a broadcast hides it."""
    if x.ndim < 1 or not jnp.issubdtype(x.dtype, jnp.floating):
        raise ValueError(f"x must be floating-point [..., dim], not {x.dtype}{list(x.shape)}")
    if weight.shape != x.shape[-1:]:
        raise ValueError(f"weight {weight.shape} must have shape {x.shape[-1:]}")
    if residual is not None and residual.shape != x.shape:
        raise ValueError(f"residual {residual.shape} must have shape {x.shape}")


def arguments(case: Case) -> dict[str, Tree]:
    activations = jax.ShapeDtypeStruct(inputs.shape(case), case.dtype)
    args = {"x": activations, "weight": jax.ShapeDtypeStruct((case["dim"],), case.dtype)}
    return {**args, "residual": activations} if case.get("residual") else args


def results(case: Case) -> Tree:
    """`y` alone, or `(y, h)` where the case has a residual."""
    y = jax.ShapeDtypeStruct(inputs.shape(case), case.dtype)
    return (y, y) if case.get("residual") else y


def oracle(arrays: dict[str, Tree], static: dict[str, Scalar]) -> Tree:
    """Equation 4 of Zhang and Sennrich (2019), with the eps and the weight offset of the models."""
    x, weight, residual = arrays["x"], arrays["weight"], arrays.get("residual")
    h = x if residual is None else x + residual
    root_mean_square = jnp.sqrt(jnp.sum(h**2, axis=-1, keepdims=True) / h.shape[-1] + static["eps"])
    gain = jnp.broadcast_to(static["weight_offset"] + weight, h.shape)
    y = h / root_mean_square * gain
    return y if residual is None else (y, h)


def _bytes(tree: Tree) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree_util.tree_leaves(tree))


def forward_cost(case: Case) -> Cost:
    """Square and add, scale twice, add the residual: four or five operations an element."""
    residual = bool(case.get("residual"))
    elements = results(case)[0].size if residual else results(case).size
    operations = (4 + residual) * elements + case["dim"] + 3 * (elements // case["dim"])
    return Cost(operations, _bytes(arguments(case)), _bytes(results(case)))


def gradient_cost(case: Case) -> Cost:
    """Forward, then for each element: g*gain, its product with h summed, dx, and dweight's term."""
    entry = PROBLEM.entry("forward_with_grad")
    forward = forward_cost(case)
    elements = jax.tree_util.tree_leaves(results(case))[0].size
    backward = (9 + bool(case.get("residual"))) * elements
    return Cost(
        forward.operations + backward, _bytes(entry.arguments(case)), _bytes(entry.results(case))
    )


FORWARD = EntryPoint("forward", arguments, results, inputs.draw, oracle, forward_cost)

PROBLEM = Problem(
    name="rms_norm",
    summary="Root mean square normalisation of the last axis, with the residual addition before it",
    definition=(
        "h = x + residual (or x); y = h / sqrt(mean(h^2) + eps) * (weight_offset + weight), the "
        "mean over the last axis, sums in float32 or wider, y rounded once to the dtype of x. "
        "With a residual the result is (y, h), without one y alone. weight_offset is 1 in Gemma "
        "and Qwen3-Next. Gradients: with n = h / rms and g = dy * (weight_offset + weight), "
        "dh = (g - n * mean(g * n)) / rms + the cotangent of h, dx = dresidual = dh, "
        "dweight = sum over rows of dy * n. Zhang and Sennrich, Root Mean Square Layer "
        "Normalization, 2019."
    ),
    entries=(FORWARD, gradient_entry(FORWARD, DIFFERENTIABLE, gradient_cost)),
    cases=CASES,
    distributions=inputs.DISTRIBUTIONS,
    implementations=(
        Implementation("plain", ("cpu", "tpu", "cuda"), ("forward", "forward_with_grad")),
        Implementation("xla", ("cpu", "tpu", "cuda"), ("forward", "forward_with_grad")),
        Implementation("triton", platforms=("cuda",), entries=("forward",), trust="process"),
        Implementation("pallas_tpu", ("tpu",), ("forward", "forward_with_grad"), interpret=True),
    ),
    menu=(
        "read x and residual once: keep h of a block of rows in registers, VMEM or cache between "
        "the sum of squares and the scaling",
        "sum squares in several independent partial sums: one chain of additions is no vector",
        "take the sum of squares from the matrix unit or a dot product of the row with itself",
        "save h for the backward and recompute 1/rms: it is one reduction over data that is read "
        "anyway",
        "accumulate dweight in float32 over row blocks, never in bfloat16",
        "block rows to the cache or VMEM; short rows (a head of 128) want many rows a block",
        "round once, at the store",
    ),
)
