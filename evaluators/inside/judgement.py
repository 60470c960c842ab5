"""One pass of the judge over the cells of a request: walk, compile, compare, time."""

from __future__ import annotations

import contextlib
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluators.inside import physics, timing
from evaluators.inside.cell import Cell, missing_dependences, worst
from evaluators.inside.compiled import SignatureError
from evaluators.inside.fingerprint import fingerprint
from evaluators.inside.numerics import modifies_inputs, repeats
from evaluators.inside.operations import top_operations
from evaluators.inside.program import Program, RefusedProgramError, walk
from evaluators.inside.protocol import (
    CellRequest,
    CellSamples,
    Comparison,
    JudgeReport,
    JudgeRequest,
    ProgramFacts,
    Refusal,
    Repeat,
)
from evaluators.inside.yardstick import Yardstick
from evaluators.programs import key_of_programs
from reference_kernels import catalog
from reference_kernels.accuracy import Discrepancy
from reference_kernels.problem import Tree

UNCHANGED = "unchanged"
"""What `JudgeReport.known` says of a candidate whose programs are the incumbent's."""


class Judgement:
    """One pass over the cells of a request.

    Args:
        yardsticks: those that were made ready, by cell.
    """

    def __init__(
        self,
        request: JudgeRequest,
        source: Path,
        out: Path,
        yardsticks: dict[str, Yardstick] | None = None,
    ) -> None:
        self.request = request
        self._yardsticks = yardsticks or {}
        self.known = ""
        self.source = source
        self.out = out
        self.problem = catalog.problem(request.op)
        self.stage_ns: dict[str, int] = {}
        self.seeds: list[int] = []
        self.found: dict[str, list[Any]] = {
            name: []
            for name in (
                "refusals",
                "mismatches",
                "independent",
                "programs",
                "comparisons",
                "repeats",
                "samples",
                "unchanged",
            )
        }

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter_ns()
        try:
            yield
        finally:
            spent = time.perf_counter_ns() - started
            self.stage_ns[name] = self.stage_ns.get(name, 0) + spent

    def seed(self) -> int:
        """A fresh seed from the kernel's own randomness."""
        seed = secrets.randbits(63)
        self.seeds.append(seed)
        return seed

    def report(self) -> JudgeReport:
        self._judge()
        return JudgeReport(
            known=self.known,
            **{name: tuple(items) for name, items in self.found.items()},
            seeds=tuple(self.seeds),
            fingerprint=fingerprint(),
            stage_ns=self.stage_ns,
            finished=True,
        )

    def _judge(self) -> None:
        with self.stage("walk"):
            walked = self._walk()
        if walked is None or self.request.digests_only:
            return
        self.known = self._recognised(walked)
        if self.known:
            return
        cells = self._compile(walked)
        if cells is None:
            return
        with self.stage("numerics"):
            for cell in cells:
                self._compare(cell)
        wrong = any(not c.passed for c in self.found["comparisons"])
        changed = any(r.modified_inputs or len(r.digests) > 1 for r in self.found["repeats"])
        if wrong or changed or self.found["independent"] or self.request.numerics_only:
            return
        timed = [cell for cell in cells if cell.request.timed]
        same = [c for c in timed if c.yardstick.incumbent_digest == walked[c.request.id].digest]
        self.found["unchanged"].extend(cell.request.id for cell in same)
        with self.stage("timing"):
            # A copy of the incumbent is timed all the same: it must show no gain.
            self._time([c for c in timed if c not in same] or timed)

    def _walk(self) -> dict[str, Program] | None:
        """Check every candidate program before any is compiled; None when one is refused."""
        programs = {}
        for cell in self.request.cells:
            data = (self.source / cell.candidate).read_bytes()
            try:
                program = walk(
                    data,
                    self.request.platform,
                    artefact_bytes=self.request.artefact_bytes,
                    constant_bytes=self.request.constant_bytes,
                )
            except RefusedProgramError as refusal:
                self.found["refusals"].append(
                    Refusal(cell=cell.id, rule=refusal.rule, detail=refusal.detail[:500])
                )
                continue
            programs[cell.id] = program
            self.found["programs"].append(
                ProgramFacts(
                    cell=cell.id,
                    digest=program.digest,
                    operations=program.operations,
                    custom_calls=program.custom_calls,
                    constant_bytes=program.constant_bytes,
                    size_bytes=len(data),
                )
            )
        return None if self.found["refusals"] else programs

    def _yardstick(self, request: CellRequest) -> Yardstick:
        ready = self._yardsticks.get(request.id)
        if ready is None or ready.request != request:
            asked = self.request
            ready = Yardstick(
                self.problem, request, self.source, asked.implementation, asked.platform
            )
            self._yardsticks[request.id] = ready
        return ready

    def _recognised(self, walked: dict[str, Program]) -> str:
        """The key under which these programs were judged before, or empty."""
        cells = {cell.id: cell for cell in self.request.cells}
        names = {
            f"{cells[cell].entry}|{cells[cell].case}": program.digest
            for cell, program in walked.items()
        }
        key = key_of_programs(names)
        if key in self.request.known:
            return key
        if self.request.skip_unchanged and all(
            self._yardstick(cell).incumbent_digest == walked[cell.id].digest
            for cell in self.request.cells
        ):
            return UNCHANGED
        return ""

    def _compile(self, walked: dict[str, Program]) -> list[Cell] | None:
        cells = []
        for request in self.request.cells:
            program = walked[request.id]
            try:
                with self.stage("compile"):
                    cell = Cell(self._yardstick(request), program)
            except SignatureError as mismatch:
                self.found["mismatches"].append(
                    Refusal(cell=request.id, rule="signature", detail=str(mismatch)[:500])
                )
                continue
            cells.append(cell)
            self._amend_facts(cell)
            missing = missing_dependences(cell, program, (self.seed(), self.seed()))
            if missing:
                self.found["independent"].append(
                    Refusal(cell=request.id, rule="dependence", detail=missing)
                )
        return None if self.found["mismatches"] else cells

    def _amend_facts(self, cell: Cell) -> None:
        facts = self.found["programs"]
        for index, known in enumerate(facts):
            if known.cell == cell.request.id:
                facts[index] = known.model_copy(
                    update={
                        "flops": cell.candidate.flops(),
                        "least_operations": cell.yardstick.cost().operations,
                        "compile_ns": cell.compile_ns,
                    }
                )

    def _compare(self, cell: Cell) -> None:
        for distribution in self.problem.distributions:
            rounds = []
            for _ in range(self.request.seeds_per_distribution):
                arguments = cell.truth.inputs(self.seed(), distribution)
                result = cell.candidate(arguments)
                rounds.append(cell.truth.judge(result, cell.yardstick.plain, arguments))
            for found in worst(rounds):
                self._note(cell, distribution, found)
        seed = self.request.repeat_seed
        seed = self.seed() if seed is None else seed
        arguments = cell.truth.inputs(seed, self.problem.distributions[0])
        self.found["repeats"].append(
            Repeat(
                cell=cell.request.id,
                seed=seed,
                modified_inputs=modifies_inputs(cell.candidate, arguments),
                digests=tuple(sorted(repeats(cell.candidate, arguments, 3))),
            )
        )

    def _time(self, cells: list[Cell]) -> None:
        peaks = physics.measure()
        first = self.problem.distributions[0]
        for cell in cells:

            def draw(cell: Cell = cell) -> dict[str, Tree]:
                return cell.truth.inputs(self.seed(), first)

            yardstick = cell.yardstick
            baseline = timing.fastest(yardstick.shipped, self.request.implementation, draw)
            samples = timing.sample(
                cell.candidate,
                yardstick.shipped[baseline],
                yardstick.control(baseline),
                draw,
                pairs=self.request.pairs,
                wall_pairs=self.request.wall_pairs,
                verify=self.request.verified_samples,
            )
            for arguments, result in samples.checked:
                for found in cell.truth.judge(result, yardstick.plain, arguments):
                    self._note(cell, first, found, timed_call=True)
            trace = f"trace-{cell.request.id}.xplane.pb"
            (self.out / trace).write_bytes(samples.trace)
            cost = yardstick.cost()
            self.found["samples"].append(
                CellSamples(
                    cell=cell.request.id,
                    baseline=baseline,
                    pairs_ns=tuple(samples.pairs_ns),
                    control_pairs_ns=tuple(samples.control_pairs_ns),
                    wall_pairs_ns=tuple(samples.wall_pairs_ns),
                    roofline_ns=peaks.roofline_ns(cost.operations, cost.bytes_moved),
                    trace=trace,
                    top_operations=tuple(
                        str(each) for each in top_operations(samples.trace, samples.program_id)
                    ),
                )
            )

    def _note(
        self, cell: Cell, distribution: str, found: Discrepancy, *, timed_call: bool = False
    ) -> None:
        self.found["comparisons"].append(
            Comparison(
                cell=cell.request.id,
                distribution=distribution,
                leaf=found.leaf,
                kind=found.kind,
                error=_finite(found.error),
                allowed=_finite(found.allowed),
                where=found.where,
                timed_call=timed_call,
            )
        )


def _finite(value: float) -> float:
    """JSON has no infinity: the largest float says as much."""
    return min(value, sys.float_info.max) if value == value else sys.float_info.max
