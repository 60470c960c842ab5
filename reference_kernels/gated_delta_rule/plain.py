"""`gated_delta_rule` as its definition reads: one `lax.scan` over the tokens, in float32."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from reference_kernels.gradients import with_grad
from reference_kernels.shapes import Array, Float

HIGHEST = jax.lax.Precision.HIGHEST


@dataclass(frozen=True)
class Config:
    """Nothing to choose."""


def forward(
    *,
    q: Float[Array, "batch seq heads k"],
    k: Float[Array, "batch seq heads k"],
    v: Float[Array, "batch seq value_heads v"],
    g: Float[Array, "batch seq value_heads"],
    beta: Float[Array, "batch seq value_heads"],
    initial_state: Float[Array, "batch value_heads k v"] | None = None,
    scale: float | None = None,
    use_qk_l2norm: bool = False,
    config: Config = Config(),
) -> tuple[Float[Array, "batch seq value_heads v"], Float[Array, "batch value_heads k v"]]:
    """Prefill; see `reference_kernels.gated_delta_rule.op.gated_delta_rule`.

    Returns:
        `out` in the dtype of `v`, and the state after the last token, float32.
    """
    batch, _, value_heads, value_dim = v.shape
    state = initial_state
    if state is None:
        state = jnp.zeros((batch, value_heads, k.shape[-1], value_dim), jnp.float32)

    def step(state: Array, token: dict[str, Array]) -> tuple[Array, Array]:
        out, state = decode(
            **token, initial_state=state, scale=scale, use_qk_l2norm=use_qk_l2norm, config=config
        )
        return state, out

    tokens = {"q": q, "k": k, "v": v, "g": g, "beta": beta}
    state, out = jax.lax.scan(step, state, {n: jnp.moveaxis(x, 1, 0) for n, x in tokens.items()})
    return jnp.moveaxis(out, 0, 1), state


forward_with_grad = with_grad(forward, ("q", "k", "v", "g", "beta", "initial_state"))


def decode(
    *,
    q: Float[Array, "batch heads k"],
    k: Float[Array, "batch heads k"],
    v: Float[Array, "batch value_heads v"],
    g: Float[Array, "batch value_heads"],
    beta: Float[Array, "batch value_heads"],
    initial_state: Float[Array, "batch value_heads k v"],
    scale: float | None = None,
    use_qk_l2norm: bool = False,
    config: Config = Config(),
) -> tuple[Float[Array, "batch value_heads v"], Float[Array, "batch value_heads k v"]]:
    """One token of each sequence; see `gated_delta_rule_decode`.

    Returns:
        `out` in the dtype of `v`, and the new state, float32.
    """
    groups = v.shape[1] // k.shape[1]
    query, key = (_normed(x, use_qk_l2norm) for x in (q, k))
    query, key = (jnp.repeat(x, groups, axis=1) for x in (query, key))
    query = query * (k.shape[-1] ** -0.5 if scale is None else scale)
    decayed = initial_state * jnp.exp(g)[..., None, None]
    held = jnp.einsum("bhk,bhkv->bhv", key, decayed, precision=HIGHEST)
    correction = beta[..., None] * (v.astype(jnp.float32) - held)
    state = decayed + key[..., :, None] * correction[..., None, :]
    out = jnp.einsum("bhk,bhkv->bhv", query, state, precision=HIGHEST)
    return out.astype(v.dtype), state


def _normed(x: Float[Array, "*batch dim"], wanted: bool) -> Float[Array, "*batch dim"]:
    x = x.astype(jnp.float32)
    return x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True) + 1e-6) if wanted else x
