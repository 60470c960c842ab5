"""Turn a checked artefact into something that runs, with no Python of the candidate left in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax import export

from reference_kernels.problem import Case, EntryPoint, Tree


class SignatureError(Exception):
    """A program's results are not what its entry point returns."""


class Compiled:
    """One compiled entry point on one case.

    Args:
        exported: a program that `program.walk` has let through.
        entry, case: what it claims to compute.

    Raises:
        SignatureError: its arguments or results differ from the entry point's in structure, shape
            or dtype.
    """

    def __init__(self, exported: export.Exported, entry: EntryPoint, case: Case) -> None:
        self.arguments = entry.arguments(case)
        self.results = entry.results(case)
        check_signature(exported, self.arguments, self.results)
        self._tree = jax.tree_util.tree_structure(self.results)
        leaves, tree = jax.tree_util.tree_flatten(self.arguments)

        def flat(*values: jax.Array) -> list[jax.Array]:
            return jax.tree_util.tree_leaves(
                exported.call(jax.tree_util.tree_unflatten(tree, values))
            )

        # keep_unused: every argument is passed, so both sides of a pair do the same hand-over.
        self.executable = jax.jit(flat, keep_unused=True).lower(*leaves).compile()

    def __call__(self, arguments: dict[str, Tree]) -> Tree:
        values = self.run(jax.tree_util.tree_leaves(arguments))
        return jax.tree_util.tree_unflatten(self._tree, values)

    def run(self, leaves: Sequence[jax.Array]) -> list[jax.Array]:
        """Run on flat arguments and wait for every result."""
        return jax.block_until_ready(self.executable(*leaves))

    def flops(self) -> float:
        """Operations that XLA counts in the compiled program (a loop of unknown length once)."""
        analysis: Any = self.executable.cost_analysis()
        return float((analysis or {}).get("flops", 0.0))


def check_signature(exported: export.Exported, arguments: dict[str, Tree], results: Tree) -> None:
    """Compare a program's structure, shapes and dtypes with an entry point's."""
    expected_in = jax.tree_util.tree_structure(((arguments,), {}))
    if exported.in_tree != expected_in:
        raise SignatureError(f"takes {exported.in_tree}, not {expected_in}")
    _compare("argument", exported.in_avals, arguments)
    expected_out = jax.tree_util.tree_structure(results)
    if exported.out_tree != expected_out:
        raise SignatureError(f"returns {exported.out_tree}, not {expected_out}")
    _compare("result", exported.out_avals, results)


def _compare(what: str, avals: Sequence[Any], tree: Tree) -> None:
    for aval, (path, leaf) in zip(avals, jax.tree_util.tree_leaves_with_path(tree), strict=True):
        if tuple(aval.shape) != tuple(leaf.shape) or aval.dtype != leaf.dtype:
            raise SignatureError(
                f"{what} {jax.tree_util.keystr(path) or '0'} is {aval.dtype}{list(aval.shape)}, "
                f"not {leaf.dtype}{list(leaf.shape)}"
            )
