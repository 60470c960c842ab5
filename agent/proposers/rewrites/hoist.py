"""Work inside a loop's body that is the same in every iteration."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.proposers.rewrites.base import (
    LAX,
    Rewritten,
    called,
    dotted,
    find,
    names_in,
    positional,
    short,
)

LOOPS = ("scan", "map", "fori_loop", "while_loop")


class HoistInvariant:
    """`def body(c, x): w = f(u); ...` -> `w = f(u)` before the `def`."""

    name = "hoist_invariant"
    summary = "what does not depend on the iteration is computed once"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        bodies = _body_names(module)
        for outer in find(module, cst.FunctionDef):
            if not isinstance(outer.body, cst.IndentedBlock):
                continue
            for inner in outer.body.body:
                if isinstance(inner, cst.FunctionDef) and inner.name.value in bodies:
                    yield from _hoists(module, outer.body, inner)


def _body_names(module: cst.Module) -> set[str]:
    """Names of functions that loops are given."""
    names = set()
    for call in find(module, cst.Call):
        if called(call, LAX, *LOOPS):
            names |= {dotted(value) for value in positional(call) or ()} - {""}
    return names


def _hoists(
    module: cst.Module, block: cst.IndentedBlock, inner: cst.FunctionDef
) -> Iterator[Rewritten]:
    if not isinstance(inner.body, cst.IndentedBlock):
        return
    bound = _bound(inner)
    outside = {
        name for statement in block.body if statement is not inner for name in names_in(statement)
    }
    for statement in inner.body.body:
        target = _assigned(statement)
        if target is None or bound.count(target) != 1 or target in outside:
            continue
        value = statement.body[0].value  # type: ignore[union-attr, index]
        if not find(value, cst.Call) and not find(value, cst.BinaryOperation):
            continue
        if names_in(value) & set(bound):
            continue
        rest = [s for s in inner.body.body if s is not statement]
        if not rest:
            continue
        smaller = inner.with_changes(body=inner.body.with_changes(body=rest))
        at = list(block.body).index(inner)
        body = [*block.body[:at], statement, smaller, *block.body[at + 1 :]]
        changed = module.deep_replace(block, block.with_changes(body=body))
        site = f"{short(module, statement)} moved out of {inner.name.value}"
        yield Rewritten(site, changed.code)  # type: ignore[union-attr]


def _bound(function: cst.FunctionDef) -> list[str]:
    """Names that the function binds: parameters, assignments, loops, inner functions."""
    bound = [param.name.value for param in find(function.params, cst.Param)]
    for target in find(function.body, cst.AssignTarget):
        bound += sorted(names_in(target))
    for node in find(function.body, cst.AugAssign):
        bound += sorted(names_in(node.target))
    for node in find(function.body, cst.AnnAssign):
        bound += sorted(names_in(node.target))
    for node in find(function.body, cst.For):
        bound += sorted(names_in(node.target))
    for node in find(function.body, cst.CompFor):
        bound += sorted(names_in(node.target))
    for node in find(function.body, cst.NamedExpr):
        bound += sorted(names_in(node.target))
    for node in find(function.body, cst.FunctionDef):
        bound.append(node.name.value)
        bound += [param.name.value for param in find(node.params, cst.Param)]
    for node in find(function.body, cst.Lambda):
        bound += [param.name.value for param in find(node.params, cst.Param)]
    return bound


def _assigned(statement: cst.BaseStatement) -> str | None:
    """The name that a simple assignment binds."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    assign = statement.body[0]
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return None
    target = assign.targets[0].target
    return target.value if isinstance(target, cst.Name) else None
