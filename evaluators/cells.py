"""Which entry points and cases a candidate is judged on, by tier."""

from __future__ import annotations

import json
from dataclasses import dataclass

from evaluators.targets import Target
from evaluators.verdict import Tier
from reference_kernels.problem import Case, Implementation, Problem, case_key
from sandbox.records import Candidate

CONFIG_FILE = "config.json"


@dataclass(frozen=True)
class Cell:
    """One entry point on one case.

    Attributes:
        timed: compared and timed; otherwise compared alone.
        sealed: exported in a container of its own, whose log no proposer reads.
    """

    entry: str
    case: str
    timed: bool
    sealed: bool = False

    @property
    def id(self) -> str:
        return f"{self.entry}--{self.case}"


def primary_case(problem: Problem, target: Target) -> Case:
    """The case that a search is steered by when none is named."""
    kind = "cpu" if target.measured_here else "smoke"
    for tags in ((kind, "primary"), (kind,), ("smoke",)):
        cases = problem.tagged(*tags)
        if cases:
            return cases[0]
    raise KeyError(f"{problem.name} has no case for {target.name}")


def tuned_keys(candidate: Candidate) -> dict[str, dict[str, object]]:
    """The shape keys that a `tuned` candidate names, with their config fields; else empty."""
    text = candidate.files.get(CONFIG_FILE)
    return json.loads(text) if text else {}


def plan(
    problem: Problem,
    implementation: Implementation,
    candidate: Candidate,
    target: Target,
    tier: Tier,
    case: Case | None = None,
) -> tuple[Cell, ...]:
    """The cells of one judgement.

    A screening compares and times `forward` on one case. A promotion compares every entry point on
    every smoke, CPU and held-out case and times those of the CPU; a tuned candidate is judged on
    the calls that its entry names, and nothing else changes for anyone.
    """
    chosen = case or primary_case(problem, target)
    if not target.measured_here:
        return tuple(
            Cell(entry, each.name, timed=False)
            for each in ((chosen,) if tier == "screen" else problem.tagged("smoke"))
            for entry in implementation.entries
        )
    tuned = tuned_keys(candidate)
    entries = implementation.entries
    if tuned:
        named = [
            Cell(entry, each.name, timed=True)
            for each in problem.cases
            for entry in entries
            if case_key(problem, entry, each) in tuned
        ]
        if tier == "screen":
            forward = [cell for cell in named if cell.entry == entries[0]]
            return tuple((forward or named)[:1])
        return tuple(named)
    if tier == "screen":
        return (Cell(entries[0], chosen.name, timed=True),)
    cells = []
    for each in problem.cases:
        if not each.tags & {"smoke", "cpu", "holdout"} or "device" in each.tags:
            continue
        sealed = "holdout" in each.tags
        timed = "cpu" in each.tags and not sealed
        cells.extend(Cell(entry, each.name, timed, sealed) for entry in entries)
    return tuple(cells)
