"""The judge's front door: a candidate in, a verdict out."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from evaluators import locks
from evaluators.api import INCUMBENT, Outcome, Progress
from evaluators.builder import Builder, Built, How
from evaluators.cells import Cell, plan
from evaluators.deadline import Deadline
from evaluators.decide import Decision, decide
from evaluators.errors import KnownProgramError
from evaluators.inside.protocol import JudgeReport
from evaluators.judging import Answer, Judge, Question
from evaluators.policy import Policy, repository_root
from evaluators.shipped import Shipped
from evaluators.targets import Target, target
from evaluators.verdict import Environment, Gate, Status, Tier, Trust, Verdict
from reference_kernels import catalog
from reference_kernels.problem import Problem, case_key
from sandbox import Backend
from sandbox.ready import ReadyPool
from sandbox.records import Candidate


class Evaluator:
    """Judges candidates on one sandbox backend, against one checkout.

    Args:
        backend: where candidates are built and artefacts are judged.
        policy: how much evidence is asked for.
        library: the checkout that holds `reference_kernels`; this one when left out.
        cache: folder for the shipped implementations' programs, or None.
        ready: keep sandboxes ready for the next screening; `close` removes them.
    """

    def __init__(
        self,
        backend: Backend,
        policy: Policy | None = None,
        *,
        library: Path | None = None,
        cache: Path | None = None,
        ready: bool = False,
    ) -> None:
        self.backend = backend
        self.policy = policy or Policy()
        self.library = library or repository_root()
        # While something is timed that counts, no sandbox gets ready.
        self.pool = ReadyPool(backend, lambda: locks.machine("build")) if ready else None
        self._builder = Builder(backend, self.policy, self.library, self.pool)
        self._judge = Judge(backend, self.policy, self.library, self.pool)
        self.toolchain = _toolchain(backend)
        self._shipped = Shipped(self._builder, self.library, self.toolchain, cache)

    def judge(
        self,
        candidate: Candidate,
        *,
        tier: Tier,
        case: str | None = None,
        candidates_measured: int = 1,
        progress: Progress | None = None,
        known: Mapping[str, str] | None = None,
        wall_left_s: float | None = None,
    ) -> Outcome:
        """Build a candidate and judge it.

        Args:
            tier: `screen` steers a search; only `promote` counts.
            case: the case that a screening times; the op's primary one when left out.
            candidates_measured: how many candidates the run has measured, this one included: a
                promotion's interval is corrected for it.
            progress: told the name of each stage as it begins.
            known: program key (`evaluators.api.program_key`, or `INCUMBENT`) -> digest of the
                candidate that was judged with those programs; None judges whatever comes.
            wall_left_s: the caller's time, without waiting; None for no end.

        Raises:
            InfrastructureError: the sandbox failed.
            JudgeFaultError: the judge failed, and the candidate is not to blame.
            KnownProgramError: it lowers to a known program.
            DeadlineError: the caller's time ran out.
        """
        judging = _Judging(self, candidate, tier, case, candidates_measured, progress)
        judging.known = known
        judging.deadline = Deadline(wall_left_s)
        try:
            return judging.run()
        finally:
            self.replenish()

    def replenish(self) -> None:
        """Begin to make ready, in the background, the sandboxes that were used up."""
        if self.pool is not None:
            self.pool.replenish()

    def settle(self) -> None:
        """Wait until the sandboxes that are getting ready are ready."""
        if self.pool is not None:
            self.pool.settle()

    def close(self) -> None:
        """Remove the sandboxes that were kept ready."""
        if self.pool is not None:
            self.pool.close()

    def program_digests(
        self, candidate: Candidate, *, library: Path | None = None, disguise: bool = False
    ) -> dict[str, str]:
        """Lower a candidate again and name the programs that come out.

        Args:
            library: a patched checkout to lower against.
            disguise: lower in a container that looks different.

        Returns:
            `entry|case` -> digest of the program with locations stripped, for the cells that a
            promotion judges.
        """
        problem = catalog.problem(candidate.op)
        aim = target(candidate.target)
        implementation = problem.implementation(candidate.implementation)
        cells = plan(problem, implementation, candidate, aim, "promote")
        builder = Builder(self.backend, self.policy, library or self.library)
        with locks.machine("build"):
            built = builder.build(problem, candidate, aim, cells, how=How(disguise=disguise))
        if built.record.status != "built":
            return {}
        question = Question(
            candidate.op,
            candidate.implementation,
            aim.platform,
            cells,
            built.programs,
            {},
            digests_only=True,
            work="screen",
        )
        report = self._judge.ask(question).report
        return program_names(report, cells) if report else {}


def program_names(report: JudgeReport, cells: Sequence[Cell]) -> dict[str, str]:
    """`entry|case` -> program digest."""
    by_id = {cell.id: cell for cell in cells}
    return {f"{by_id[p.cell].entry}|{by_id[p.cell].case}": p.digest for p in report.programs}


class _Judging:
    """One judgement under way."""

    def __init__(
        self,
        evaluator: Evaluator,
        candidate: Candidate,
        tier: Tier,
        case: str | None,
        candidates_measured: int,
        progress: Progress | None,
    ) -> None:
        self.evaluator = evaluator
        self.policy = evaluator.policy
        self.candidate = candidate
        self.tier: Tier = tier
        self.problem: Problem = catalog.problem(candidate.op)
        self.target: Target = target(candidate.target)
        self.implementation = self.problem.implementation(candidate.implementation)
        chosen = self.problem.case(case) if case else None
        self.cells = plan(self.problem, self.implementation, candidate, self.target, tier, chosen)
        self.candidates_measured = candidates_measured if tier == "promote" else 1
        self.progress = progress or (lambda stage: None)
        self.known: Mapping[str, str] | None = None
        self.deadline = Deadline()
        self.stage_ns: dict[str, int] = {}
        self.builds: list[Built] = []
        self.target_programs: dict[str, str] = {}
        self.answers: list[Answer] = []

    def run(self) -> Outcome:
        if self.implementation.trust == "process":
            from evaluators.process_verdict import judge_process

            return judge_process(self.evaluator.backend, self.candidate, self.tier, self.cells)
        self.progress("build")
        programs, shipped = self._build()
        failed = [b.record for b in self.builds if b.record.status != "built"]
        if failed:
            return self._outcome(_failed_build(failed[0].status, str(failed[0].facts["reason"])))
        question = self._question(programs, shipped)
        self.progress("judge")
        if self.tier == "screen":
            # The next one's sandboxes may get ready beside a screening, on other cores.
            self.evaluator.replenish()
        refused = self._walk_target()
        if refused:
            return self._outcome(refused)
        decision = self._ask(question)
        if self.tier == "promote" and decision.status is Status.FASTER:
            self.progress("confirm")
            seeds = [r.seed for a in self.answers if a.report for r in a.report.repeats]
            decision = self._ask(dataclasses.replace(question, repeat_seed=seeds[0]))
        return self._outcome(decision)

    def _build(self) -> tuple[dict[str, bytes], dict[str, dict[str, bytes]]]:
        platform = self.target.judge_platform
        builder = self.evaluator._builder
        open_cells = [cell for cell in self.cells if not cell.sealed]
        sealed = [cell for cell in self.cells if cell.sealed]
        started = time.perf_counter_ns()

        def lower(cells: list[Cell], *, ready: bool = False, **what: Any) -> Built:
            screen = self.tier == "screen"
            how = How(
                ready=ready and screen,
                # A screening of another candidate may be going on.
                cpu_set=self.evaluator._judge.other_cores if screen else None,
                deadline=self.deadline,
            )
            return builder.build(self.problem, self.candidate, self.target, cells, how=how, **what)

        hold = locks.machine("build", self._queued)
        with hold as queued_ns, ThreadPoolExecutor(2) as pool:
            if queued_ns:
                self.stage_ns["queue"] = queued_ns
                started += queued_ns
                self.deadline.extend(queued_ns)
            baseline = pool.submit(
                self.evaluator._shipped.programs, self.problem, self.target, self.cells, platform
            )
            interpret = self.target.platform != platform
            jobs = [
                pool.submit(lower, open_cells, ready=True, platform=platform, interpret=interpret)
            ]
            if interpret:
                jobs.append(pool.submit(lower, open_cells))
            if sealed:
                jobs.append(pool.submit(lower, sealed, platform=platform))
            self.builds = [job.result() for job in jobs]
            self.stage_ns["build"] = time.perf_counter_ns() - started
            shipped = baseline.result()
        self.stage_ns["baseline"] = time.perf_counter_ns() - started - self.stage_ns["build"]
        judged = [b for b in self.builds if not b.record.artefacts or _is_for(b, platform)]
        programs = {cell: data for b in judged for cell, data in b.programs.items()}
        return programs, shipped

    def _walk_target(self) -> Decision | None:
        """Check the programs for a device that is not here; they are never run."""
        if self.target.platform == self.target.judge_platform:
            return None
        built = next(b for b in self.builds if _is_for(b, self.target.platform))
        question = Question(
            self.candidate.op,
            self.candidate.implementation,
            self.target.platform,
            [cell for cell in self.cells if cell.id in built.programs],
            built.programs,
            {},
            digests_only=True,
            work="screen",
        )
        report = self.evaluator._judge.ask(question, self._queued, self.deadline).report
        assert report is not None
        self.target_programs = program_names(report, self.cells)
        if not report.refusals:
            return None
        return decide([report], self.cells, self.policy, candidates_measured=1, measured=False)

    def _question(
        self, programs: dict[str, bytes], shipped: dict[str, dict[str, bytes]]
    ) -> Question:
        promote = self.tier == "promote"
        return Question(
            op=self.candidate.op,
            implementation=self.candidate.implementation,
            platform=self.target.judge_platform,
            cells=self.cells,
            candidate=programs,
            shipped=shipped,
            seeds_per_distribution=self.policy.seeds_per_distribution[promote],
            pairs=self.policy.promote_pairs if promote else self.policy.screen_pairs,
            wall_s=self.policy.judge_wall_s if promote else self.policy.screen_wall_s,
            numerics_only=not self.target.measured_here,
            known=self.known,
            work="promote" if promote else "screen",
            ready=not promote,
        )

    def _ask(self, question: Question) -> Decision:
        started = time.perf_counter_ns()
        answer = self.evaluator._judge.ask(question, self._queued, self.deadline)
        self._add_stages(answer, time.perf_counter_ns() - started)
        if answer.report is not None and answer.report.known:
            raise KnownProgramError(self._known_candidate(answer.report.known))
        self.answers.append(answer)
        if answer.report is None:
            status = Status(answer.death)
            detail = f"its judge died where the canary lived: {answer.death_detail}"
            return Decision(status, detail, (Gate(name="judge", passed=False, detail=detail),))
        return decide(
            [a.report for a in self.answers if a.report],
            self.cells,
            self.policy,
            candidates_measured=self.candidates_measured,
            measured=self.target.measured_here,
        )

    def _known_candidate(self, key: str) -> str:
        """The candidate that a known program came from; the incumbent may go by no name here."""
        return (self.known or {}).get(key) or INCUMBENT

    def _queued(self) -> None:
        self.progress("queue")

    def _add_stages(self, answer: Answer, duration_ns: int) -> None:
        inside = answer.report.stage_ns if answer.report else {}
        for name, spent_ns in inside.items():
            self.stage_ns[name] = self.stage_ns.get(name, 0) + spent_ns
        if answer.queued_ns:
            self.stage_ns["queue"] = self.stage_ns.get("queue", 0) + answer.queued_ns
        start = max(0, duration_ns - answer.queued_ns - sum(inside.values()))
        self.stage_ns["start"] = self.stage_ns.get("start", 0) + start

    def _outcome(self, decision: Decision) -> Outcome:
        reports = [a.report for a in self.answers if a.report]
        blobs = {
            artefact.digest: built.programs[cell.id]
            for built in self.builds
            for artefact in built.record.artefacts
            for cell in self.cells
            if (cell.entry, cell.case) == (artefact.entry, artefact.case)
        }
        traces = []
        if self.policy.keep_traces:
            for data in (data for answer in self.answers for data in answer.traces.values()):
                digest = hashlib.sha256(data).hexdigest()
                blobs[digest] = data
                traces.append(digest)
        trust: Trust = "artefact"
        verdict = Verdict(
            candidate=self.candidate.digest,
            builds=tuple(built.record.digest for built in self.builds),
            op=self.candidate.op,
            implementation=self.candidate.implementation,
            target=self.target.name,
            tier=self.tier,
            trust=trust,
            status=decision.status,
            reason=decision.reason,
            gates=decision.gates,
            errors=decision.errors,
            timings=decision.timings,
            effect=decision.effect,
            environment=self._environment(reports),
            seeds=tuple(seed for report in reports for seed in report.seeds),
            traces=tuple(traces),
            validity=tuple(
                case_key(self.problem, cell.entry, self.problem.case(cell.case))
                for cell in self.cells
            ),
            log=self._log(),
            stage_ns=self.stage_ns,
            facts=self._facts(reports),
            judged_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
        return Outcome(verdict, tuple(built.record for built in self.builds), blobs)

    def _log(self) -> str:
        # The log of a sealed build says what the held-out cases are: it stays out.
        opened = [built.record.log for built in self.builds[:1]]
        return "\n".join(filter(None, opened))

    def _facts(self, reports: Sequence[JudgeReport]) -> dict[str, Any]:
        if not reports:
            return {}
        return {
            "programs": program_names(reports[0], self.cells),
            "flops": {p.cell: p.flops for p in reports[0].programs},
            "target_programs": self.target_programs,
            "unchanged": list(reports[0].unchanged),
            # Of the first timed cell: what a proposer is told of where the time goes.
            "top_operations": [
                line for samples in reports[0].samples[:1] for line in samples.top_operations
            ],
            "duration_ns": [answer.duration_ns for answer in self.answers],
        }

    def _environment(self, reports: Sequence[JudgeReport]) -> Environment | None:
        if not reports:
            return None
        found = reports[0].fingerprint
        return Environment(
            machine=found["machine"],
            cpu_model=found["cpu_model"],
            device_kind=self.target.device_kind,
            kernel=found["kernel"],
            python=found["python"],
            packages={
                name.removeprefix("package:"): version
                for name, version in found.items()
                if name.startswith("package:")
            },
            xla_flags=found["xla_flags"],
            pinned_core=int(found["pinned_core"]) if found["pinned_core"] else None,
            toolchain=self.evaluator.toolchain,
            backend=self.evaluator.backend.name,
        )


def _toolchain(backend: Backend) -> str:
    """Identity of all that makes a verdict: the sandbox's packages and the judge's own code."""
    digest = hashlib.sha256(backend.toolchain_digest().encode())
    folder = Path(__file__).parent
    for path in sorted(folder.glob("**/*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def _is_for(built: Built, platform: str) -> bool:
    return all(artefact.platform == platform for artefact in built.record.artefacts)


def _failed_build(status: str, reason: str) -> Decision:
    return Decision(Status(status), reason, (Gate(name="build", passed=False, detail=reason),))
