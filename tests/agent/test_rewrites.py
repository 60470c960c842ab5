"""Each rewrite: what it makes of a site, and what it leaves alone. Results parse, and compute."""

from __future__ import annotations

import ast

import jax
import jax.numpy as jnp
import libcst as cst
import numpy as np
import pytest

from agent.proposers.rewrites import REWRITES

HEAD = """\
import jax
import jax.numpy as jnp
from dataclasses import dataclass, field
from jax import lax
from jax.scipy.linalg import solve_triangular

"""
BY_NAME = {rewrite.name: rewrite for rewrite in REWRITES}


def apply(name: str, body: str, head: str = HEAD) -> list[str]:
    """Bodies that a rewrite makes of a module."""
    made = []
    for rewritten in BY_NAME[name].apply(cst.parse_module(head + body)):
        ast.parse(rewritten.source)
        assert rewritten.source.startswith(head)
        assert rewritten.site
        made.append(rewritten.source.removeprefix(head))
    return made


POSITIVE = [
    ("unroll_loop", "y = lax.scan(f, a, b)\n", "y = lax.scan(f, a, b, unroll=4)\n"),
    ("unroll_loop", "y = lax.scan(f, a, b, unroll=8)\n", "y = lax.scan(f, a, b, unroll=1)\n"),
    ("unroll_loop", "y = lax.fori_loop(0, 8, f, a)\n", "y = lax.fori_loop(0, 8, f, a, unroll=2)\n"),
    ("map_to_vmap", "y = lax.map(f, a)\n", "y = jax.vmap(f)(a)\n"),
    ("map_to_vmap", "y = jax.vmap(f)(a)\n", "y = lax.map(f, a)\n"),
    (
        "lower_precision",
        "y = jnp.dot(a, b, precision=lax.Precision.HIGHEST)\n",
        'y = jnp.dot(a, b, precision="high")\n',
    ),
    ("lower_precision", 'y = jnp.dot(a, b, precision="high")\n', "y = jnp.dot(a, b)\n"),
    (
        "swap_einsum_operands",
        'y = jnp.einsum("ij,jk->ik", a, b, precision=p)\n',
        'y = jnp.einsum("jk,ij->ik", b, a, precision=p)\n',
    ),
    ("einsum_to_matmul", 'y = jnp.einsum("bij,bkj->bik", a, b)\n', "y = ((a) @ (b).mT)\n"),
    (
        "config_default",
        'class Config:\n    n: int = field(default=8, metadata={"choices": (4, 8)})\n',
        'class Config:\n    n: int = field(default=4, metadata={"choices": (4, 8)})\n',
    ),
    (
        "hoist_invariant",
        "def g(u, a):\n    def body(c, x):\n        w = jnp.exp(u)\n        return c + w * x, c\n"
        "    return lax.scan(body, a, a)\n",
        "def g(u, a):\n    w = jnp.exp(u)\n    def body(c, x):\n        return c + w * x, c\n"
        "    return lax.scan(body, a, a)\n",
    ),
    ("join_exponentials", "y = jnp.exp(a) * jnp.exp(b)\n", "y = jnp.exp((a) + (b))\n"),
    ("join_exponentials", "y = jnp.exp(a - c) / jnp.exp(b)\n", "y = jnp.exp((a - c) - (b))\n"),
    (
        "cumsum_as_matmul",
        "y = jnp.cumsum(a, axis=-1)\n",
        'y = jnp.einsum("...j,ij->...i", a, jnp.tri(a.shape[-1], dtype=a.dtype),'
        ' precision="highest")\n',
    ),
    (
        "join_matmuls",
        "def g(x, u, v):\n    a = x @ u\n    b = x @ v\n    return a, b\n",
        "def g(x, u, v):\n    a, b = jnp.split(x @ jnp.concatenate((u, v), axis=-1),"
        " (u.shape[-1],), axis=-1)\n    return a, b\n",
    ),
    (
        "join_matmuls",
        "def g(x, z, u):\n    a = x @ u\n    b = z @ u\n    return a, b\n",
        "def g(x, z, u):\n    a, b = jnp.split(jnp.concatenate((x, z), axis=-2) @ u,"
        " (x.shape[-2],), axis=-2)\n    return a, b\n",
    ),
    (
        "solve_against_identity",
        "y = solve_triangular(a, b + c, lower=True)\n",
        "y = (solve_triangular(a, jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape),"
        " lower=True) @ (b + c))\n",
    ),
    (
        "square_sum_as_dot",
        "y = jnp.mean(jnp.square(a), axis=-1, keepdims=True)\n",
        'y = (jnp.einsum("...i,...i->...", a, a)[..., None] / a.shape[-1])\n',
    ),
    ("square_sum_as_dot", "y = jnp.sum(a * b, axis=-1)\n",
     'y = jnp.einsum("...i,...i->...", a, b)\n'),
    ("reciprocal_root", "y = a / jnp.sqrt(b + c)\n", "y = ((a) * lax.rsqrt(b + c))\n"),
    ("reciprocal_root", "y = 1.0 / jnp.sqrt(b)\n", "y = lax.rsqrt(b)\n"),
    ("drop_astype", "y = a.astype(jnp.float32) + b\n", "y = a + b\n"),
    ("checkpoint_body", "y = lax.scan(f, a, b)\n", "y = lax.scan(jax.checkpoint(f), a, b)\n"),
    ("checkpoint_body", "y = lax.scan(jax.checkpoint(f), a, b)\n", "y = lax.scan(f, a, b)\n"),
]  # fmt: skip

