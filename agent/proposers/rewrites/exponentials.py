"""Products of exponentials."""

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
    replaced_by_text,
)


class JoinExponentials:
    """`exp(a) * exp(b)` -> `exp(a + b)`, and `exp(a) / exp(b)` -> `exp(a - b)`."""

    name = "join_exponentials"
    summary = "one transcendental instead of two, and no overflow in between"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        for node in find(module, cst.BinaryOperation):
            sign = {cst.Multiply: "+", cst.Divide: "-"}.get(type(node.operator))  # type: ignore[call-overload]
            left, right = _exponent(node.left), _exponent(node.right)
            if sign is None or left is None or right is None:
                continue
            function = expression(module, left[0])
            a, b = expression(module, left[1]), expression(module, right[1])
            yield replaced_by_text(module, node, f"{function}(({a}) {sign} ({b}))")


def _exponent(node: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The function and the argument of a call of `exp`."""
    if isinstance(node, cst.Call) and called(node, (*NUMPY, *LAX), "exp") and len(node.args) == 1:
        return node.func, node.args[0].value
    return None
