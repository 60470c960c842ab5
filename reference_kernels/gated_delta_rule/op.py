"""The gated delta rule: what it is, what it costs, and the functions that a model calls."""

from __future__ import annotations

from typing import Any

import jax

from reference_kernels import dispatch
from reference_kernels.gated_delta_rule import inputs, oracle
from reference_kernels.gated_delta_rule.cases import CASES
from reference_kernels.gradients import gradient_entry
from reference_kernels.problem import (
    Case,
    Cost,
    EntryPoint,
    Implementation,
    Problem,
    Tolerance,
    Tree,
)
from reference_kernels.shapes import Array, Float

DIFFERENTIABLE = ("q", "k", "v", "g", "beta", "initial_state")


def gated_delta_rule(
    q: Float[Array, "batch seq heads k"],
    k: Float[Array, "batch seq heads k"],
    v: Float[Array, "batch seq value_heads v"],
    g: Float[Array, "batch seq value_heads"],
    beta: Float[Array, "batch seq value_heads"],
    initial_state: Float[Array, "batch value_heads k v"] | None = None,
    *,
    scale: float | None = None,
    use_qk_l2norm: bool = False,
    implementation: str | None = None,
    config: Any = None,
) -> tuple[Float[Array, "batch seq value_heads v"], Float[Array, "batch value_heads k v"]]:
    """Run the gated delta rule over whole sequences (training and prefill).

    A state `S [k, v]` for each value head decays, forgets what it held for a key and learns the new
    value: `S_t = e^{g_t} S_{t-1} + beta_t k_t (v_t - e^{g_t} S_{t-1}^T k_t)^T`,
    `out_t = scale S_t^T q_t` (Yang, Kautz and Hatamizadeh, "Gated Delta Networks", arXiv
    2412.06464). Value head `h` reads query and key head `h // (value_heads // heads)`. Arithmetic
    and state are float32 whatever the dtype.

    Args:
        q: queries, `[batch, seq, heads, k]`, float32 or bfloat16.
        k: keys, `[batch, seq, heads, k]`; of norm 1 or less, or set `use_qk_l2norm`.
        v: values, `[batch, seq, value_heads, v]`; `value_heads` a multiple of `heads`.
        g: log of the decay, `[batch, seq, value_heads]`, float32, zero or less.
        beta: writing strength, `[batch, seq, value_heads]`, float32, 0 to 1 (2 is stable).
        initial_state: `[batch, value_heads, k, v]`, float32; zeros when left out.
        scale: of the queries; `k ** -0.5` when left out.
        use_qk_l2norm: first divide q and k by `sqrt(sum(x^2) + 1e-6)` along their last axis.
        implementation: use this module of the op and no other; by default the best for the device.
        config: that module's `Config`; by default the shipped tuning data's.

    Returns:
        `out [batch, seq, value_heads, v]` in the dtype of `v`, and the state after the last token,
        `[batch, value_heads, k, v]`, float32.
    """
    _check(q, k, v, g, beta, initial_state)
    arrays = {"q": q, "k": k, "v": v, "g": g, "beta": beta, "initial_state": initial_state}
    return dispatch.call(
        "gated_delta_rule",
        "forward",
        arrays,
        {"scale": scale, "use_qk_l2norm": use_qk_l2norm},
        implementation=implementation,
        config=config,
    )


def gated_delta_rule_decode(
    q: Float[Array, "batch heads k"],
    k: Float[Array, "batch heads k"],
    v: Float[Array, "batch value_heads v"],
    g: Float[Array, "batch value_heads"],
    beta: Float[Array, "batch value_heads"],
    initial_state: Float[Array, "batch value_heads k v"],
    *,
    scale: float | None = None,
    use_qk_l2norm: bool = False,
    implementation: str | None = None,
    config: Any = None,
) -> tuple[Float[Array, "batch value_heads v"], Float[Array, "batch value_heads k v"]]:
    """Take one step of the gated delta rule for each sequence of a batch (generation).

    Args:
        q: queries, `[batch, heads, k]`, float32 or bfloat16.
        k: keys, `[batch, heads, k]`.
        v: values, `[batch, value_heads, v]`.
        g: log of the decay, `[batch, value_heads]`, float32.
        beta: writing strength, `[batch, value_heads]`, float32.
        initial_state: `[batch, value_heads, k, v]`, float32; donate it to update it in place.
        scale: of the queries; `k ** -0.5` when left out.
        use_qk_l2norm: first divide q and k by `sqrt(sum(x^2) + 1e-6)` along their last axis.
        implementation: use this module of the op and no other; by default the best for the device.
        config: that module's `Config`; by default the shipped tuning data's.

    Returns:
        `out [batch, value_heads, v]` in the dtype of `v`, and the new state.
    """
    _check(q, k, v, g, beta, initial_state)
    arrays = {"q": q, "k": k, "v": v, "g": g, "beta": beta, "initial_state": initial_state}
    return dispatch.call(
        "gated_delta_rule",
        "decode",
        arrays,
        {"scale": scale, "use_qk_l2norm": use_qk_l2norm},
        implementation=implementation,
        config=config,
    )


