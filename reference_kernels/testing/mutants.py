"""Wrong results that a case must be able to tell from right ones (DESIGN.md §4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax
import numpy as np

from reference_kernels.problem import Case, Tree
from reference_kernels.testing import trial

Mutant = tuple[str, Tree]
Change = Callable[[np.ndarray], np.ndarray]

# Each replaces all leaves, and must be caught on every distribution.
WHOLESALE: dict[str, Change] = {
    "zeros": np.zeros_like,
    "constant": lambda leaf: np.full_like(leaf, leaf.astype(np.float64).mean()),
}

# Each replaces one leaf, and must be caught on one distribution at least.
PER_LEAF: dict[str, Change] = {
    **WHOLESALE,
    "5 % too large": lambda leaf: (leaf.astype(np.float64) * 1.05).astype(leaf.dtype),
    "reversed": lambda leaf: np.flip(leaf),
}


def wholesale(op: str, entry: str, case: Case, distribution: str) -> Iterator[Mutant]:
    honest = trial.yardstick(op, entry, case, distribution)
    for name, change in WHOLESALE.items():
        yield name, jax.tree.map(lambda leaf, change=change: change(np.asarray(leaf)), honest)


def subtle(op: str, entry: str, case: Case, distribution: str) -> Iterator[Mutant]:
    """Results that are right but for one thing; the same names for every distribution."""
    honest = trial.yardstick(op, entry, case, distribution)
    paths, leaves, rebuild = _flat(honest)
    for index, (path, leaf) in enumerate(zip(paths, leaves, strict=True)):
        for name, change in PER_LEAF.items():
            if leaf.size > 1 or name != "reversed":
                yield f"result{path} {name}", rebuild(index, change(leaf))
        for source, value in _alike(trial.inputs(op, entry, case, distribution), leaf):
            yield f"result{path} is argument {source}", rebuild(index, value)
    other = trial.truth(op, entry, case, distribution, seed=1)
    yield "another seed's result", trial.as_results(other, honest)
    yield from _ignoring(op, entry, case, distribution, honest)


def _ignoring(op: str, entry: str, case: Case, distribution: str, honest: Tree) -> Iterator[Mutant]:
    """The oracle's result where one argument is not what was given."""
    arrays = trial.inputs(op, entry, case, distribution)
    paths, leaves, rebuild = _flat(arrays)
    changes: dict[str, Change] = {"ignored": np.zeros_like, "reversed": lambda leaf: np.flip(leaf)}
    for index, (path, leaf) in enumerate(zip(paths, leaves, strict=True)):
        for name, change in changes.items():
            if leaf.size > 1 or name != "reversed":
                wrong = trial.evaluate_oracle(op, entry, case, rebuild(index, change(leaf)))
                yield f"argument{path} {name}", trial.as_results(wrong, honest)


def _alike(arrays: dict[str, Tree], leaf: np.ndarray) -> Iterator[Mutant]:
    for path, value in jax.tree_util.tree_leaves_with_path(arrays):
        if value.shape == leaf.shape and value.dtype == leaf.dtype:
            yield jax.tree_util.keystr(path), np.asarray(value)


def _flat(tree: Tree) -> tuple[list[str], list[np.ndarray], Callable[[int, np.ndarray], Tree]]:
    """Paths and leaves of a tree, and how to have it again with one leaf replaced."""
    with_paths, structure = jax.tree_util.tree_flatten_with_path(tree)
    leaves = [np.asarray(leaf) for _, leaf in with_paths]

    def rebuild(index: int, value: np.ndarray) -> Tree:
        return structure.unflatten([*leaves[:index], value, *leaves[index + 1 :]])

    return [jax.tree_util.keystr(path) for path, _ in with_paths], leaves, rebuild
