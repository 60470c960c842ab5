"""What an op is: its cases, entry points, oracle, cost and the implementations to beat.

Everything here is a frozen dataclass and depends on jax alone. An op's folder builds one
`Problem`; the dispatcher, the contract suite and the judge read nothing else about the op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import jax

Tree = Any
"""A plain container (dict, tuple or list) of arrays, or a single array."""

Tag = Literal["smoke", "cpu", "device", "holdout", "primary"]
TAGS: frozenset[str] = frozenset({"smoke", "cpu", "device", "holdout", "primary"})

Scalar = bool | int | float | str | None


@dataclass(frozen=True)
class Case:
    """One named shape of an op.

    Attributes:
        name: unique within the op, e.g. `qwen3-next-prefill-512`.
        dims: named sizes, e.g. `(("batch", 1), ("seq", 512))`.
        dtype: dtype name of the op's main tensors, e.g. `float32`.
        tags: `smoke` (seconds on a CPU), `cpu` (timed on a CPU), `device` (needs an accelerator),
            `holdout` (never shown to a proposer), `primary` (what the search is steered by).
        static: keyword arguments that are no arrays, passed to every entry point.
        source: the model or paper the shape comes from.
    """

    name: str
    dims: tuple[tuple[str, int], ...]
    dtype: str
    tags: frozenset[str]
    static: tuple[tuple[str, Scalar], ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        unknown = self.tags - TAGS
        if unknown:
            raise ValueError(f"case {self.name!r}: unknown tags {sorted(unknown)}")

    def __getitem__(self, dim: str) -> int:
        return dict(self.dims)[dim]

    def get(self, dim: str, default: int = 0) -> int:
        return dict(self.dims).get(dim, default)

    @property
    def statics(self) -> dict[str, Scalar]:
        return dict(self.static)


def case(
    name: str,
    *tags: Tag,
    dtype: str = "float32",
    source: str = "",
    static: Mapping[str, Scalar] | None = None,
    **dims: int,
) -> Case:
    """Write a `Case` the short way: `case("tiny", "smoke", seq=8, dim=16)`."""
    return Case(
        name=name,
        dims=tuple(dims.items()),
        dtype=dtype,
        tags=frozenset(tags),
        static=tuple((static or {}).items()),
        source=source,
    )


@dataclass(frozen=True)
class Cost:
    """The least work that a case asks of any implementation.

    Attributes:
        operations: floating-point operations (a multiply-add counts two).
        bytes_read: bytes of arguments that must be read once.
        bytes_written: bytes of results that must be written once.
    """

    operations: int
    bytes_read: int
    bytes_written: int

    @property
    def bytes_moved(self) -> int:
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True)
class Tolerance:
    """How much worse than the plain XLA version's own error a result may be.

    A result passes when its error against the float64 oracle stays within
    `factor * plain_error + floor * rms(oracle)`, in total, for every slice along every axis, and
    for the largest element (see `accuracy.py`). The floor is the larger of two.

    Attributes:
        factor: times the plain version's own error.
        floor_ulps: times the result dtype's epsilon: how the result may be rounded.
        accumulation_ulps: times float32's epsilon: what float32 arithmetic inside may lose, for ops
            whose long sums and recurrences have no natural order.
    """

    factor: float = 2.0
    floor_ulps: float = 4.0
    accumulation_ulps: float = 0.0


@dataclass(frozen=True)
class EntryPoint:
    """One function of an op: what goes in, what comes out, and the truth.

    Attributes:
        name: `forward`, `forward_with_grad`, `decode`.
        arguments: case -> ordered dict of argument name to a tree of `jax.ShapeDtypeStruct`.
        results: case -> plain tree of `jax.ShapeDtypeStruct`.
        inputs: (key, case, distribution) -> dict like `arguments`, of arrays.
        oracle: (arguments in float64, static arguments) -> tree like `results`, in float64,
            written from the paper's formula.
        cost: case -> `Cost`.
    """

    name: str
    arguments: Callable[[Case], dict[str, Tree]]
    results: Callable[[Case], Tree]
    inputs: Callable[[jax.Array, Case, str], dict[str, Tree]]
    oracle: Callable[[dict[str, Tree], dict[str, Scalar]], Tree]
    cost: Callable[[Case], Cost]


@dataclass(frozen=True)
class Implementation:
    """One module of an op's folder.

    Attributes:
        name: module name in the op's folder: `plain`, `xla`, `pallas_tpu`, `triton`.
        platforms: jax platforms it runs on (`cpu`, `tpu`, `cuda`).
        entries: entry points that it offers.
        interpret: takes `interpret=True`, which lets a CPU judge its numerics.
        trust: `artefact` when `jax.export` carries all of it, `process` when its host logic is
            Python and can only be run beside the judge (Triton through its interpreter).
    """

    name: str
    platforms: tuple[str, ...]
    entries: tuple[str, ...]
    interpret: bool = False
    trust: Literal["artefact", "process"] = "artefact"


@dataclass(frozen=True)
class Problem:
    """An op, whole.

    Attributes:
        name: the folder's name.
        summary: one line.
        definition: the mathematics in prose and formulas, with the paper or model it comes from.
        entries: entry points, `forward` first.
        cases: named shapes.
        distributions: input distributions, the timed one first; correctness is judged on all.
        implementations: what is shipped, `plain` first: its own error is the yardstick.
        tolerance: see `Tolerance`.
        menu: known optimisations, one line each, told to proposers.
    """

    name: str
    summary: str
    definition: str
    entries: tuple[EntryPoint, ...]
    cases: tuple[Case, ...]
    distributions: tuple[str, ...]
    implementations: tuple[Implementation, ...]
    tolerance: Tolerance = field(default_factory=Tolerance)
    menu: tuple[str, ...] = ()

    def entry(self, name: str) -> EntryPoint:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(f"{self.name} has no entry point {name!r}")

    def case(self, name: str) -> Case:
        for candidate in self.cases:
            if candidate.name == name:
                return candidate
        raise KeyError(f"{self.name} has no case {name!r}")

    def implementation(self, name: str) -> Implementation:
        for implementation in self.implementations:
            if implementation.name == name:
                return implementation
        raise KeyError(f"{self.name} has no implementation {name!r}")

    def tagged(self, *tags: str) -> tuple[Case, ...]:
        """Cases that carry every one of `tags`."""
        return tuple(c for c in self.cases if c.tags.issuperset(tags))

    def with_cases(self, *cases: Case) -> Problem:
        """The same op with other shapes."""
        return replace(self, cases=cases)


def shape_key(entry: str, arrays: Mapping[str, Tree], static: Mapping[str, Scalar]) -> str:
    """Name a call by what tuning depends on: entry point, shapes, dtypes, static arguments.

    The same key comes from live arrays (dispatch) and from `jax.ShapeDtypeStruct`s (tuning).
    """
    parts = [entry]
    for name in sorted(arrays):
        for leaf in jax.tree_util.tree_leaves(arrays[name]):
            parts.append(f"{name}:{leaf.dtype}[{','.join(map(str, leaf.shape))}]")
    parts.extend(f"{name}={static[name]!r}" for name in sorted(static))
    return "|".join(parts)


def case_key(problem: Problem, entry: str, case: Case) -> str:
    """The `shape_key` of a case's call."""
    return shape_key(entry, problem.entry(entry).arguments(case), case.statics)
