"""A small op with a held-out case, its module, and contexts of a run on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from agent.context import visible
from agent.proposers.protocol import Context, Judgement, Target
from agent.proposers.space import Space, space_of
from reference_kernels.problem import Cost, EntryPoint, Implementation, Problem, case
from sandbox.records import Candidate

HELD_OUT = "holdout-secret-shape"

SOURCE = '''\
"""A toy module."""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import lax


@dataclass(frozen=True)
class Config:
    """Choices."""

    block: int = field(default=8, metadata={"choices": (4, 8, 16)})
    form: str = field(default="scan", metadata={"choices": ("scan", "map")})


def forward(*, x, w, config=Config()):
    """`[rows, dim] -> [rows, dim]`."""

    def body(carry, row):
        gain = jnp.exp(w) * jnp.exp(w)
        carry = carry + row * gain
        return carry, carry

    _, out = lax.scan(body, jnp.zeros_like(w), x)
    scores = jnp.einsum("ij,kj->ik", out, x, precision=lax.Precision.HIGHEST)
    left = scores @ x
    right = scores @ out
    y = (left + right).astype(x.dtype)
    return y / jnp.sqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + 1e-6)
'''


@dataclass(frozen=True)
class Config:
    """The module's own, for the tuner; blocks of 16 do not map."""

    block: int = field(default=8, metadata={"choices": (4, 8, 16)})
    form: str = field(default="scan", metadata={"choices": ("scan", "map")})

    def __post_init__(self) -> None:
        if (self.block, self.form) == (16, "map"):
            raise ValueError("16 does not map")


@dataclass(frozen=True)
class WideConfig:
    """A space too large to be walked."""

    a: int = field(default=0, metadata={"choices": tuple(range(10))})
    b: int = field(default=0, metadata={"choices": tuple(range(10))})
    c: str = field(default="x", metadata={"choices": ("x", "y")})


def small_space(op: str, implementation: str) -> Space:
    return space_of(Config)


def wide_space(op: str, implementation: str) -> Space:
    return space_of(WideConfig)


def _arguments(shape: Any) -> dict[str, Any]:
    full = jax.ShapeDtypeStruct((shape["rows"], shape["dim"]), shape.dtype)
    return {"x": full, "w": jax.ShapeDtypeStruct((shape["dim"],), shape.dtype)}


FORWARD = EntryPoint(
    name="forward",
    arguments=_arguments,
    results=lambda shape: _arguments(shape)["x"],
    inputs=lambda key, shape, distribution: {
        name: jnp.zeros(s.shape, s.dtype) for name, s in _arguments(shape).items()
    },
    oracle=lambda arrays, static: arrays["x"],
    cost=lambda shape: Cost(1, 1, 1),
)

PROBLEM = Problem(
    name="toy",
    summary="a toy",
    definition="y = x",
    entries=(FORWARD,),
    cases=(
        case("small", "smoke", rows=2, dim=4),
        case("steering", "cpu", "primary", rows=8, dim=16, static={"eps": 1e-6}),
        case(HELD_OUT, "cpu", "holdout", rows=7, dim=13),
    ),
    distributions=("typical",),
    implementations=(
        Implementation("plain", ("cpu",), ("forward",)),
        Implementation("xla", ("cpu",), ("forward",)),
    ),
    menu=("unroll the scan", "join the products"),
)


def module(text: str = SOURCE) -> Candidate:
    return Candidate(op="toy", implementation="xla", target="cpu", files={"xla.py": text})


def context(source: str = SOURCE, **changes: Any) -> Context:
    """The context of a run's first round."""
    incumbent = module(source)
    fields: dict[str, Any] = {
        "problem": visible(PROBLEM),
        "implementation": "xla",
        "target": Target("cpu", (("compiler", "XLA"),)),
        "case": PROBLEM.case("steering"),
        "incumbent": incumbent,
        "parent": incumbent,
        "parent_judgement": None,
        "history": (),
        "seed": 7,
    }
    return Context(**{**fields, **changes})


def judged(ratio: float, **changes: Any) -> Judgement:
    fields: dict[str, Any] = {
        "status": "faster",
        "reason": "faster",
        "ratio": ratio,
        "low": ratio - 0.01,
        "high": ratio + 0.01,
    }
    return Judgement(**{**fields, **changes})
