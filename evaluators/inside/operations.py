"""Where a program's device time goes: its operations, by self time.

An event contains those that its operation started (a `while` those of its body). Each instant of a
run counts for the operation that began last among those under way, which in a nest is the
innermost: so self times add up to the run's device time as `profile.runs` measures it.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from jax.profiler import ProfileData

COUNT = 12
"""How many operations are listed."""


@dataclass(frozen=True)
class Operation:
    """One operation of a compiled program, over all its runs in a trace.

    Attributes:
        name: its name in the compiled program, such as `while.1`.
        share: self time as a part of the run's device time.
        self_ns: median over the runs of its self time in one run, in nanoseconds.
        calls: median over the runs of how often one run executed it.
    """

    name: str
    share: float
    self_ns: float
    calls: float

    def __str__(self) -> str:
        """One line for a person or a model."""
        return (
            f"{self.name[:80]}: {100 * self.share:.1f} % of the run,"
            f" {self.self_ns / 1e3:,.1f} us of its own, {self.calls:g} x a run"
        )


@dataclass(frozen=True)
class Span:
    """One execution of one operation, from start to end, in nanoseconds."""

    name: str
    start_ns: float
    end_ns: float


def top_operations(trace: bytes, program_id: int, *, count: int = COUNT) -> tuple[Operation, ...]:
    """The operations of a program that took the most time themselves, the largest first.

    Args:
        trace: an `xplane.pb`.
        program_id: whose runs to look at, as in `profile.RunTime`.
        count: the most to return.

    Returns:
        Operations with some self time in at least half of the runs; none for a program that did not
        run.
    """
    return largest(list(_runs(trace, program_id).values()), count=count)


def largest(runs: Sequence[Sequence[Span]], *, count: int = COUNT) -> tuple[Operation, ...]:
    """The same for runs given as spans."""
    self_ns: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(runs))
    calls: dict[str, list[int]] = defaultdict(lambda: [0] * len(runs))
    for number, spans in enumerate(runs):
        for span, own_ns in zip(spans, self_times_ns(spans), strict=True):
            self_ns[span.name][number] += own_ns
            calls[span.name][number] += 1
    # One interrupted run must not change the picture: medians throughout.
    typical = {name: median(times) for name, times in self_ns.items()}
    whole_ns = median(sum(times) for times in zip(*self_ns.values(), strict=True)) if typical else 0
    found = [
        Operation(name, own_ns / whole_ns, own_ns, median(calls[name]))
        for name, own_ns in typical.items()
        if own_ns > 0
    ]
    return tuple(sorted(found, key=lambda operation: -operation.self_ns)[:count])


def self_times_ns(spans: Sequence[Span]) -> list[float]:
    """The part of each span in which none that began later was under way, in nanoseconds.

    Of spans that begin together the shorter counts as the later. The parts add up to the length of
    the union of all spans.
    """
    own_ns = [0.0] * len(spans)
    order = sorted(range(len(spans)), key=lambda i: (spans[i].start_ns, -spans[i].end_ns))
    open_spans: list[int] = []
    now = float("-inf")

    def advance(until: float) -> None:
        nonlocal now
        while open_spans and now < until:
            end = spans[open_spans[-1]].end_ns
            if end > now:
                own_ns[open_spans[-1]] += min(end, until) - now
                now = min(end, until)
            if end <= now:
                open_spans.pop()
        now = until

    for index in order:
        advance(spans[index].start_ns)
        open_spans.append(index)
    advance(float("inf"))
    return own_ns


def _runs(trace: bytes, program_id: int) -> dict[int, list[Span]]:
    """Executed operations of a program by the id of the run."""
    found: dict[int, list[Span]] = defaultdict(list)
    with warnings.catch_warnings():
        # jaxlib's stats type has no module name; Python 3.12 warns of that on every look.
        warnings.simplefilter("ignore", DeprecationWarning)
        for plane in ProfileData.from_serialized_xspace(trace).planes:
            for line in plane.lines:
                for event in line.events:
                    stats = dict(event.stats)
                    if "hlo_module" not in stats or "run_id" not in stats:
                        continue
                    if int(stats["program_id"]) == program_id:
                        name = str(stats.get("hlo_op") or event.name)
                        span = Span(name, event.start_ns, event.end_ns)
                        found[int(stats["run_id"])].append(span)
    return found
