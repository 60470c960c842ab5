"""Time a candidate against a baseline: paired, interleaved, on content never seen before.

Each round draws one input and runs candidate, baseline and a second copy of the baseline (the A/A
control) on private copies of it, in random order, under the profiler. Then the same for candidate
and baseline without the profiler, by wall clock, as a check on it.
"""

from __future__ import annotations

import gc
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import numpy as np

from evaluators.inside.compiled import Compiled
from evaluators.inside.profile import Traced, traced
from reference_kernels.problem import Tree

MEMORY_BYTES = 256 << 20
"""The most that the pre-drawn inputs of one traced chunk may take."""

CELL_S = 20.0
"""About the longest that the traced rounds of one cell may take: slow kernels get fewer."""

FEWEST_PAIRS = 15

CANDIDATE, BASELINE, CONTROL = "candidate", "baseline", "control"


@dataclass(frozen=True)
class Samples:
    """Raw times of one cell, in nanoseconds, in the order taken.

    Attributes:
        pairs_ns: (baseline, candidate) device time.
        control_pairs_ns: (baseline, second copy of the baseline) device time.
        wall_pairs_ns: (baseline, candidate) untraced wall clock.
        checked: (arguments, candidate's result) of some timed calls, to compare with the oracle.
        trace: the first chunk's `xplane.pb`.
        program_id: the candidate's, in that trace.
    """

    pairs_ns: list[tuple[int, int]]
    control_pairs_ns: list[tuple[int, int]]
    wall_pairs_ns: list[tuple[int, int]]
    checked: list[tuple[dict[str, Tree], Tree]]
    trace: bytes
    program_id: int


def settle_memory(bytes_touched: int = 256 << 20) -> None:
    """Touch that much of the heap, so that no timed run pays for the first use of a page.

    It holds where freed memory is kept (the allocator settings of `evaluators.judging`).
    """
    block = np.ones(bytes_touched, np.uint8)
    del block


def fastest(
    programs: dict[str, Compiled], incumbent: str, draw: Callable[[], dict[str, Tree]]
) -> str:
    """Name of the program that is the baseline: the fastest, and the incumbent when in doubt.

    Judged by the least of eleven interleaved wall times: noise only ever adds. Another program must
    be 5 % faster than the incumbent to take its place, or a burst of noise could hand a copy of the
    incumbent an easier rival.
    """
    times = {name: float("inf") for name in programs}
    for _ in range(11):
        leaves = jax.tree_util.tree_leaves(draw())
        for name, program in programs.items():
            times[name] = min(times[name], _wall_ns(program, _private(leaves)))
    best = min(times, key=lambda name: times[name])
    if incumbent in times and times[incumbent] <= 1.05 * times[best]:
        return incumbent
    return best


def sample(
    candidate: Compiled,
    baseline: Compiled,
    control: Compiled,
    draw: Callable[[], dict[str, Tree]],
    *,
    pairs: int,
    wall_pairs: int,
    verify: int,
) -> Samples:
    """Take the samples of one cell.

    Args:
        draw: makes fresh arguments each time it is called.
        pairs: traced rounds; fewer where they would take longer than `CELL_S`.
        wall_pairs: untraced rounds.
        verify: how many timed results of the candidate are kept for comparison.
    """
    programs = {CANDIDATE: candidate, BASELINE: baseline, CONTROL: control}
    leaves = jax.tree_util.tree_leaves(draw())
    for program in programs.values():
        program.run(leaves)
    round_s = sum(_wall_ns(program, leaves) for program in programs.values()) / 1e9
    pairs = max(min(pairs, FEWEST_PAIRS), min(pairs, int(CELL_S / max(round_s, 1e-9))))
    wall_pairs = min(wall_pairs, pairs)
    random = np.random.default_rng(secrets.randbits(64))
    verified = set(random.choice(pairs, size=min(verify, pairs), replace=False).tolist())
    samples = Samples([], [], [], [], b"", -1)
    first: Traced | None = None
    done = 0
    while done < pairs:
        arguments = _chunk(draw, pairs - done)
        times, found = _trace_rounds(programs, arguments, random, verified, done, samples)
        first = first or found
        for row in times:
            samples.pairs_ns.append((row[BASELINE], row[CANDIDATE]))
            samples.control_pairs_ns.append((row[BASELINE], row[CONTROL]))
        done += len(arguments)
    for _ in range(wall_pairs):
        leaves = jax.tree_util.tree_leaves(draw())
        row = {}
        for name in random.permutation([CANDIDATE, BASELINE]):
            row[name] = _wall_ns(programs[name], _private(leaves))
        samples.wall_pairs_ns.append((row[BASELINE], row[CANDIDATE]))
    if first is None:
        return samples
    return replace(samples, trace=first.trace, program_id=first.programs[CANDIDATE])


def _chunk(draw: Callable[[], dict[str, Tree]], wanted: int) -> list[dict[str, Tree]]:
    """Draw the inputs of as many rounds as memory allows."""
    first = draw()
    weight = sum(leaf.nbytes for leaf in jax.tree_util.tree_leaves(first))
    count = max(1, min(wanted, MEMORY_BYTES // max(1, 4 * weight)))
    return [first, *(draw() for _ in range(count - 1))]


def _trace_rounds(
    programs: dict[str, Compiled],
    arguments: list[dict[str, Tree]],
    random: np.random.Generator,
    verified: set[int],
    offset: int,
    samples: Samples,
) -> tuple[list[dict[str, int]], Traced]:
    calls: list[tuple[str, Callable[[], None]]] = []
    kept: dict[int, list[jax.Array]] = {}
    for index, argument in enumerate(arguments):
        leaves = jax.tree_util.tree_leaves(argument)
        for name in random.permutation(list(programs)):
            keep = index if name == CANDIDATE and index + offset in verified else None
            calls.append((str(name), _call(programs[name], _private(leaves), kept, keep)))
    # After the inputs have taken their share of the heap.
    settle_memory()
    gc.collect()
    gc.disable()
    try:
        found = traced(calls)
    finally:
        gc.enable()
    rows: list[dict[str, int]] = [{} for _ in arguments]
    for position, ((name, _), duration_ns) in enumerate(
        zip(calls, found.durations_ns, strict=True)
    ):
        rows[position // len(programs)][name] = duration_ns
    for index, leaves in kept.items():
        result = jax.tree_util.tree_unflatten(
            jax.tree_util.tree_structure(programs[CANDIDATE].results), leaves
        )
        samples.checked.append((arguments[index], result))
    return rows, found


def _call(
    program: Compiled, leaves: list[jax.Array], kept: dict[int, list[jax.Array]], keep: int | None
) -> Callable[[], None]:
    def call() -> None:
        result = program.run(leaves)
        if keep is not None:
            kept[keep] = result

    return call


def _private(leaves: list[jax.Array]) -> list[jax.Array]:
    """Copies in buffers of their own, so that no run warms the cache for another."""
    return [jax.block_until_ready(jax.numpy.array(leaf, copy=True)) for leaf in leaves]


def _wall_ns(program: Compiled, leaves: list[jax.Array]) -> int:
    started = time.perf_counter_ns()
    program.run(leaves)
    return time.perf_counter_ns() - started
