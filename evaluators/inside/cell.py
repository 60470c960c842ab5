"""One entry point on one case, with everything compiled that judging it takes."""

from __future__ import annotations

import time

import jax
import numpy as np

from evaluators.inside.compiled import Compiled
from evaluators.inside.program import Program
from evaluators.inside.yardstick import Yardstick
from reference_kernels.accuracy import Discrepancy
from reference_kernels.problem import Tree


class Cell:
    """A candidate's program beside its yardstick.

    Args:
        program: the candidate's, already walked.

    Raises:
        SignatureError: the candidate's program is not of the entry point's signature.
    """

    def __init__(self, yardstick: Yardstick, program: Program) -> None:
        self.yardstick = yardstick
        self.request = yardstick.request
        self.truth = yardstick.truth
        started = time.perf_counter_ns()
        self.candidate = Compiled(program.exported, yardstick.entry, yardstick.case)
        self.compile_ns = time.perf_counter_ns() - started


def missing_dependences(cell: Cell, program: Program, seeds: tuple[int, int]) -> str:
    """Inputs that a result must depend on and the candidate's does not, in words.

    The plain version's data flow names the suspects. It may name too many (a factor that cancels),
    so the oracle decides: another value for that input must change its result.

    Args:
        seeds: of two draws of the arguments.
    """
    lacking = [
        (index, argument)
        for index, (needs, has) in enumerate(
            zip(cell.yardstick.plain_depends, program.depends, strict=True)
        )
        for argument in sorted(needs - has)
    ]
    if not lacking:
        return ""
    distribution = cell.truth.problem.distributions[0]
    drawn, other = (cell.truth.inputs(seed, distribution) for seed in seeds)
    for index, argument in lacking:
        if _oracle_changes(cell, drawn, other, index, argument):
            name = jax.tree_util.keystr(
                jax.tree_util.tree_leaves_with_path(cell.candidate.arguments)[argument][0]
            )
            return f"result {index} does not depend on {name}"
    return ""


def _oracle_changes(
    cell: Cell, drawn: dict[str, Tree], other: dict[str, Tree], result: int, argument: int
) -> bool:
    leaves, tree = jax.tree_util.tree_flatten(drawn)
    leaves[argument] = jax.tree_util.tree_leaves(other)[argument]
    before, after = (
        np.asarray(jax.tree_util.tree_leaves(cell.truth.oracle(arguments))[result])
        for arguments in (drawn, jax.tree_util.tree_unflatten(tree, leaves))
    )
    scale = float(np.sqrt(np.mean(np.square(before)))) if before.size else 0.0
    return bool(np.abs(after - before).max(initial=0.0) > 1e-9 * scale)


def worst(rounds: list[list[Discrepancy]]) -> list[Discrepancy]:
    """For each result array, the worst comparison over several rounds of inputs."""
    by_leaf: dict[str, Discrepancy] = {}
    for found in (item for comparisons in rounds for item in comparisons):
        known = by_leaf.get(found.leaf)
        if known is None or _badness(found) > _badness(known):
            by_leaf[found.leaf] = found
    return list(by_leaf.values())


def _badness(found: Discrepancy) -> tuple[bool, float]:
    return not found.passed, found.ratio
