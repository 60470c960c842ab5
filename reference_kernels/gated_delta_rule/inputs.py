"""Input distributions of `gated_delta_rule`: the typical one first, then those that break kernels.

All are drawn with a sequence axis; `decode` takes its one token off it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from reference_kernels.problem import Case, Tree

DISTRIBUTIONS = (
    "typical",
    "correlated_keys",
    "extreme_gates",
    "wide_range",
    "near_zero",
    "masked_tokens",
)


def forward(key: jax.Array, case: Case, distribution: str) -> dict[str, Tree]:
    """Arguments of `forward`: `q k [batch, seq, heads, key_dim]` and so on, as the case says."""
    arrays = _draw(key, case, distribution, case["seq"])
    if not case.get("initial"):
        del arrays["initial_state"]
    return arrays


def decode(key: jax.Array, case: Case, distribution: str) -> dict[str, Tree]:
    """Arguments of `decode`: one token, `q k [batch, heads, key_dim]` and so on, and a state."""
    arrays = _draw(key, case, distribution, 1)
    state = arrays.pop("initial_state")
    return {**{name: x[:, 0] for name, x in arrays.items()}, "initial_state": state}


def _draw(key: jax.Array, case: Case, distribution: str, seq: int) -> dict[str, Tree]:
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"gated_delta_rule has no distribution {distribution!r}")
    # numpy: jax would compile every draw anew for every shape, which takes longer than judging it.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, np.float32)

    def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        return rng.uniform(low, high, shape).astype(np.float32)

    batch, heads, value_heads = case["batch"], case["heads"], case["value_heads"]
    gates = (batch, seq, value_heads)
    q = normal(batch, seq, heads, case["key_dim"])
    k = normal(batch, seq, heads, case["key_dim"])
    v = normal(*gates, case["value_dim"])
    state = 0.3 * normal(batch, value_heads, case["key_dim"], case["value_dim"])
    beta = 1 / (1 + np.exp(normal(*gates)))
    # As Mamba-2 and Gated DeltaNet are initialised: each head's rate exp(A_log) is uniform, its
    # step log-uniform in [1e-3, 1e-1], so memories last from one token to a thousand.
    rate = uniform(value_heads, low=0.5, high=16.0)
    step = 10.0 ** uniform(value_heads, low=-3.0, high=-1.0)
    g = -rate * step * np.logaddexp(0, normal(*gates) + 1)
    match distribution:
        case "correlated_keys":
            # Cosine 0.9 between any two keys, beta at 1, hardly any decay: powers of the chunk's
            # triangular matrix reach 1e9, its inverse stays near 1.
            k = normal(batch, 1, heads, case["key_dim"]) + 0.33 * k
            beta = 1.0 - 1e-3 * uniform(*gates)
            g = 1e-2 * g
        case "extreme_gates":
            # One token in three forgets all (exp underflows in float32 below -103), one in three
            # nothing; memory of what lies between must come out of differences of their sums.
            kind = uniform(*gates)
            g = np.where(kind < 1 / 3, -uniform(*gates, low=20.0, high=120.0), g)
            g = np.where(kind > 2 / 3, 1e-6 * g, g)
        case "wide_range":
            # Six decades between the values of a sequence, four between its keys.
            v = v * 10.0 ** uniform(batch, seq, value_heads, 1, low=-3.0, high=3.0)
            k = k * 10.0 ** uniform(batch, seq, heads, 1, low=-2.0, high=2.0)
        case "near_zero":
            # The squared norm of q and k is near the 1e-6 that the norm adds.
            q, k, v, state = 1e-4 * q, 1e-4 * k, 1e-4 * v, 1e-4 * state
        case "masked_tokens":
            # About a third of the tokens are padding: they must leave the state as it was.
            real = uniform(*gates) > 1 / 3
            beta, g = np.where(real, beta, 0.0), np.where(real, g, 0.0)
    if not case.statics["use_qk_l2norm"]:
        # The recurrence is stable for keys of norm 1 or less: the caller normalises.
        q, k = (x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True) + 1e-6) for x in (q, k))
    main = {name: x.astype(jnp.dtype(case.dtype)) for name, x in (("q", q), ("k", k), ("v", v))}
    float32 = {"g": g, "beta": beta, "initial_state": state}
    return {
        name: jnp.asarray(x)
        for name, x in (main | {n: x.astype(np.float32) for n, x in float32.items()}).items()
    }
