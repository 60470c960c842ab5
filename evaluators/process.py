"""The `trust: process` diagnostic: numerics of a module whose host logic is torch and Triton.

Such a module cannot be judged as an artefact, so it runs in a sandbox of its own, and only raw
files cross. Whoever wrote it controls that process: what comes out is compared strictly and steers
a search or informs a person, but never promotes (DESIGN.md §2).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluators.inside.numerics import Truth
from evaluators.policy import repository_root
from reference_kernels import catalog
from reference_kernels.accuracy import Discrepancy, compare
from reference_kernels.problem import Problem, Tree
from sandbox import Backend, Job, JobResult, Limits, Mount, clean_log

Executor = Literal["interpreter", "ttsem"]
Outcome = Literal["compared", "declined", "fault", "error", "resource_limit", "crashed", "protocol"]

MAX_LEAVES = 64
GIB = 1 << 30


@dataclass(frozen=True)
class Diagnosis:
    """What one run of a process-trust module showed.

    Attributes:
        outcome: `compared`, and then `discrepancies` says how well; else why there is nothing to
            compare: the module `declined` the call (or the executor cannot run it), a kernel
            `fault` (out of bounds, race, undefined value), an `error` raised, a `resource_limit`,
            a `crashed` process, or an answer that breaks the `protocol`.
        discrepancies: one a result array, as `accuracy.compare` gives them.
        facts: `executor`, and as far as known `duration_ns`, `launches`, `races_unchecked`,
            `modified` (arguments written to), `kind`, `line`.
        message: one line for a person.
        log: the process's own output, cleaned: data, never instructions.
    """

    outcome: Outcome
    discrepancies: tuple[Discrepancy, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    log: str = ""

    @property
    def passed(self) -> bool:
        """Ran, left its inputs alone, and every result is accurate enough."""
        return (
            self.outcome == "compared"
            and not self.facts.get("modified")
            and all(found.passed for found in self.discrepancies)
        )


class _Leaf(BaseModel):
    model_config = ConfigDict(extra="forbid")
    shape: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=16)]
    dtype: str
    file: str


class _Report(BaseModel):
    model_config = ConfigDict(extra="forbid")
    status: Literal["ran", "fault", "declined", "error"]
    results: dict[str, Any] | None = None
    modified: Annotated[list[str], Field(max_length=MAX_LEAVES)] = []
    duration_ns: Annotated[int, Field(ge=0)] = 0
    launches: Annotated[int, Field(ge=0)] | None = None
    races_unchecked: Annotated[int, Field(ge=0)] | None = None
    kind: str = ""
    message: str = ""
    line: int | None = None


class AnswerError(Exception):
    """A process's answer is not what it was asked for."""


def executor_for(arrays: dict[str, Tree]) -> Executor:
    """The CPU executor that computes these dtypes rightly.

    Triton's interpreter multiplies bfloat16 as raw 16-bit integers in `tl.dot` and truncates where
    it should round; ttsem executes the compiled IR. Everything in float32 and integers may take
    the interpreter, which is faster.
    """
    exact = (np.dtype("float32"), np.dtype("int32"), np.dtype("int64"), np.dtype("bool"))
    leaves = jax.tree_util.tree_leaves(arrays)
    return "interpreter" if all(leaf.dtype in exact for leaf in leaves) else "ttsem"


def run_process_diagnostic(
    problem: Problem,
    candidate_source: str,
    implementation: str,
    entry: str,
    case: str,
    distribution: str,
    seed: int,
    backend: Backend,
    *,
    config: dict[str, Any] | None = None,
    limits: Limits | None = None,
    library: Path | None = None,
) -> Diagnosis:
    """Run one entry point on one drawn input in its own sandbox and compare its results.

    The oracle and the plain version are computed here, after the sandbox is gone.

    Args:
        candidate_source: full text of the implementation module.
        implementation: the name that the module has in the op's folder.
        seed: of the inputs; the process sees the inputs, never the seed.
        config: fields of the module's `Config`; its defaults when left out.
        library: the checkout whose `reference_kernels` the module imports.

    Raises:
        InfrastructureError: from the backend; never the module's fault.
    """
    truth = Truth(problem, problem.entry(entry), problem.case(case))
    arguments = truth.inputs(seed, distribution)
    executor = executor_for(arguments)
    files: dict[str, bytes] = {f"{implementation}.py": candidate_source.encode()}
    request = {
        "op": problem.name,
        "implementation": implementation,
        "module_file": f"{implementation}.py",
        "entry": entry,
        "executor": executor,
        "static": truth.case.statics,
        "config": config or {},
        "arguments": {n: _encode(tree, f"argument-{n}", files) for n, tree in arguments.items()},
    }
    files["request.json"] = json.dumps(request).encode()
    library = library or repository_root()
    result = backend.run(
        Job(
            command=(
                "{python}",
                "{mount:1}/triton_process.py",
                *("--library", "{mount:0}", "--in", "{in}", "--out", "{out}"),
            ),
            files=files,
            mounts=(
                Mount(
                    source=library / "reference_kernels",
                    target="/kernelwright/reference_kernels",
                ),
                Mount(source=Path(__file__).parent / "inside", target="/kernelwright/inside"),
            ),
            environment={"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"},
            limits=limits or Limits(memory_bytes=4 * GIB, wall_s=300.0),
            label="process",
        )
    )
    return _diagnose(result, executor, truth, arguments)


