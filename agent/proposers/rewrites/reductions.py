"""Reductions that are dot products in disguise."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.proposers.rewrites.base import (
    LAX,
    NUMPY,
    Rewritten,
    called,
    dotted,
    expression,
    find,
    is_simple,
    jnp,
    keyword,
    replaced_by_text,
)


class SquareSumAsDot:
    """`jnp.mean(jnp.square(x), axis=-1)` -> the product of each row with itself."""

    name = "square_sum_as_dot"
    summary = "a dot product runs in several partial sums; a reduction is one chain of additions"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        package = jnp(module)
        for call in find(module, cst.Call):
            if package is None or not called(call, NUMPY, "mean", "sum") or not call.args:
                continue
            axis, keep = keyword(call, "axis"), keyword(call, "keepdims")
            known = 1 + (axis is not None) + (keep is not None)
            if axis is None or expression(module, axis.value) != "-1" or len(call.args) != known:
                continue
            factors = _factors(call.args[0].value)
            if factors is None or not all(is_simple(f) for f in factors):
                continue
            kept = expression(module, keep.value) if keep is not None else "False"
            if kept not in ("True", "False"):
                continue
            a, b = (expression(module, factor) for factor in factors)
            text = f'{package}.einsum("...i,...i->...", {a}, {b})'
            if kept == "True":
                text += "[..., None]"
            if dotted(call.func).endswith("mean"):
                text += f" / {a}.shape[-1]"
            yield replaced_by_text(module, call, text)


def _factors(
    node: cst.BaseExpression,
) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The two factors of `square(x)`, `x * y`, `x**2`."""
    if isinstance(node, cst.Call) and called(node, (*NUMPY, *LAX), "square"):
        return (node.args[0].value, node.args[0].value) if len(node.args) == 1 else None
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, cst.Multiply):
            return node.left, node.right
        if isinstance(node.operator, cst.Power) and dotted(node.left):
            two = isinstance(node.right, cst.Integer) and node.right.value == "2"
            return (node.left, node.left) if two else None
    return None
