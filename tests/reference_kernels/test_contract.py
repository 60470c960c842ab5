"""The contract suite bites: what it is there to catch, it catches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import pytest

from reference_kernels import catalog
from reference_kernels.gated_delta_rule import xla
from reference_kernels.gated_delta_rule.cases import MODEL
from reference_kernels.problem import Case, case
from reference_kernels.testing import OpContract, trial

OP = "gated_delta_rule"
PROBLEM = catalog.problem(OP)
IMPLEMENTATION, FORWARD = PROBLEM.implementation("xla"), PROBLEM.entry("forward")


class Contract(OpContract):
    """Not named `Test...`: its checks are called one by one."""

    op = OP


class Named(NamedTuple):
    out: jax.Array
    state: jax.Array


@pytest.fixture
def replace(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Put other functions in the place of those of `xla`."""
    honest = catalog.module

    def install(**members) -> None:
        module = SimpleNamespace(**{**vars(xla), **members})
        monkeypatch.setattr(
            catalog, "module", lambda op, name: module if name == "xla" else honest(op, name)
        )

    trial.compiled.cache_clear()
    yield install
    trial.compiled.cache_clear()


def scaled(**arguments):
    out, state = xla.forward(**arguments)
    return out * jnp.asarray(1.05, out.dtype), state


def forgetful(**arguments):
    """Right on every input but those with a state."""
    return xla.forward(**{**arguments, "initial_state": jnp.zeros_like(arguments["initial_state"])})


def neumann(**arguments):
    """Right but for keys that resemble each other."""
    out, state = xla.forward(**arguments)
    k = arguments["k"]
    similar = jnp.abs(jnp.mean(k, axis=1)).mean() > 0.5 * jnp.abs(k).mean()
    return jnp.where(similar, 0.0, out), state


def named(**arguments):
    return Named(*xla.forward(**arguments))


def wide(**arguments):
    out, state = xla.forward(**arguments)
    return out, state.astype(jnp.bfloat16)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (scaled, "total"),
        (forgetful, r"\[1\]"),
        (neumann, "correlated_keys"),
        (named, "no plain container"),
        (wide, "dtype"),
    ],
)
def test_wrong_implementation_is_caught(replace, function, said):
    replace(forward=function)
    with pytest.raises(AssertionError, match=said):
        Contract().test_results_agree_with_the_oracle(IMPLEMENTATION, FORWARD, PROBLEM.case("tiny"))


def test_choice_that_is_wrong_is_caught(replace):
    def forward(*, config, **arguments):
        out, state = xla.forward(**arguments, config=config)
        return (out * 2 if config.chunk == 32 else out), state

    replace(forward=forward)
    Contract().test_every_declared_choice_is_right(IMPLEMENTATION, FORWARD, ("chunk", 16))
    with pytest.raises(AssertionError, match="total"):
        Contract().test_every_declared_choice_is_right(IMPLEMENTATION, FORWARD, ("chunk", 32))


@dataclasses.dataclass(frozen=True)
class Credulous:
    chunk: int = dataclasses.field(default=64, metadata={"choices": (16, 64)})


@dataclasses.dataclass(unsafe_hash=True)
class Mutable:
    chunk: int = 64


@pytest.mark.parametrize("config", [Credulous, Mutable])
def test_config_that_is_no_record_is_caught(replace, config):
    replace(Config=config)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        Contract().test_configs_are_records_that_validate_themselves()


def one_token(**other: int) -> Case:
    sizes = {"batch": 2, "heads": 1, "value_heads": 2, "key_dim": 16, "value_dim": 16}
    return case("one-token", "smoke", seq=1, static=MODEL, **sizes, **other)


def test_case_that_cannot_fail_is_caught():
    """Without a state, one token's gate has nothing to act on."""
    Contract().test_wrong_results_are_caught(FORWARD, one_token(initial=1))
    with pytest.raises(AssertionError, match=r"cannot tell these from right.*'g'.*ignored"):
        Contract().test_wrong_results_are_caught(FORWARD, one_token())
