"""The canonical form of a program computes what the program does."""

from __future__ import annotations

import ast
import re
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.canonical import canonical
from agent.programs import source_digest
from evaluators.policy import repository_root
from tests.agent import toy


def load(tree: ast.Module, name: str) -> types.ModuleType:
    """Run a module's tree."""
    module = types.ModuleType(name)
    # Dataclasses look their module up.
    sys.modules[name] = module
    try:
        exec(compile(ast.fix_missing_locations(tree), name, "exec"), vars(module))
    finally:
        del sys.modules[name]
    return module


def test_the_canonical_toy_computes_the_same() -> None:
    rows = jnp.linspace(0.1, 1.0, 24).reshape(6, 4)
    weight = jnp.linspace(-1.0, 1.0, 4)
    found = [
        load(tree, f"toy_{number}").forward(x=rows, w=weight)
        for number, tree in enumerate((ast.parse(toy.SOURCE), canonical(ast.parse(toy.SOURCE))))
    ]
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("op", ["rms_norm", "gated_delta_rule"])
def test_the_canonical_library_lowers_to_the_same_program(op: str) -> None:
    path = repository_root() / "reference_kernels" / op / "xla.py"
    trees = (ast.parse(path.read_text()), canonical(ast.parse(path.read_text())))
    modules = [load(tree, f"{op}_{number}") for number, tree in enumerate(trees)]
    key = jax.random.key(0)
    if op == "rms_norm":
        arrays = {"x": jax.random.normal(key, (4, 32)), "weight": jnp.ones((32,))}
    else:
        shapes = {"q": (1, 32, 2, 8), "k": (1, 32, 2, 8), "v": (1, 32, 2, 8)}
        arrays = {name: jax.random.normal(key, shape) for name, shape in shapes.items()}
        arrays |= {"g": -jnp.ones((1, 32, 2)), "beta": jnp.ones((1, 32, 2))}
    texts = []
    for module in modules:
        lowered = jax.jit(lambda a, m=module: m.forward(**a)).lower(arrays).as_text()
        # Functions of a program are named after those of the text.
        texts.append(re.sub(r"@[\w.$%]+", "@f", lowered))
    assert texts[0] == texts[1]


VARIABLES = ("a", "b", "c", "x", "y")
FORMS = (
    "{0} = {1} + {2}",
    "{0} = {1} * 2 - {2}",
    "{0} += {1}",
    "{0} = [{1} + {0}_ for {0}_ in range(3)][{2} % 3]",
    "{0} = sum({0} for {0} in (1, {1}))",
    "{0} = (lambda {1}: {1} - {2})({1})",
    "for {0} in range(2):\n        {1} = {0} + {2}",
    "if {1} > {2}:\n        {0} = {1}",
    "def {0}h({1}):\n        {2} = {1} + 1\n        return {2} * _k\n    {0} = {0}h({2})",
    "def {0}n():\n        nonlocal {1}\n        {1} += 1\n        return {1}\n    {2} = {0}n()",
    "try:\n        {0} = {1} // 0\n    except ZeroDivisionError as {0}e:\n        {0} = {2}",
    "{0} = _helper({1}, {2})",
    "{0} = f'{{{1}}}'.count('1') + {2}",
    "{0} = max((t := {1}), {2})",
    "del {0}\n    {0} = 1",
)
statement = st.tuples(
    st.sampled_from(FORMS), st.permutations(VARIABLES).map(lambda names: names[:3])
).map(lambda drawn: "    " + drawn[0].format(*drawn[1]))


def program(body: list[str], names: dict[str, str] | None = None) -> str:
    lines = "\n".join(body)
    text = (
        "_k = 3\n\n\ndef _helper(first, second):\n    third = first - second\n"
        "    return third * _k\n\n\ndef forward(x, y):\n    a, b, c = 1, 2, 3\n"
        f"{lines}\n    return a, b, c, x, y\n"
    )
    for old, new in (names or {}).items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text


@settings(deadline=None, max_examples=200)
@given(st.lists(statement, min_size=1, max_size=6))
def test_the_canonical_form_computes_the_same(body: list[str]) -> None:
    text = program(body)
    found = []
    for number, tree in enumerate((ast.parse(text), canonical(ast.parse(text)))):
        module = load(tree, f"generated_{number}")
        found.append([module.forward(*pair) for pair in ((0, 1), (5, 2), (-3, 7))])
    assert found[0] == found[1]


def behaviour(text: str) -> list[object]:
    """What a program gives; an error by its kind."""
    try:
        module = load(ast.parse(text), "generated")
        return [module.forward(*pair) for pair in ((0, 1), (5, 2), (-3, 7))]
    except Exception as error:
        return [type(error)]


@settings(deadline=None, max_examples=300)
@given(st.lists(statement, min_size=1, max_size=2), st.data())
def test_programs_of_one_digest_compute_the_same(body: list[str], data: st.DataObject) -> None:
    text = program(body)
    words = [m.span() for m in re.finditer(rf"\b({'|'.join(VARIABLES)}|_k|_helper)\b", text)]
    for _ in range(data.draw(st.integers(1, 3))):
        start, end = data.draw(st.sampled_from(words))
        name = data.draw(st.sampled_from([*VARIABLES, "z", "_k"]))
        text = text[:start] + name.ljust(end - start)[: end - start] + text[end:]
    if source_digest(text) == source_digest(program(body)):
        assert behaviour(text) == behaviour(program(body))


@settings(deadline=None, max_examples=100)
@given(st.lists(statement, min_size=1, max_size=6))
def test_consistent_new_names_are_the_same_program(body: list[str]) -> None:
    names = {"a": "alpha", "third": "diff", "_helper": "_h2", "_k": "_three", "first": "one"}
    # A name in a string stays: there the two are told apart, which is safe.
    if not any("f'{" in line for line in body):
        assert source_digest(program(body, names)) == source_digest(program(body))
