"""Compare a compiled program with the float64 oracle, on inputs drawn here and now."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from evaluators.inside.compiled import Compiled
from reference_kernels.accuracy import Discrepancy, compare
from reference_kernels.problem import Case, EntryPoint, Problem, Tree


class Truth:
    """The oracle of one cell, compiled once."""

    def __init__(self, problem: Problem, entry: EntryPoint, case: Case) -> None:
        self.problem, self.entry, self.case = problem, entry, case
        static = case.statics
        self._oracle = jax.jit(lambda arrays: entry.oracle(arrays, static))

    def inputs(self, seed: int, distribution: str) -> dict[str, Tree]:
        """Arguments drawn from a seed, as concrete arrays."""
        key = jax.random.key(seed)
        return jax.block_until_ready(self.entry.inputs(key, self.case, distribution))

    def oracle(self, arguments: dict[str, Tree]) -> Tree:
        """The float64 result tree."""
        with jax.enable_x64(True):
            exact = jax.tree_util.tree_map(_widen, arguments)
            return jax.block_until_ready(self._oracle(exact))

    def judge(
        self, result: Tree, plain: Callable[[dict[str, Tree]], Tree], arguments: dict[str, Tree]
    ) -> list[Discrepancy]:
        return compare(result, plain(arguments), self.oracle(arguments), self.problem.tolerance)


def _widen(array: jax.Array) -> Any:
    if jax.numpy.issubdtype(array.dtype, jax.numpy.floating):
        return np.asarray(array).astype(np.float64)
    return np.asarray(array)


def content_digest(tree: Tree) -> str:
    """SHA-256 over the bytes of every array of a tree."""
    digest = hashlib.sha256()
    for leaf in jax.tree_util.tree_leaves(tree):
        digest.update(np.ascontiguousarray(np.asarray(leaf)).tobytes())
    return digest.hexdigest()


def modifies_inputs(program: Compiled, arguments: dict[str, Tree]) -> bool:
    """Whether a run leaves other content in its arguments than it found."""
    before = content_digest(arguments)
    program(arguments)
    return content_digest(arguments) != before


def repeats(program: Compiled, arguments: dict[str, Tree], times: int) -> set[str]:
    """Digests of the results of `times` runs on the same arguments: one, if deterministic."""
    return {content_digest(program(arguments)) for _ in range(times)}