def _check(
    q: Array, k: Array, v: Array, g: Array, beta: Array, initial_state: Array | None
) -> None:
    """Say what is wrong with a call before a reshape deep inside does."""
    if q.shape != k.shape or q.shape[:-2] != v.shape[:-2]:
        raise ValueError(f"q {q.shape}, k {k.shape} and v {v.shape} do not belong together")
    if not k.shape[-2] or v.shape[-2] % k.shape[-2]:
        raise ValueError(f"{v.shape[-2]} value heads are no multiple of {k.shape[-2]} heads")
    if not g.shape == beta.shape == v.shape[:-1]:
        raise ValueError(f"g {g.shape} and beta {beta.shape} must have shape {v.shape[:-1]}")
    state = (v.shape[0], v.shape[-2], k.shape[-1], v.shape[-1])
    if initial_state is not None and initial_state.shape != state:
        raise ValueError(f"initial_state {initial_state.shape} must have shape {state}")
    if initial_state is not None and initial_state.dtype != "float32":
        raise ValueError(f"initial_state must be float32, not {initial_state.dtype}")


def _token_arguments(case: Case, *leading: int) -> dict[str, Tree]:
    qk = jax.ShapeDtypeStruct((*leading, case["heads"], case["key_dim"]), case.dtype)
    gate = jax.ShapeDtypeStruct((*leading, case["value_heads"]), "float32")
    v = jax.ShapeDtypeStruct((*gate.shape, case["value_dim"]), case.dtype)
    return {"q": qk, "k": qk, "v": v, "g": gate, "beta": gate}


def _state(case: Case) -> jax.ShapeDtypeStruct:
    shape = (case["batch"], case["value_heads"], case["key_dim"], case["value_dim"])
    return jax.ShapeDtypeStruct(shape, "float32")


def arguments(case: Case) -> dict[str, Tree]:
    args = _token_arguments(case, case["batch"], case["seq"])
    return {**args, "initial_state": _state(case)} if case.get("initial") else args


def results(case: Case) -> Tree:
    return arguments(case)["v"], _state(case)


def decode_arguments(case: Case) -> dict[str, Tree]:
    return {**_token_arguments(case, case["batch"]), "initial_state": _state(case)}


def decode_results(case: Case) -> Tree:
    return decode_arguments(case)["v"], _state(case)


def _bytes(tree: Tree) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree_util.tree_leaves(tree))