NEGATIVE = [
    ("unroll_loop", "y = lax.scan(f, a, b, unroll=config.unroll)\n"),
    ("unroll_loop", "y = other.scan(f, a, b)\n"),
    ("map_to_vmap", "y = lax.map(f, a, batch_size=4)\n"),
    ("map_to_vmap", "y = jax.vmap(f, in_axes=1)(a)\n"),
    ("lower_precision", "y = jnp.dot(a, b)\n"),
    ("lower_precision", "y = jnp.dot(a, b, precision=p)\n"),
    ("swap_einsum_operands", 'y = jnp.einsum("ij->ji", a)\n'),
    ("swap_einsum_operands", 'y = jnp.einsum("ij,jk", a, b)\n'),
    ("einsum_to_matmul", 'y = jnp.einsum("ij,ij->i", a, b)\n'),
    ("einsum_to_matmul", 'y = jnp.einsum("ij,jk->ik", a, b, precision="high")\n'),
    ("einsum_to_matmul", 'y = jnp.einsum("bij,jk->bik", a, b)\n'),
    ("config_default", "class Config:\n    n: int = field(default=8)\n"),
    ("config_default", 'class Config:\n    n: int = field(default=8, metadata={"choices": CH})\n'),
    (
        "hoist_invariant",
        "def g(u, a):\n    def body(c, x):\n        w = jnp.exp(x)\n        return c + w, c\n"
        "    return lax.scan(body, a, a)\n",
    ),
    (
        "hoist_invariant",
        "def g(u, a):\n    w = 1\n    def body(c, x):\n        w = jnp.exp(u)\n"
        "        return c + w, c\n    return lax.scan(body, a, a)\n",
    ),
    (
        "hoist_invariant",
        "def g(u, a):\n    def helper(x):\n        w = jnp.exp(u)\n        return w\n"
        "    return helper(a)\n",
    ),
    ("join_exponentials", "y = jnp.exp(a) + jnp.exp(b)\n"),
    ("join_exponentials", "y = jnp.exp(a) * b\n"),
    ("cumsum_as_matmul", "y = jnp.cumsum(a, axis=0)\n"),
    ("cumsum_as_matmul", "y = jnp.cumsum(f(a), axis=-1)\n"),
    ("cumsum_as_matmul", "y = jnp.cumsum(a)\n"),
    ("join_matmuls", "def g(x, u, v):\n    a = x @ u\n    b = a @ v\n    return b\n"),
    ("join_matmuls", "def g(x, u):\n    a = x @ u\n    b = x @ u\n    return b\n"),
    ("join_matmuls", "def g(x, u, v):\n    a = x @ u\n    a = x + v\n    return a\n"),
    ("solve_against_identity", "y = solve_triangular(f(a), b, lower=True)\n"),
    ("solve_against_identity", "y = jnp.linalg.solve(a, b)\n"),
    ("square_sum_as_dot", "y = jnp.mean(jnp.square(a), axis=0)\n"),
    ("square_sum_as_dot", "y = jnp.mean(jnp.square(f(a)), axis=-1)\n"),
    ("square_sum_as_dot", "y = jnp.sum(a, axis=-1)\n"),
    ("reciprocal_root", "y = a * jnp.sqrt(b)\n"),
    ("reciprocal_root", "y = jnp.sqrt(b) / a\n"),
    ("drop_astype", "def g(x, y):\n    return y.astype(x.dtype)\n"),
    ("checkpoint_body", "y = lax.cond(a, f, g)\n"),
]


