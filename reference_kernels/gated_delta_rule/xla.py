"""`gated_delta_rule` in chunks: matrix products within a chunk, one scan step between chunks.

The WY form of Yang, Kautz and Hatamizadeh (arXiv 2412.06464, section 3.3). Shapes below: `n`
chunks of `c` tokens, `h` heads, each with `r` value heads, `b` sequences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp

from reference_kernels.errors import UnsupportedError
from reference_kernels.gradients import with_grad
from reference_kernels.shapes import Array, Float

BLOCK = 16


@dataclass(frozen=True)
class Config:
    """What may be chosen.

    Attributes:
        chunk: tokens in a chunk.
        inverse: of a chunk's triangle: `blocked` substitutes in 16 x 16 blocks and merges them by
            products, `solve` calls the platform's triangular solver.
        correction: `ahead` applies the inverse to values and keys before the scan (U and W),
            `in_scan` to what the state leaves of the values.
        local: `ahead` does the work within chunks for all of them at once, `in_scan` chunk by
            chunk.
        unroll: chunks in one step of the scan's loop.
    """

    chunk: int = field(default=64, metadata={"choices": (16, 32, 64, 128)})
    inverse: str = field(default="blocked", metadata={"choices": ("blocked", "solve")})
    correction: str = field(default="ahead", metadata={"choices": ("ahead", "in_scan")})
    local: str = field(default="ahead", metadata={"choices": ("ahead", "in_scan")})
    unroll: int = field(default=1, metadata={"choices": (1, 2, 4)})

    def __post_init__(self) -> None:
        power_of_two = self.chunk > 0 and self.chunk & (self.chunk - 1) == 0
        if not power_of_two or self.chunk < BLOCK:
            raise UnsupportedError(f"chunk {self.chunk} is no power of two from {BLOCK} up")
        if self.inverse not in ("blocked", "solve"):
            raise UnsupportedError(f"unknown inverse {self.inverse!r}")
        if not {self.correction, self.local} <= {"ahead", "in_scan"}:
            raise UnsupportedError(f"{self.correction!r} or {self.local!r} is not ahead or in_scan")
        if self.unroll < 1:
            raise UnsupportedError(f"unroll {self.unroll} is less than 1")


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
    batch, seq, value_heads, value_dim = v.shape
    heads, key_dim = k.shape[2:]
    groups = value_heads // heads
    state = initial_state
    if state is None:
        state = jnp.zeros((batch, value_heads, key_dim, value_dim), jnp.float32)
    if seq == 1:
        arrays = {"q": q[:, 0], "k": k[:, 0], "v": v[:, 0], "g": g[:, 0], "beta": beta[:, 0]}
        out, state = decode(
            **arrays, initial_state=state, scale=scale, use_qk_l2norm=use_qk_l2norm, config=config
        )
        return out[:, None], state
    # No longer than the sequence needs.
    size = min(config.chunk, max(BLOCK, 1 << (seq - 1).bit_length()))
    count = -(-seq // size)

    def chunks(x: Array, *tail: int) -> Array:
        """`[b, t, ...] -> [n, b, *tail[:-1], c, tail[-1]]`; padding has beta 0 and g 0: no-ops."""
        spare = count * size - seq
        x = jnp.pad(x.astype(jnp.float32), [(0, 0), (0, spare)] + [(0, 0)] * (x.ndim - 2))
        x = x.reshape(batch, count, size, *tail)
        return jnp.moveaxis(jnp.moveaxis(x, 1, 0), 2, -2)

    tokens = (
        chunks(_normed(q, use_qk_l2norm) * _scale(scale, key_dim), heads, key_dim),
        chunks(_normed(k, use_qk_l2norm), heads, key_dim),
        chunks(v, heads, groups, value_dim),
        chunks(g, heads, groups, 1)[..., 0],
        chunks(beta, heads, groups, 1)[..., 0],
    )
    state = state.reshape(batch, heads, groups, key_dim, value_dim)
    if config.local == "ahead":
        local = _local(*tokens, config=config)
        state, out = jax.lax.scan(_advance, state, local, unroll=config.unroll)
    else:

        def step(state: Array, chunk: tuple[Array, ...]) -> tuple[Array, Array]:
            return _advance(state, _local(*chunk, config=config))

        state, out = jax.lax.scan(step, state, tokens, unroll=config.unroll)
    # [n, b, h, r, c, v] -> [b, t, hr, v]
    out = jnp.moveaxis(jnp.moveaxis(out, 0, 1), -2, 2)
    out = out.reshape(batch, count * size, value_heads, value_dim)[:, :seq]
    return out.astype(v.dtype), state.reshape(batch, value_heads, key_dim, value_dim)


forward_with_grad = with_grad(forward, ("q", "k", "v", "g", "beta", "initial_state"))


def _local(
    q: Float[Array, "*n b h c k"],
    k: Float[Array, "*n b h c k"],
    v: Float[Array, "*n b h r c v"],
    g: Float[Array, "*n b h r c"],
    beta: Float[Array, "*n b h r c"],
    *,
    config: Config,
) -> dict[str, Array]:
    """What a chunk needs beside the state, for one chunk or for all of them."""
    size, value_dim = v.shape[-2:]
    # Exponents are sums over the tokens between, not differences of sums from the chunk's start:
    # after a gate of -100 those have no digits left, nor would their gradients. Above the diagonal
    # the sum is empty, so nothing overflows before the mask.
    gates_after = jnp.tril(jnp.broadcast_to(g[..., None], (*g.shape, size)), -1)
    between = _dot("il,...lj->...ij", jnp.tri(size, dtype=g.dtype), gates_after)
    decay = jnp.tril(jnp.exp(between))
    from_start = jnp.exp(jnp.cumsum(g, axis=-1))[..., None]
    to_end = decay[..., -1, :, None]
    # Products of a head's keys and queries are shared by its value heads.
    keys, queries = k[..., None, :, :], q[..., None, :, :]
    products = _dot("...ik,...jk->...ij", jnp.concatenate([k, q], axis=-2), k)[..., None, :, :]
    beta = beta[..., None]
    triangle = jnp.tril(beta * products[..., :size, :] * decay, -1)
    values_and_keys = jnp.concatenate([beta * v, (beta * from_start) * keys], axis=-1)
    result = {
        "queries": queries * from_start,
        "scores": products[..., size:, :] * decay,
        "keys_to_end": keys * to_end,
        "decay": from_start[..., -1:, :],
    }
    if config.correction == "in_scan":
        result["inverse"] = _inverse(triangle, config)
    elif config.inverse == "solve":
        values_and_keys = _solve(triangle, values_and_keys)
    else:
        values_and_keys = _product(_inverse(triangle, config), values_and_keys)
    result["values"] = values_and_keys[..., :value_dim]
    result["keys"] = values_and_keys[..., value_dim:]
    return result


def _advance(
    state: Float[Array, "b h r k v"], chunk: dict[str, Array]
) -> tuple[Float[Array, "b h r k v"], Float[Array, "b h r c v"]]:
    """Take the state over one chunk: the new state, and the chunk's output."""
    size = chunk["values"].shape[-2]
    reads = jnp.concatenate([chunk["keys"], chunk["queries"]], axis=-2)
    read = _product(reads, state)
    written = chunk["values"] - read[..., :size, :]
    if "inverse" in chunk:
        written = _product(chunk["inverse"], written)
    out = read[..., size:, :] + _product(chunk["scores"], written)
    update = _dot("...ck,...cv->...kv", chunk["keys_to_end"], written)
    return chunk["decay"] * state + update, out


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _inverse(triangle: Float[Array, "*n c c"], config: Config) -> Float[Array, "*n c c"]:
    """`(I + triangle)^-1` of a strictly lower triangle."""
    size = triangle.shape[-1]
    if config.inverse == "solve":
        identity = jnp.eye(size, dtype=triangle.dtype)
        return _solve(triangle, jnp.broadcast_to(identity, triangle.shape))
    # Substitution, row by row, in all diagonal blocks at once. Powers of the triangle in its place
    # (I - A + A^2 - ...) would reach 1e9 on correlated keys and leave no digit of the sum.
    starts = range(0, size, BLOCK)
    diagonal = jnp.stack([triangle[..., s : s + BLOCK, s : s + BLOCK] for s in starts], axis=-3)

    def substitute(i: Array, inverse: Array) -> Array:
        row = jax.lax.dynamic_slice_in_dim(diagonal, i, 1, axis=-2)
        value = jax.lax.dynamic_slice_in_dim(inverse, i, 1, axis=-2) - _product(row, inverse)
        return jax.lax.dynamic_update_slice_in_dim(inverse, value, i, axis=-2)

    identity = jnp.broadcast_to(jnp.eye(BLOCK, dtype=triangle.dtype), diagonal.shape)
    inverse = jax.lax.fori_loop(1, BLOCK, substitute, identity)
    # [[X, 0], [L, Y]]^-1 = [[X^-1, 0], [-Y^-1 L X^-1, Y^-1]], pair by pair of blocks.
    width = BLOCK
    while width < size:
        starts = range(0, size, 2 * width)
        below = [triangle[..., s + width : s + 2 * width, s : s + width] for s in starts]
        upper, lower = inverse[..., 0::2, :, :], inverse[..., 1::2, :, :]
        corner = -_product(lower, _product(jnp.stack(below, axis=-3), upper))
        top = jnp.concatenate([upper, jnp.zeros_like(upper)], axis=-1)
        inverse = jnp.concatenate([top, jnp.concatenate([corner, lower], axis=-1)], axis=-2)
        width *= 2
    return inverse[..., 0, :, :]


