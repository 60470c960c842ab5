"""What a judging process does before it has a candidate, so that the candidate waits for less."""

from __future__ import annotations

from pathlib import Path

from evaluators.inside import physics, timing
from evaluators.inside.protocol import Preparation
from evaluators.inside.yardstick import Yardstick
from reference_kernels import catalog


def get_ready(asked: Preparation, source: Path) -> dict[str, Yardstick]:
    """Do beforehand all that needs no candidate; the yardsticks by cell."""
    problem = catalog.problem(asked.op)
    physics.measure(rounds=1)
    found = {}
    for cell in asked.cells:
        found[cell.id] = Yardstick(problem, cell, source, asked.implementation, asked.platform)
        found[cell.id].get_ready()
    timing.settle_memory()
    return found