@pytest.mark.parametrize(("name", "before", "after"), POSITIVE)
def test_applies(name: str, before: str, after: str) -> None:
    assert after in apply(name, before)


@pytest.mark.parametrize(("name", "before"), NEGATIVE)
def test_does_not_apply(name: str, before: str) -> None:
    assert apply(name, before) == []


def test_every_rewrite_has_an_example_of_both() -> None:
    names = {rewrite.name for rewrite in REWRITES}
    assert {name for name, *_ in POSITIVE} == names
    assert {name for name, *_ in NEGATIVE} == names
    assert len(names) == len(REWRITES)


@pytest.mark.parametrize(
    ("name", "before"),
    [("map_to_vmap", "y = lax.map(f, a)\n"), ("checkpoint_body", "y = lax.scan(f, a, b)\n")],
)
def test_needs_the_import_that_it_writes(name: str, before: str) -> None:
    assert apply(name, before, head="from jax import lax\n\n") == []


NUMERIC = [case for case in POSITIVE if case[0] not in {"config_default", "drop_astype"}]


@pytest.mark.parametrize(("name", "before", "after"), NUMERIC)
def test_computes_the_same(name: str, before: str, after: str) -> None:
    """On inputs where a scalar, a vector or a matrix all make sense."""
    square = name in {"lower_precision", "swap_einsum_operands", "solve_against_identity",
                      "join_matmuls"}  # fmt: skip
    shape = (2, 3, 3) if "bij" in before else (3, 3) if square else (4, 3)
    keys = jax.random.split(jax.random.key(0), 8)
    arrays = {n: jax.random.uniform(k, shape) + 0.5 for n, k in zip("abcuvxz", keys, strict=False)}
    if name == "join_matmuls":
        call = "g(x, z, u)" if "z" in before else "g(x, u, v)"
    elif name == "hoist_invariant":
        call = "g(u[0], a)"
    else:
        call = "y"

    def value(text: str) -> list[np.ndarray]:
        scope = {
            **arrays,
            "p": None,
            "f": _two if "scan" in text else _index if "fori" in text else jnp.sin,
        }
        if "scan" in text:
            scope["a"] = arrays["a"][0]
        if name == "hoist_invariant":
            scope = {**arrays, "u": arrays["u"], "a": arrays["a"]}
            text = text.replace("lax.scan(body, a, a)", "lax.scan(body, a[0], a)")
        exec(HEAD + text, scope)
        leaves = jax.tree_util.tree_leaves(eval(call, scope))
        return [np.asarray(leaf) for leaf in leaves]

    for left, right in zip(value(before), value(after), strict=True):
        np.testing.assert_allclose(left, right, rtol=2e-5, atol=2e-6)


def _two(carry: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
    return carry + row, carry * row


def _index(i: jax.Array, carry: jax.Array) -> jax.Array:
    return carry + i