@_inverse.defjvp
def _inverse_jvp(config: Config, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    inverse = _inverse(primals[0], config)
    return inverse, -_product(_product(inverse, tangents[0]), inverse)


def _solve(triangle: Float[Array, "*n c c"], right: Float[Array, "*n c d"]) -> Array:
    return jax.lax.linalg.triangular_solve(
        triangle, right, left_side=True, lower=True, unit_diagonal=True
    )


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

    The key reads the state as it was, so that decay and update are one pass over it.

    Returns:
        `out` in the dtype of `v`, and the new state, float32.
    """
    groups = v.shape[1] // k.shape[1]
    query = jnp.repeat(_normed(q, use_qk_l2norm) * _scale(scale, k.shape[-1]), groups, axis=1)
    key = jnp.repeat(_normed(k, use_qk_l2norm), groups, axis=1)
    decay = jnp.exp(g)[..., None]
    read = _dot("bhk,bhkv->bhv", key, initial_state)
    written = beta[..., None] * (v.astype(jnp.float32) - decay * read)
    state = decay[..., None] * initial_state + key[..., :, None] * written[..., None, :]
    out = _dot("bhk,bhkv->bhv", query, state)
    return out.astype(v.dtype), state


def _normed(x: Float[Array, "*batch dim"], wanted: bool) -> Float[Array, "*batch dim"]:
    x = x.astype(jnp.float32)
    return x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True) + 1e-6) if wanted else x


def _scale(scale: float | None, key_dim: int) -> float:
    return key_dim**-0.5 if scale is None else scale


def _product(left: Float[Array, "*n i j"], right: Float[Array, "*n j k"]) -> Array:
    return _dot("...ij,...jk->...ik", left, right)


def _dot(spec: str, left: Array, right: Array) -> Array:
    # Accelerators would otherwise round float32 factors to bfloat16 or tf32.
    return jnp.einsum(spec, left, right, precision=jax.lax.Precision.HIGHEST)
