"""One entry point on one case, with everything compiled that judging it takes."""

from __future__ import annotations

import time
from pathlib import Path

import jax
import numpy as np
from jax import export

from evaluators.inside.compiled import Compiled
from evaluators.inside.numerics import Truth
from evaluators.inside.program import Program, walk
from evaluators.inside.protocol import CellRequest
from reference_kernels.accuracy import Discrepancy
from reference_kernels.problem import Cost, Problem, Tree

ANY_SIZE = 1 << 40


class Cell:
    """The candidate's program and the shipped ones of one entry point and case.

    Args:
        program: the candidate's, already walked.
        source: folder that holds the artefacts the request names.
        incumbent: the shipped implementation that the candidate would replace.

    Raises:
        SignatureError: the candidate's program is not of the entry point's signature.
    """

    def __init__(
        self,
        problem: Problem,
        request: CellRequest,
        program: Program,
        source: Path,
        incumbent: str,
    ) -> None:
        self.request = request
        self.entry = problem.entry(request.entry)
        self.case = problem.case(request.case)
        self.truth = Truth(problem, self.entry, self.case)
        started = time.perf_counter_ns()
        self.candidate = Compiled(program.exported, self.entry, self.case)
        self.compile_ns = time.perf_counter_ns() - started
        self._artefacts = {
            name: (source / file).read_bytes() for name, file in request.shipped.items()
        }
        wanted = self._artefacts if request.timed else {"plain": self._artefacts["plain"]}
        self.shipped = {name: self._compile(data) for name, data in wanted.items()}
        self.plain = self.shipped["plain"]
        self._platform = program.exported.platforms[0]
        self._incumbent = incumbent

    def _compile(self, artefact: bytes) -> Compiled:
        return Compiled(export.deserialize(bytearray(artefact)), self.entry, self.case)

    def compile_again(self, implementation: str) -> Compiled:
        """A second, separate executable of a shipped program, for the A/A control."""
        return self._compile(self._artefacts[implementation])

    def _walk(self, implementation: str) -> Program:
        return walk(
            self._artefacts[implementation],
            self._platform,
            artefact_bytes=ANY_SIZE,
            constant_bytes=ANY_SIZE,
        )

    @property
    def plain_depends(self) -> tuple[frozenset[int], ...]:
        """What each result of the plain version depends on: the least that is asked."""
        return self._walk("plain").depends

    @property
    def incumbent_digest(self) -> str | None:
        """Identity of the program that the candidate would replace here."""
        known = self._incumbent in self._artefacts
        return self._walk(self._incumbent).digest if known else None

    def cost(self) -> Cost:
        return self.entry.cost(self.case)


def missing_dependences(cell: Cell, program: Program, seeds: tuple[int, int]) -> str:
    """Inputs that a result must depend on and the candidate's does not, in words.

    The plain version's data flow names the suspects. It may name too many (a factor that cancels),
    so the oracle decides: another value for that input must change its result.

    Args:
        seeds: of two draws of the arguments.
    """
    lacking = [
        (index, argument)
        for index, (needs, has) in enumerate(zip(cell.plain_depends, program.depends, strict=True))
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
