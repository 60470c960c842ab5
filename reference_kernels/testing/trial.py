"""Inputs, truths and results of an op's cases, each computed once in a test session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import jax
import numpy as np

from reference_kernels import accuracy, catalog
from reference_kernels.problem import Case, Implementation, Tree


@lru_cache(maxsize=128)
def _drawn(op: str, entry: str, case: Case, distribution: str, seed: int) -> dict[str, Tree]:
    return catalog.problem(op).entry(entry).inputs(jax.random.key(seed), case, distribution)


def inputs(op: str, entry: str, case: Case, distribution: str, seed: int = 0) -> dict[str, Tree]:
    """Arguments of an entry point, in a dict of the caller's own."""
    return dict(_drawn(op, entry, case, distribution, seed))


@lru_cache(maxsize=64)
def truth(op: str, entry: str, case: Case, distribution: str, seed: int = 0) -> Tree:
    """The oracle's result for `inputs` of the same name."""
    return evaluate_oracle(op, entry, case, inputs(op, entry, case, distribution, seed))


@lru_cache(maxsize=64)
def yardstick(op: str, entry: str, case: Case, distribution: str, seed: int = 0) -> Tree:
    """The plain version's result for `inputs` of the same name."""
    plain = catalog.problem(op).implementations[0].name
    return compiled(op, plain, entry, case)(**inputs(op, entry, case, distribution, seed))


def failures(
    op: str, entry: str, case: Case, distribution: str, result: Tree, seed: int = 0
) -> list[str]:
    """What `accuracy.compare` holds against a result for `inputs` of the same name."""
    drawn = (op, entry, case, distribution, seed)
    found = accuracy.compare(
        result, yardstick(*drawn), truth(*drawn), catalog.problem(op).tolerance
    )
    return [f"{distribution}: {item}" for item in found if not item.passed]


@cache
def _oracle(op: str, entry: str, case: Case) -> Callable[[dict[str, Tree]], Tree]:
    oracle = catalog.problem(op).entry(entry).oracle
    return jax.jit(lambda arrays: oracle(arrays, case.statics))


def evaluate_oracle(op: str, entry: str, case: Case, arrays: dict[str, Tree]) -> Tree:
    """The truth for arguments of any dtype, in float64, as numpy arrays."""

    def widen(leaf: Any) -> np.ndarray:
        floating = jax.numpy.issubdtype(leaf.dtype, np.floating)
        return np.asarray(leaf).astype(np.float64) if floating else np.asarray(leaf)

    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, _oracle(op, entry, case)(jax.tree.map(widen, arrays)))


def bound(
    op: str, implementation: str, entry: str, case: Case, config: Any = None, **extra: Any
) -> Callable[..., Tree]:
    """One implementation's entry point as a function of the case's arrays alone, by keyword."""
    module = catalog.module(op, implementation)
    function = getattr(module, entry)
    chosen = module.Config() if config is None else config
    return lambda **arrays: function(**arrays, **case.statics, **extra, config=chosen)


@cache
def compiled(
    op: str, implementation: str, entry: str, case: Case, config: Any = None
) -> Callable[..., Tree]:
    """The same, jitted; interpreted where it does not run on this platform."""
    described = catalog.problem(op).implementation(implementation)
    extra = {"interpret": True} if needs_interpreter(described) else {}
    return jax.jit(bound(op, implementation, entry, case, config, **extra))


def platform() -> str:
    """The platform of this process, as implementations name it."""
    return {"gpu": "cuda"}.get(jax.default_backend(), jax.default_backend())


def needs_interpreter(implementation: Implementation) -> bool:
    return implementation.interpret and platform() not in implementation.platforms


def runs_here(implementation: Implementation) -> bool:
    """Whether its artefact can be run in this process, interpreted if need be."""
    here = platform() in implementation.platforms or implementation.interpret
    return implementation.trust == "artefact" and here


def specification(tree: Tree) -> Tree:
    """Shapes and dtypes of a tree, comparable with `==`."""
    return jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape)}", tree)


def as_results(tree: Tree, like: Tree) -> Tree:
    """A float64 tree in the dtypes of another."""
    return jax.tree.map(lambda a, b: np.asarray(a).astype(b.dtype), tree, like)


def same(left: Tree, right: Tree) -> bool:
    """Whether two trees are equal to the bit."""
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)
