"""Divisions by square roots."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.proposers.rewrites.base import (
    LAX,
    NUMPY,
    Rewritten,
    called,
    expression,
    find,
    lax,
    replaced_by_text,
)


class ReciprocalRoot:
    """`x / jnp.sqrt(y)` -> `x * lax.rsqrt(y)`."""

    name = "reciprocal_root"
    summary = "a reciprocal root once a row is cheaper than a division an element"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        package = lax(module)
        for node in find(module, cst.BinaryOperation):
            root = node.right
            if (
                package is None
                or not isinstance(node.operator, cst.Divide)
                or not isinstance(root, cst.Call)
                or not called(root, (*NUMPY, *LAX), "sqrt")
                or len(root.args) != 1
            ):
                continue
            top = expression(module, node.left)
            inverse = f"{package}.rsqrt({expression(module, root.args[0].value)})"
            text = inverse if top in ("1", "1.0") else f"({top}) * {inverse}"
            yield replaced_by_text(module, node, text)