def _operations(case: Case, seq: int, initial: bool) -> int:
    """Multiply-adds that no known form avoids, twice.

    Each token writes to the state (k v) and reads it twice, with its key and its query (2 k v).
    While fewer tokens than that precede it and no state came in, reading those tokens one by one is
    cheaper: k + v for each, of which the k is shared by the value heads of a head.
    """
    key_dim, value_dim = case["key_dim"], case["value_dim"]
    heads, value_heads = case["heads"], case["value_heads"]
    read = value_heads * key_dim * value_dim
    one_by_one = heads * key_dim + value_heads * value_dim
    early = 0 if initial else min(seq, -(-read // one_by_one))
    reads = (seq - early) * read + one_by_one * early * (early + 1) // 2
    return 2 * case["batch"] * (seq * read + 2 * reads)


def forward_cost(case: Case) -> Cost:
    operations = _operations(case, case["seq"], bool(case.get("initial")))
    return Cost(operations, _bytes(arguments(case)), _bytes(results(case)))


def decode_cost(case: Case) -> Cost:
    operations = _operations(case, 1, initial=True)
    return Cost(operations, _bytes(decode_arguments(case)), _bytes(decode_results(case)))


def gradient_cost(case: Case) -> Cost:
    """Forward, and for each of its products the two of its derivative."""
    entry = PROBLEM.entry("forward_with_grad")
    return Cost(
        3 * forward_cost(case).operations,
        _bytes(entry.arguments(case)),
        _bytes(entry.results(case)),
    )


FORWARD = EntryPoint("forward", arguments, results, inputs.forward, oracle.forward, forward_cost)
DECODE = EntryPoint(
    "decode", decode_arguments, decode_results, inputs.decode, oracle.decode, decode_cost
)

PROBLEM = Problem(
    name="gated_delta_rule",
    summary="Linear attention whose state decays and unlearns before it writes (Gated DeltaNet)",
    definition=(
        "For each sequence and value head, with a state S [k, v] in float32 that starts at "
        "initial_state or zero, S_t = e^{g_t} S_{t-1} + beta_t k_t (v_t - e^{g_t} S_{t-1}^T "
        "k_t)^T and out_t = scale S_t^T q_t; scale is k ** -0.5 by default. With use_qk_l2norm, "
        "q and k are first divided by sqrt(sum(x^2) + 1e-6). Value head h reads query and key head "
        "h // (value_heads // heads). q, k, v are [batch, seq, heads, dim]; g (a log, <= 0) and "
        "beta are [batch, seq, value_heads] in float32. The result is (out in the dtype of v, "
        "final state in float32). decode is one step for each of batch sequences, with no seq "
        "axis. Chunked form (C tokens a chunk, G the cumulative sum of g within it): A_ij = beta_i "
        "(k_i . k_j) e^{G_i - G_j} for i > j; M = (I + A)^{-1}; U = M (beta V); W = M (beta e^G "
        "K); V' = U - W S; out = scale ((Q e^G) S + tril(Q K^T e^{G_i - G_j}) V'); S <- e^{G_C} S "
        "+ (K e^{G_C - G})^T V'. Yang, Kautz and Hatamizadeh, Gated Delta Networks: Improving "
        "Mamba2 with Delta Rule, arXiv 2412.06464."
    ),
    entries=(FORWARD, gradient_entry(FORWARD, DIFFERENTIABLE, gradient_cost), DECODE),
    cases=CASES,
    distributions=inputs.DISTRIBUTIONS,
    implementations=tuple(
        Implementation(
            name, ("cpu", "tpu", "cuda"), entries=("forward", "forward_with_grad", "decode")
        )
        for name in ("plain", "xla")
    ),
    # The chunked form solves a triangle where the recurrence only adds: on correlated keys its
    # honest float32 error is some times as large, about 1e-6 of the result. bfloat16 results get no
    # wider floor for that: their own rounding hides it, and 5 % must stay visible.
    tolerance=Tolerance(factor=8.0, floor_ulps=2.0, accumulation_ulps=64.0),
    menu=(
        "chunk length: longer chunks mean fewer steps of the scan and more work in the triangle; "
        "64 is usual on accelerators",
        "invert the unit triangle by 16 x 16 substitution and merges of blocks: full Neumann "
        "doubling loses everything on correlated keys with beta near 1",
        "apply M to beta (V - e^G K S) inside the scan: one product of width v instead of U and W "
        "of width v + k before it, at the price of a longer chain",
        "concatenate [V | K] for U and W, and [W ; Q e^G] against S: fewer, larger products",
        "compute K K^T and Q K^T once a head and repeat them to the value heads afterwards",
        "do a chunk's own work inside the scan, where its operands are in cache, or before it for "
        "all chunks at once, where they fill a wide machine",
        "mask, then exponentiate; take exponents as sums over the tokens between, not as "
        "differences of long sums",
        "fold the queries' scale, beta and e^G into the smallest operand",
        "keep the state in registers, VMEM or cache across chunks; split v across cores",
        "decode: read the state once for key and query together, since out = scale (e^g S^T q + "
        "(k . q) u) needs no second pass over the new state",
        "backward: save M or the state of each chunk, recompute the rest",
    ),
)
