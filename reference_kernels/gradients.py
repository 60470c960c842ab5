"""`forward_with_grad`, derived once for every op from its `forward`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from reference_kernels.problem import Case, Cost, EntryPoint, Scalar, Tree


def with_grad(forward: Callable[..., Tree], differentiable: tuple[str, ...]) -> Callable[..., Tree]:
    """Turn an implementation's `forward` into its `forward_with_grad`.

    Returns a function `(*, cotangents, **arrays_and_static) -> (results, gradients)`, where
    `cotangents` is a tree like the results and `gradients` a dict from the name of each
    differentiable argument that is present to an array of its shape and dtype.
    """

    def forward_with_grad(*, cotangents: Tree, **arguments: Any) -> tuple[Tree, dict[str, Any]]:
        wanted = {n: arguments[n] for n in differentiable if arguments.get(n) is not None}
        rest = {n: a for n, a in arguments.items() if n not in wanted}
        results, pullback = jax.vjp(lambda w: forward(**w, **rest), wanted)
        (gradients,) = pullback(cotangents)
        return results, gradients

    return forward_with_grad


def gradient_entry(
    forward: EntryPoint,
    differentiable: tuple[str, ...],
    cost: Callable[[Case], Cost],
) -> EntryPoint:
    """The `forward_with_grad` entry point that belongs to a `forward` one.

    The truth is `jax.vjp` of the float64 oracle: the formula's own derivative, not an
    implementation's. Cotangents are standard normal.
    """

    def arguments(case: Case) -> dict[str, Tree]:
        return {**forward.arguments(case), "cotangents": forward.results(case)}

    def results(case: Case) -> Tree:
        args = forward.arguments(case)
        return forward.results(case), {n: args[n] for n in differentiable if n in args}

    def inputs(key: jax.Array, case: Case, distribution: str) -> dict[str, Tree]:
        # numpy: jax would compile each draw anew for each shape.
        seed = np.asarray(jax.random.key_data(key)).tolist()
        rng = np.random.default_rng([*seed, 1])
        cotangents = jax.tree_util.tree_map(
            lambda leaf: jnp.asarray(
                rng.standard_normal(leaf.shape, np.float32).astype(leaf.dtype)
            ),
            forward.results(case),
        )
        return {**forward.inputs(key, case, distribution), "cotangents": cotangents}

    def oracle(arrays: dict[str, Tree], static: dict[str, Scalar]) -> Tree:
        rest = {n: a for n, a in arrays.items() if n not in (*differentiable, "cotangents")}
        wanted = {n: arrays[n] for n in differentiable if n in arrays}
        values, pullback = jax.vjp(lambda w: forward.oracle({**w, **rest}, static), wanted)
        (gradients,) = pullback(arrays["cotangents"])
        return values, gradients

    return EntryPoint("forward_with_grad", arguments, results, inputs, oracle, cost)
