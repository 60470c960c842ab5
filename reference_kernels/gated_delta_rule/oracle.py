"""The truth about `gated_delta_rule`: the paper's recurrence, token by token.

Equation 10 of Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta
Rule" (arXiv 2412.06464), in the dtype of the arguments: the judge calls it in float64. It shares
nothing with the implementations.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from reference_kernels.problem import Scalar, Tree

L2NORM_EPS = 1e-6


def forward(arrays: dict[str, Tree], static: dict[str, Scalar]) -> Tree:
    """`(out [batch, seq, value_heads, v], final_state [batch, value_heads, k, v])`."""
    q, k = (_per_value_head(arrays[name], arrays["v"], static) for name in ("q", "k"))
    shape = (*arrays["g"].shape[::2], k.shape[-1], arrays["v"].shape[-1])
    state = arrays.get("initial_state")
    state = jnp.zeros(shape, k.dtype) if state is None else state
    scale = _scale(static, k.shape[-1])

    # Recomputed in the backward: the residuals of a step are then one state, not five.
    @jax.checkpoint
    def step(state: jax.Array, token: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        state = _update(state, *token[1:])
        return state, scale * jnp.einsum("bhkv,bhk->bhv", state, token[0])

    tokens = tuple(jnp.moveaxis(x, 1, 0) for x in (q, k, arrays["v"], arrays["g"], arrays["beta"]))
    state, out = jax.lax.scan(step, state, tokens)
    return jnp.moveaxis(out, 0, 1), state


def decode(arrays: dict[str, Tree], static: dict[str, Scalar]) -> Tree:
    """`(out [batch, value_heads, v], final_state [batch, value_heads, k, v])`."""
    q, k = (_per_value_head(arrays[name], arrays["v"], static) for name in ("q", "k"))
    state = _update(arrays["initial_state"], k, arrays["v"], arrays["g"], arrays["beta"])
    out = _scale(static, k.shape[-1]) * jnp.einsum("bhkv,bhk->bhv", state, q)
    return out, state


def _update(
    state: jax.Array, k: jax.Array, v: jax.Array, g: jax.Array, beta: jax.Array
) -> jax.Array:
    """`S <- alpha (I - beta k k^T) S + beta k v^T`, alpha = e^g.

    Shapes: state `[batch, heads, k, v]`, k `[batch, heads, k]`, v `[batch, heads, v]`, g and beta
    `[batch, heads]`.
    """
    alpha, beta = jnp.exp(g)[..., None, None], beta[..., None, None]
    erased = jnp.einsum("bhi,bhj,bhjv->bhiv", k, k, state)
    written = jnp.einsum("bhk,bhv->bhkv", k, v)
    return alpha * (state - beta * erased) + beta * written


def _per_value_head(x: jax.Array, v: jax.Array, static: dict[str, Scalar]) -> jax.Array:
    """Queries or keys `[..., heads, k]`, normalised if asked, as `[..., value_heads, k]`."""
    if static["use_qk_l2norm"]:
        x = x / jnp.sqrt(jnp.sum(x**2, axis=-1, keepdims=True) + L2NORM_EPS)
    return jnp.repeat(x, v.shape[-2] // x.shape[-2], axis=-2)


def _scale(static: dict[str, Scalar], key_dim: int) -> float:
    scale = static["scale"]
    return key_dim**-0.5 if scale is None else float(scale)
