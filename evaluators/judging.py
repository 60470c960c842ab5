"""Run a judging process in its container, and tell a candidate's death from our own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from evaluators import locks
from evaluators.cells import Cell
from evaluators.deadline import Deadline
from evaluators.errors import JudgeFaultError
from evaluators.inside.protocol import CellRequest, JudgeReport, JudgeRequest, Preparation
from evaluators.policy import Policy
from sandbox import Backend, Job, JobResult, Limits, Mount
from sandbox.ready import ReadyPool

NO_DEADLINE = Deadline()

JUDGE_ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    # One thread: on a busy machine a second one widens the interval tenfold.
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "OMP_NUM_THREADS": "1",
    # The profiler's events are allocated between a program's buffers. With glibc's defaults they
    # push large buffers onto pages never touched before, and page faults double the time of
    # whichever program has the larger ones. One arena that keeps its memory, touched beforehand
    # (`timing.settle_memory`), makes traced and untraced runs alike.
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
}


@dataclass(frozen=True)
class Question:
    """What one judging process is asked.

    Attributes:
        candidate: cell id -> program.
        shipped: cell id -> implementation -> program.
        known: program key -> candidate that was judged with it; None judges whatever comes.
        work: what it holds the machine for.
        ready: use a process that got ready beforehand, where there is one.
    """

    op: str
    implementation: str
    platform: str
    cells: Sequence[Cell]
    candidate: Mapping[str, bytes]
    shipped: Mapping[str, Mapping[str, bytes]]
    seeds_per_distribution: int = 1
    pairs: int = 30
    wall_s: float = 300.0
    numerics_only: bool = False
    digests_only: bool = False
    repeat_seed: int | None = None
    known: Mapping[str, str] | None = None
    work: locks.Work = "promote"
    ready: bool = False


@dataclass(frozen=True)
class Answer:
    """A report and the traces that it names, or how the judging process died.

    Attributes:
        queued_ns: time spent waiting for the machine, before the process began.
        death: `crashed` or `resource_limit`, when the candidate kills its judge and the canary
            does not.
    """

    report: JudgeReport | None
    traces: dict[str, bytes]
    log: str
    duration_ns: int
    queued_ns: int = 0
    death: str = ""
    death_detail: str = ""


class Judge:
    """Judging processes on one backend.

    Args:
        library: the checkout whose oracle and cases are the truth.
        pool: judging processes that are ready.
    """

    def __init__(
        self, backend: Backend, policy: Policy, library: Path, pool: ReadyPool | None = None
    ) -> None:
        self._backend = backend
        self._policy = policy
        self._library = library
        self._pool = pool

    @property
    def core(self) -> int:
        """The core that times: the last one, which the kernel's own work visits least."""
        return (
            self._policy.pinned_core
            if self._policy.pinned_core is not None
            else max(os.sched_getaffinity(0))
        )

    @property
    def other_cores(self) -> str | None:
        """The cores that do not time, for work beside a timing; None where there is one core."""
        others = sorted(os.sched_getaffinity(0) - {self.core})
        return ",".join(map(str, others)) or None

    def ask(
        self,
        question: Question,
        waiting: Callable[[], None] = lambda: None,
        deadline: Deadline = NO_DEADLINE,
    ) -> Answer:
        """Judge once; when the judge dies, let the baseline canary say whose fault it was.

        Args:
            waiting: told when another judge holds the machine.
            deadline: the end of the caller's time.

        Raises:
            JudgeFaultError: the canary died too, or the death did not repeat: try again.
            DeadlineError: the caller's time ran out.
        """
        answer, cause = self._run(question, waiting, deadline)
        if answer is not None:
            return answer
        if question.digests_only:
            raise JudgeFaultError(f"the judge died reading programs: {_tail(cause.log)}")
        canary = replace(question, candidate=_canary(question), repeat_seed=None, known=None)
        if self._run(canary, waiting, deadline)[0] is None:
            raise JudgeFaultError(
                f"the judge died ({_cause(cause)}) and so did the canary: {_tail(cause.log)}"
            )
        again = cause
        if cause.outcome != "timeout":
            # A time-out was waited for once: the canary's life is evidence enough.
            answer, again = self._run(question, waiting, deadline)
            if answer is not None:
                return answer
        limited = again.outcome in ("timeout", "memory", "processes", "disk", "output")
        return Answer(
            None,
            {},
            again.log,
            again.duration_ns,
            death="resource_limit" if limited else "crashed",
            death_detail=_cause(again),
        )

    def _run(
        self, question: Question, waiting: Callable[[], None], deadline: Deadline
    ) -> tuple[Answer | None, JobResult]:
        with locks.machine(question.work, waiting) as queued_ns:
            deadline.extend(queued_ns)
            job, rest = self._job(question, deadline.limit(question.wall_s))
            if self._pool is not None and question.ready:
                result = self._pool.run(job, rest, self._stamp())
            else:
                result = self._backend.run(job.with_files(rest))
        deadline.check(result, result.duration_ns)
        report = _parse(result)
        if report is None:
            return None, result
        traces = {s.trace: result.files.get(s.trace, b"") for s in report.samples}
        return Answer(report, traces, result.log, result.duration_ns, queued_ns), result

    def _job(self, question: Question, wall_s: float) -> tuple[Job, dict[str, bytes]]:
        """The job without what belongs to the candidate, and that."""
        files: dict[str, bytes] = {}
        rest: dict[str, bytes] = {}
        requests = []
        for index, cell in enumerate(question.cells):
            rest[f"candidate-{index}.bin"] = question.candidate[cell.id]
            shipped = {}
            for name, program in question.shipped.get(cell.id, {}).items():
                shipped[name] = f"shipped-{index}-{name}.bin"
                files[shipped[name]] = program
            requests.append(
                CellRequest(
                    id=cell.id,
                    entry=cell.entry,
                    case=cell.case,
                    candidate=f"candidate-{index}.bin",
                    shipped=shipped,
                    timed=cell.timed,
                )
            )
        policy = self._policy
        request = JudgeRequest(
            op=question.op,
            implementation=question.implementation,
            platform=question.platform,
            cells=tuple(requests),
            artefact_bytes=policy.artefact_bytes,
            constant_bytes=policy.constant_bytes,
            seeds_per_distribution=question.seeds_per_distribution,
            pairs=question.pairs,
            wall_pairs=max(10, question.pairs // 3),
            verified_samples=policy.verified_samples,
            numerics_only=question.numerics_only,
            digests_only=question.digests_only,
            repeat_seed=question.repeat_seed,
            known=tuple(sorted(question.known or ())),
            skip_unchanged=question.known is not None,
        )
        rest["request.json"] = request.model_dump_json().encode()
        if question.ready and self._pool is not None:
            preparation = Preparation(
                op=question.op,
                implementation=question.implementation,
                platform=question.platform,
                cells=tuple(requests),
            )
            files["preparation.json"] = preparation.model_dump_json().encode()
        job = Job(
            command=(
                "{python}",
                "{mount:1}/inside/main.py",
                *("--library", "{mount:0}", "--in", "{in}", "--out", "{out}"),
            ),
            files=files,
            mounts=(
                Mount(
                    source=self._library / "reference_kernels",
                    target="/kernelwright/reference_kernels",
                ),
                Mount(source=Path(__file__).parent, target="/kernelwright/evaluators"),
            ),
            environment=JUDGE_ENVIRONMENT,
            limits=Limits(
                wall_s=wall_s,
                cpu_set=str(self.core),
                # One core as well: XLA compiles for as many as there are when it starts.
                ready_cpu_set=(self.other_cores or str(self.core)).split(",")[0],
            ),
            label="judge",
        )
        return job, rest

    def _stamp(self) -> str:
        """Identity of the code that a ready judging process has imported."""
        digest = hashlib.sha256()
        for folder in (self._library / "reference_kernels", Path(__file__).parent):
            for path in sorted(folder.glob("**/*.py")):
                status = path.stat()
                digest.update(f"{path}\0{status.st_mtime_ns}\0{status.st_size}\0".encode())
        return digest.hexdigest()


def _canary(question: Question) -> dict[str, bytes]:
    return {cell.id: question.shipped[cell.id]["plain"] for cell in question.cells}


def _parse(result: JobResult) -> JudgeReport | None:
    if not result.ok:
        return None
    try:
        report = JudgeReport.model_validate_json(result.files.get("report.json", b""))
    except ValidationError:
        return None
    return report if report.finished else None


def _cause(result: JobResult) -> str:
    if result.outcome == "exited":
        return f"exit code {result.exit_code}"
    if result.outcome == "signalled":
        return f"signal {result.signal}"
    return f"limit of {result.outcome}"


def _tail(log: str) -> str:
    lines = [line for line in log.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"
