"""What this machine can do at most, measured now: the floor below which no time is believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp

from evaluators.inside.profile import traced


@dataclass(frozen=True)
class Peaks:
    """Best rates seen on the judging core, by the same clock that times candidates.

    Attributes:
        operations_per_s: float32 matrix multiplication, a multiply-add counting two.
        bytes_per_s: a negation that stays in cache; main memory is slower, so the floor is a floor.
    """

    operations_per_s: float
    bytes_per_s: float

    def roofline_ns(self, operations: int, bytes_moved: int) -> float:
        """The least time in nanoseconds for this much work."""
        return 1e9 * max(operations / self.operations_per_s, bytes_moved / self.bytes_per_s)


@cache
def _programs() -> tuple[tuple[str, str, float, Callable[[], None]], ...]:
    """(name, what it measures, work in operations or bytes, call), compiled once."""
    found: list[tuple[str, str, float, Callable[[], None]]] = []
    for size in (256, 512):
        matrix = jax.random.normal(jax.random.key(0), (size, size), jnp.float32)
        product = jax.jit(lambda a: a @ a).lower(matrix).compile()
        found.append((f"product-{size}", "operations", 2.0 * size**3, _call(product, matrix)))
    for count in (1 << 14, 1 << 16, 1 << 18):
        block = jnp.arange(count, dtype=jnp.float32)
        copy = jax.jit(lambda a: -a).lower(block).compile()
        found.append((f"copy-{count}", "bytes", 2.0 * block.nbytes, _call(copy, block)))
    return tuple(found)


def measure(rounds: int = 12) -> Peaks:
    """Measure the core that this process runs on: about a fifth of a second."""
    chosen = [program for program in _programs() for _ in range(rounds)]
    durations_ns = traced([(name, call) for name, _, _, call in chosen]).durations_ns
    best = {"operations": 0.0, "bytes": 0.0}
    for (_, kind, work, _), duration_ns in zip(chosen, durations_ns, strict=True):
        best[kind] = max(best[kind], work / max(duration_ns, 1) * 1e9)
    return Peaks(best["operations"], best["bytes"])


def _call(program: Callable[..., jax.Array], argument: jax.Array) -> Callable[[], None]:
    def call() -> None:
        jax.block_until_ready(program(argument))

    return call
