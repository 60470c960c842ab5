"""Spellings of one program are one; programs that differ are never taken for one."""

from __future__ import annotations

import ast
import copy
import itertools
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.canonical import canonical
from agent.programs import normalised, program_digest, source_digest
from evaluators.policy import repository_root
from sandbox.records import Candidate
from tests.agent import toy

MODULES = sorted(
    path
    for path in (repository_root() / "reference_kernels").glob("*/*.py")
    if path.stem in ("plain", "xla", "pallas_tpu", "triton")
)
NAMES = {path.relative_to(path.parents[1]).as_posix(): path for path in MODULES}


@pytest.fixture(params=NAMES)
def source(request: pytest.FixtureRequest) -> str:
    return NAMES[request.param].read_text()


BASE = """\
import jax
from jax import lax
import jax.numpy as jnp


def _scaled(rows, gain):
    return rows * gain


def forward(*, x, w):
    total = jnp.sum(x)
    for index in range(3):
        total = total + index

    def body(carry, row):
        carry = _scaled(carry, 2.0) + row
        return carry, carry

    _, out = lax.scan(body, w, x)
    return _scaled(out, total)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("total", "the_sum"),
        ("index", "i"),
        ("carry", "state"),
        ("body", "step"),
        ("_scaled", "_by"),
        ("gain", "factor"),
        ("import jax\nfrom jax import lax\n", "from jax import lax\nimport jax\n"),
        ("    return rows * gain", '    """Docs."""\n    # Why.\n    return (rows * gain)'),
        ("    total = jnp.sum(x)\n", "    'a word'\n    total = jnp.sum(\n        x,\n    )\n"),
        ("2.0", "2.00"),
    ],
)
def test_spellings_of_one_program(old: str, new: str) -> None:
    other = BASE.replace(old, new)
    assert other != BASE
    assert source_digest(other) == source_digest(BASE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2.0", "2"),
        ("2.0", "2.5"),
        ("range(3)", "range(4)"),
        ("rows * gain", "gain * rows"),
        ("lax.scan(body, w, x)", "lax.scan(body, x, w)"),
        ("*, x, w", "*, a, w"),
        ("def forward", "def backward"),
        ("return carry, carry", "return carry, row"),
        ("import jax.numpy as jnp", "import numpy as jnp"),
        ("    return _scaled(out, total)", "    return out"),
    ],
)
def test_programs_that_differ(old: str, new: str) -> None:
    assert source_digest(BASE.replace(old, new)) != source_digest(BASE)


@pytest.mark.parametrize(
    "text",
    [
        # Called by keyword: the name of the argument is part of the call.
        "def _f(a):\n    return a\ndef forward(x):\n    return _f(a=x)\n",
        # Named in a string.
        "from jax import jit\ndef _f(a):\n    return a\n_g = jit(_f, static_argnames='a')\n",
        "__all__ = ['_f']\ndef _f(a):\n    return a\n",
        # The module may look at itself.
        "def forward(x):\n    a = x\n    return locals()['a']\n",
        "def _f(x):\n    return x\nNAME = _f.__name__\n",
        "import inspect\ndef forward(x):\n    a = x\n    return a\n",
        # Two imports of one name: the last one wins.
        "from b import f\nfrom a import f\n",
        "def _f(**a):\n    return a\ndef forward(x):\n    return _f(**{'b': x})\n",
        "class C:\n    a = 1\n    def f(self, a):\n        return a\n",
    ],
)
def test_names_that_can_be_seen_stay(text: str) -> None:
    renamed = re.sub(r"\b(a|_f)\b", r"\1z", text)
    swapped = "".join(reversed(text.splitlines(keepends=True)[:2])) + "".join(
        text.splitlines(keepends=True)[2:]
    )
    other = swapped if text.startswith("from b") else renamed
    assert source_digest(other) != source_digest(text)


def test_what_does_not_parse_stands_for_itself() -> None:
    assert normalised("def (") == "def ("
    assert normalised("x = '\0'") == "x = '\0'"
    deep = "x = " + "-" * 100_000 + "1"
    assert source_digest(deep) != source_digest(deep + " ")


def test_a_config_is_its_values() -> None:
    def tuned(text: str) -> Candidate:
        return toy.module().model_copy(update={"files": {"xla.py": BASE, "config.json": text}})

    assert program_digest(tuned('{"a": 1, "b": 2}')) == program_digest(tuned('{"b":2,"a":1}'))
    assert program_digest(tuned('{"a": 1}')) != program_digest(tuned('{"a": 2}'))
    assert program_digest(tuned('{"a": 1}')) != program_digest(toy.module(BASE))


def mutants(source: str, count: int) -> Iterator[ast.Module]:
    """The module with one thing changed: a constant, an operator, an argument, a name."""
    tree = ast.parse(source)
    names = sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)})
    places = [(i, c) for i, node in enumerate(ast.walk(tree)) for c in changes(node, names)]
    for index, change in random.Random(0).sample(places, min(count, len(places))):
        other = ast.parse(source)
        change(next(itertools.islice(ast.walk(other), index, None)))
        yield other


def changes(node: ast.AST, names: list[str]) -> Iterator[Any]:
    match node:
        case ast.Constant(value=bool() as value):
            yield lambda n: setattr(n, "value", not value)
        case ast.Constant(value=int() | float() as value):
            yield lambda n: setattr(n, "value", value + 1)
            yield lambda n: setattr(n, "value", str(value))
        case ast.BinOp():
            other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield lambda n: setattr(n, "op", other)
            if ast.dump(node.left) != ast.dump(node.right):
                yield lambda n: vars(n).update(left=n.right, right=n.left)
        case ast.Compare():
            flipped = ast.GtE() if isinstance(node.ops[0], ast.Lt) else ast.Lt()
            yield lambda n: setattr(n, "ops", [flipped, *n.ops[1:]])
        case ast.UnaryOp(op=ast.USub()):
            yield lambda n: setattr(n, "op", ast.UAdd())
        case ast.Call() if len(node.args) > 1:
            if ast.dump(node.args[0]) != ast.dump(node.args[1]):
                yield lambda n: setattr(n, "args", [n.args[1], n.args[0], *n.args[2:]])
            yield lambda n: setattr(n, "args", n.args[:-1])
        case ast.Call() if node.keywords:
            yield lambda n: setattr(n, "keywords", n.keywords[:-1])
        case ast.Attribute():
            yield lambda n: setattr(n, "attr", f"{n.attr}_")
        case ast.Name(ctx=ast.Load()):
            other = names[(names.index(node.id) + 1) % len(names)]
            yield lambda n: setattr(n, "id", other)
        case _:
            pass


def test_no_mutant_of_a_module_is_taken_for_it(source: str) -> None:
    original = normalised(source)
    changed = list(mutants(source, 80))
    assert len(changed) >= 30
    for mutant in changed:
        assert ast.dump(canonical(mutant)) != original, ast.unparse(mutant)


def test_normalising_again_changes_nothing(source: str) -> None:
    once = canonical(ast.parse(source))
    assert ast.dump(canonical(copy.deepcopy(once))) == ast.dump(once)


def test_it_is_quick() -> None:
    import time

    text = (repository_root() / "reference_kernels/gated_delta_rule/xla.py").read_text()
    began = time.monotonic()
    for _ in range(5):
        normalised(text)
    assert (time.monotonic() - began) / 5 < 1.0


def test_every_module_is_looked_at() -> None:
    assert {Path(name).parts[0] for name in NAMES} >= {"rms_norm", "gated_delta_rule"}
