"""Lower candidates in the build container: text in, artefacts out."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from evaluators.cells import Cell, tuned_keys
from evaluators.deadline import Deadline
from evaluators.policy import Policy
from evaluators.targets import Target
from reference_kernels import tuning
from reference_kernels.problem import Problem, Tree, case_key
from sandbox import Backend, Disguise, Job, JobResult, Limits, Mount
from sandbox.ready import ReadyPool
from sandbox.records import Artefact, Build, Candidate

# Nothing that says what runs here: a candidate that lowers to one program for the judge and to
# another for everyone else must find no mark to tell them by.
LOWER_ENVIRONMENT = {"JAX_PLATFORMS": "cpu"}


@dataclass(frozen=True)
class How:
    """In which kind of sandbox to lower.

    Attributes:
        disguise: one that looks different.
        ready: one that got ready beforehand, where there is one.
        cpu_set: CPUs to keep to, so that a screening beside it is left alone.
        deadline: the end of the caller's time.
    """

    disguise: bool = False
    ready: bool = False
    cpu_set: str | None = None
    deadline: Deadline = field(default_factory=Deadline)


PLAIN = How()


@dataclass(frozen=True)
class Built:
    """A `Build` record with the bytes that it names.

    Attributes:
        programs: cell id -> serialised program.
    """

    record: Build
    programs: dict[str, bytes]


class _ItemReport(BaseModel):
    model_config = ConfigDict(extra="ignore")
    ok: bool
    refused: bool = False
    message: str = ""
    duration_ns: int = 0


class _Report(BaseModel):
    model_config = ConfigDict(extra="ignore")
    items: dict[str, _ItemReport] = {}
    import_error: str = ""


class Builder:
    """Lowers candidates with one backend against one checkout.

    Args:
        library: the checkout whose `reference_kernels` the candidate's imports find.
        pool: sandboxes that are ready to lower.
    """

    def __init__(
        self, backend: Backend, policy: Policy, library: Path, pool: ReadyPool | None = None
    ) -> None:
        self._backend = backend
        self._policy = policy
        self._library = library
        self._pool = pool

    def build(
        self,
        problem: Problem,
        candidate: Candidate,
        target: Target,
        cells: Sequence[Cell],
        *,
        platform: str | None = None,
        interpret: bool = False,
        how: How = PLAIN,
    ) -> Built:
        """Lower every cell of a candidate in one container.

        Args:
            platform: what to lower for; the target's own when left out.
            interpret: pass `interpret=True` (Pallas).
            how: in which kind of sandbox.

        Raises:
            DeadlineError: the caller's time ran out.
        """
        started = time.perf_counter_ns()
        lowered_for = platform or target.platform
        request = self._request(problem, candidate, target, cells, lowered_for, interpret)
        files = {name: text.encode() for name, text in candidate.files.items()}
        files["request.json"] = json.dumps(request).encode()
        result = self._run(self._job(how), files, how)
        return self._read(result, candidate, target, cells, lowered_for, started)

    def _run(self, job: Job, files: dict[str, bytes], how: How) -> JobResult:
        if self._pool is not None and how.ready:
            result = self._pool.run(job, files)
        else:
            result = self._backend.run(job.with_files(files))
        how.deadline.check(result)
        return result

    def _job(self, how: How) -> Job:
        """The part of the job that is the same for every candidate."""
        limits = Limits(wall_s=how.deadline.limit(self._policy.build_wall_s), cpu_set=how.cpu_set)
        return Job(
            command=(
                "{python}",
                "{mount:1}/inside/lower.py",
                *("--library", "{mount:0}", "--in", "{in}", "--out", "{out}"),
            ),
            mounts=(
                Mount(
                    source=self._library / "reference_kernels",
                    target="/kernelwright/reference_kernels",
                ),
                Mount(source=Path(__file__).parents[1] / "sandbox", target="/kernelwright/sandbox"),
            ),
            environment={} if how.disguise else LOWER_ENVIRONMENT,
            limits=limits,
            disguise=Disguise() if how.disguise else None,
            label="build",
        )

    def _request(
        self,
        problem: Problem,
        candidate: Candidate,
        target: Target,
        cells: Sequence[Cell],
        platform: str,
        interpret: bool,
    ) -> dict[str, Any]:
        shipped = tuning.load(target.device_kind, self._library / "reference_kernels" / "tuned")
        tuned = tuned_keys(candidate)
        items = []
        for index, cell in enumerate(cells):
            case = problem.case(cell.case)
            key = case_key(problem, cell.entry, case)
            entry_key = tuning.entry_key(problem.name, candidate.implementation, key)
            items.append(
                {
                    "id": str(index),
                    "entry": cell.entry,
                    "arguments": encode_tree(problem.entry(cell.entry).arguments(case)),
                    "static": case.statics,
                    "config": tuned.get(key) or shipped.get(entry_key) or {},
                    "platform": platform,
                    "interpret": interpret,
                }
            )
        return {
            "op": problem.name,
            "implementation": candidate.implementation,
            "module_file": f"{candidate.implementation}.py",
            "items": items,
        }

    def _read(
        self,
        result: JobResult,
        candidate: Candidate,
        target: Target,
        cells: Sequence[Cell],
        platform: str,
        started_ns: int,
    ) -> Built:
        report = _parse_report(result.files.get("report.json", b""))
        programs: dict[str, bytes] = {}
        artefacts = []
        for index, cell in enumerate(cells):
            data = result.files.get(f"{index}.bin")
            item = report.items.get(str(index)) if report else None
            if data is None or item is None or not item.ok:
                continue
            programs[cell.id] = data
            artefacts.append(
                Artefact(
                    entry=cell.entry,
                    case=cell.case,
                    platform=platform,
                    digest=hashlib.sha256(data).hexdigest(),
                    size_bytes=len(data),
                    lower_duration_ns=max(0, item.duration_ns),
                )
            )
        status, reason = _status(result, report, len(programs) == len(cells))
        if status != "built":
            artefacts, programs = [], {}
        record = Build(
            candidate=candidate.digest,
            target=target.name,
            toolchain=self._backend.toolchain_digest(),
            artefacts=tuple(artefacts),
            status=status,
            log=result.log,
            duration_ns=time.perf_counter_ns() - started_ns,
            facts={"reason": reason, "job_ns": result.duration_ns},
        )
        return Built(record, programs)


BuildStatus = Literal["built", "build_failed", "resource_limit", "crashed", "rejected"]


def _status(result: JobResult, report: _Report | None, complete: bool) -> tuple[BuildStatus, str]:
    if result.outcome in ("timeout", "memory", "processes", "disk", "output"):
        return "resource_limit", f"the build went over its limit of {result.outcome}"
    if result.outcome == "signalled":
        return "crashed", f"the build was ended by signal {result.signal}"
    if result.outcome == "protocol" or report is None:
        return "build_failed", "the build ended without a report"
    if report.import_error:
        return "build_failed", f"importing it raised {_last_line(report.import_error)!r}"
    failed = [item for item in report.items.values() if not item.ok]
    if failed:
        status = "rejected" if failed[0].refused else "build_failed"
        return status, f"lowering it raised {_last_line(failed[0].message)!r}"
    if not complete:
        return "build_failed", "the build left programs out"
    return "built", ""


def _last_line(text: str) -> str:
    from sandbox import clean_log

    lines = [line for line in clean_log(text).strip().splitlines() if line.strip()]
    return (lines[-1] if lines else "no message")[:300]


def _parse_report(data: bytes) -> _Report | None:
    try:
        return _Report.model_validate_json(data)
    except (ValidationError, ValueError):
        return None


def encode_tree(tree: Tree) -> dict[str, Any]:
    """Write a plain tree of shapes and dtypes as JSON, the way `sandbox/inside/lower.py` reads."""
    if isinstance(tree, dict):
        return {"dict": {name: encode_tree(child) for name, child in tree.items()}}
    if isinstance(tree, (tuple, list)):
        return {type(tree).__name__: [encode_tree(child) for child in tree]}
    return {"shape": list(tree.shape), "dtype": str(tree.dtype)}


def shipped_candidate(library: Path, op: str, implementation: str, target: str) -> Candidate:
    """The implementation that a checkout ships, as a candidate."""
    path = library / "reference_kernels" / op / f"{implementation}.py"
    return Candidate(
        op=op,
        implementation=implementation,
        target=target,
        files={f"{implementation}.py": path.read_text()},
    )


__all__ = ["Builder", "Built", "How", "encode_tree", "shipped_candidate"]
