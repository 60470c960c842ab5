"""All that a cell's candidate is held to: the oracle and the shipped programs, compiled."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from jax import export

from evaluators.inside.compiled import Compiled
from evaluators.inside.numerics import Truth
from evaluators.inside.program import Program, walk
from evaluators.inside.protocol import CellRequest
from reference_kernels.problem import Cost, Problem

ANY_SIZE = 1 << 40
ANY_SEED = 0
"""Of what is drawn to get ready: never of what is judged."""


class Yardstick:
    """One entry point on one case, as the library has it.

    Args:
        source: folder that holds the artefacts the request names.
        incumbent: the shipped implementation that the candidate would replace.
        platform: what the artefacts were lowered for.
    """

    def __init__(
        self, problem: Problem, request: CellRequest, source: Path, incumbent: str, platform: str
    ) -> None:
        self.request = request
        self.entry = problem.entry(request.entry)
        self.case = problem.case(request.case)
        self.truth = Truth(problem, self.entry, self.case)
        self._artefacts = {
            name: (source / file).read_bytes() for name, file in request.shipped.items()
        }
        self._incumbent = incumbent
        self._platform = platform
        self._controls: dict[str, Compiled] = {}

    @cached_property
    def shipped(self) -> dict[str, Compiled]:
        """The shipped programs that the candidate is timed or compared with."""
        wanted = self._artefacts if self.request.timed else {"plain": self._artefacts["plain"]}
        return {name: self._compile(data) for name, data in wanted.items()}

    @property
    def plain(self) -> Compiled:
        return self.shipped["plain"]

    def control(self, implementation: str) -> Compiled:
        """A second, separate executable of a shipped program, for the A/A control."""
        if implementation not in self._controls:
            self._controls[implementation] = self._compile(self._artefacts[implementation])
        return self._controls[implementation]

    @cached_property
    def plain_depends(self) -> tuple[frozenset[int], ...]:
        """What each result of the plain version depends on: the least that is asked."""
        return self._walk("plain").depends

    @cached_property
    def incumbent_digest(self) -> str | None:
        """Identity of the program that the candidate would replace here."""
        known = self._incumbent in self._artefacts
        return self._walk(self._incumbent).digest if known else None

    def cost(self) -> Cost:
        return self.entry.cost(self.case)

    def get_ready(self) -> None:
        """Compile and run once all that judging a candidate will need besides the candidate."""
        for name, program in self.shipped.items():
            program(self.truth.inputs(ANY_SEED, self.truth.problem.distributions[0]))
            if self.request.timed:
                self.control(name)
        for distribution in self.truth.problem.distributions:
            arguments = self.truth.inputs(ANY_SEED, distribution)
            self.truth.judge(self.plain(arguments), self.plain, arguments)
        _ = self.plain_depends, self.incumbent_digest

    def _compile(self, artefact: bytes) -> Compiled:
        return Compiled(export.deserialize(bytearray(artefact)), self.entry, self.case)

    def _walk(self, implementation: str) -> Program:
        return walk(
            self._artefacts[implementation],
            self._platform,
            artefact_bytes=ANY_SIZE,
            constant_bytes=ANY_SIZE,
        )
