"""Device time from Xprof traces.

On the CPU a trace holds runtime events of each executed operation. A `while` event contains its
children, so a run's time is the union of its intervals; runs are told apart by `program_id` and
`run_id`, since every exported program has the same name.
"""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
from jax.profiler import ProfileData, ProfileOptions


class ProfileMismatchError(Exception):
    """The profile does not show exactly the calls that were made."""


@dataclass(frozen=True)
class RunTime:
    """One execution of one program: its start and its device time, in nanoseconds."""

    program_id: int
    start_ns: float
    device_ns: int


@dataclass(frozen=True)
class Traced:
    """What a profile says of a sequence of calls.

    Attributes:
        durations_ns: device time of each call, in the order they were made.
        programs: label -> `program_id`.
        trace: the profile itself, an `xplane.pb`.
    """

    durations_ns: list[int]
    programs: dict[str, int]
    trace: bytes


@contextlib.contextmanager
def _tracing(folder: Path) -> Iterator[None]:
    options = ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 3
    jax.profiler.start_trace(str(folder), profiler_options=options)
    try:
        yield
    finally:
        jax.profiler.stop_trace()


def traced(calls: Sequence[tuple[str, Callable[[], None]]]) -> Traced:
    """Run calls one after another under the profiler.

    Args:
        calls: (program label, call that returns when its result is ready), one program a label.

    Raises:
        ProfileMismatchError: the runs in the trace are not these calls in this order.
    """
    with tempfile.TemporaryDirectory() as folder:
        with _tracing(Path(folder)):
            for _, call in calls:
                call()
        traces = list(Path(folder).glob("**/*.xplane.pb"))
        if len(traces) != 1:
            raise ProfileMismatchError(f"the profiler left {len(traces)} traces")
        data = traces[0].read_bytes()
    found = runs(data)
    if len(found) != len(calls):
        raise ProfileMismatchError(f"{len(found)} runs in the profile of {len(calls)} calls")
    programs: dict[str, int] = {}
    for (label, _), run in zip(calls, found, strict=True):
        if programs.setdefault(label, run.program_id) != run.program_id:
            raise ProfileMismatchError(f"a run of {label!r} belongs to another program")
    if len(set(programs.values())) != len(programs):
        raise ProfileMismatchError("two programs share an id")
    return Traced([run.device_ns for run in found], programs, data)


def runs(data: bytes) -> list[RunTime]:
    """Every execution in a trace, in the order they began."""
    intervals: dict[tuple[int, int], list[tuple[float, float]]] = {}
    with warnings.catch_warnings():
        # jaxlib's stats type has no module name; Python 3.12 warns of that on every look.
        warnings.simplefilter("ignore", DeprecationWarning)
        for plane in ProfileData.from_serialized_xspace(data).planes:
            for line in plane.lines:
                for event in line.events:
                    stats = dict(event.stats)
                    if "hlo_module" in stats and "run_id" in stats:
                        key = (int(stats["program_id"]), int(stats["run_id"]))
                        intervals.setdefault(key, []).append((event.start_ns, event.end_ns))
    found = [
        RunTime(program, min(start for start, _ in spans), round(union_ns(spans)))
        for (program, _), spans in intervals.items()
    ]
    return sorted(found, key=lambda run: run.start_ns)


def union_ns(spans: list[tuple[float, float]]) -> float:
    """Length of the union of half-open intervals, in their unit."""
    total = 0.0
    reach = float("-inf")
    for start, end in sorted(spans):
        if end > reach:
            total += end - max(start, reach)
            reach = end
    return total