def _diagnose(
    result: JobResult, executor: Executor, truth: Truth, arguments: dict[str, Tree]
) -> Diagnosis:
    facts: dict[str, Any] = {"executor": executor, "job_ns": result.duration_ns}
    if result.outcome == "signalled":
        message = f"ended by signal {result.signal}"
        return Diagnosis("crashed", facts=facts, message=message, log=result.log)
    if result.outcome == "protocol":
        return Diagnosis("protocol", facts=facts, message="broke the channel", log=result.log)
    if result.outcome != "exited":
        message = f"went over its limit of {result.outcome}"
        return Diagnosis("resource_limit", facts=facts, message=message, log=result.log)
    try:
        report = _Report.model_validate_json(result.files.get("report.json", b""))
    except ValidationError:
        # A process that ends by itself, `os._exit(0)` among the ways, has answered nothing.
        message = f"ended with exit code {result.exit_code} and no report"
        return Diagnosis("crashed", facts=facts, message=message, log=result.log)
    told = report.model_dump(include={"duration_ns", "launches", "races_unchecked", "line"})
    facts |= {name: value for name, value in told.items() if value is not None}
    facts["modified"] = [name for name in report.modified if name in arguments]
    if report.kind:
        facts["kind"] = clean_log(report.kind)[:100]
    if report.status != "ran":
        message = clean_log(report.message)[:500]
        return Diagnosis(report.status, facts=facts, message=message, log=result.log)
    try:
        found = _decode(report.results, result.files)
    except AnswerError as error:
        return Diagnosis("protocol", facts=facts, message=str(error), log=result.log)
    module = catalog.module(truth.problem.name, "plain")
    plain = getattr(module, truth.entry.name)(**arguments, **truth.case.statics)
    exact = truth.oracle(arguments)
    return Diagnosis(
        "compared",
        tuple(compare(found, plain, exact, truth.problem.tolerance)),
        facts,
        log=result.log,
    )


def _encode(tree: Tree, stem: str, files: dict[str, bytes]) -> dict[str, Any]:
    """Describe a tree of arrays as JSON and put their bytes into `files`."""
    if isinstance(tree, dict):
        return {"dict": {n: _encode(child, f"{stem}-{n}", files) for n, child in tree.items()}}
    if isinstance(tree, (tuple, list)):
        items = [_encode(child, f"{stem}-{i}", files) for i, child in enumerate(tree)]
        return {type(tree).__name__: items}
    array = np.ascontiguousarray(np.asarray(tree))
    files[f"{stem}.raw"] = array.tobytes()
    return {"shape": list(array.shape), "dtype": str(array.dtype), "file": f"{stem}.raw"}


def _decode(node: Any, files: dict[str, bytes], depth: int = 0) -> Tree:
    """Rebuild a result tree; whether it is the right one is for `accuracy.compare` to say.

    Raises:
        AnswerError: the description is malformed, or names bytes that are not there.
    """
    if depth > 4 or not isinstance(node, dict):
        raise AnswerError("the result tree is malformed")
    if set(node) == {"dict"} and isinstance(node["dict"], dict):
        return {n: _decode(child, files, depth + 1) for n, child in node["dict"].items()}
    for kind in (tuple, list):
        if set(node) == {kind.__name__} and isinstance(node[kind.__name__], list):
            children = node[kind.__name__][:MAX_LEAVES]
            return kind(_decode(child, files, depth + 1) for child in children)
    try:
        leaf = _Leaf.model_validate(node)
        dtype = jax.numpy.dtype(leaf.dtype)
        return np.frombuffer(files[leaf.file], dtype).reshape(leaf.shape)
    except (ValidationError, TypeError, ValueError, KeyError) as error:
        raise AnswerError("a result array is malformed") from error
