"""Einsums of two operands: their order, and their form as a matrix product."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.proposers.rewrites.base import (
    NUMPY,
    Rewritten,
    called,
    expression,
    find,
    literal_text,
    positional,
    replaced,
    replaced_by_text,
)


def _two_operands(module: cst.Module) -> Iterator[tuple[cst.Call, str, str, str]]:
    """Calls with a literal `left,right->out` and two operands: einsum, or a wrapper of it."""
    for call in find(module, cst.Call):
        values = positional(call)
        if values is None or len(values) != 3:
            continue
        spec = literal_text(values[0])
        if spec is None or spec.count(",") != 1 or spec.count("->") != 1:
            continue
        inputs, _, output = spec.replace(" ", "").partition("->")
        left, _, right = inputs.partition(",")
        yield call, left, right, output


class SwapEinsumOperands:
    """`einsum("ij,jk->ik", a, b)` -> `einsum("jk,ij->ik", b, a)`."""

    name = "swap_einsum_operands"
    summary = "the order of the operands decides the layout of the product and which side is packed"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        for call, left, right, output in _two_operands(module):
            spec = cst.SimpleString(f'"{right},{left}->{output}"')
            first, second, third = call.args[:3]
            args = [
                first.with_changes(value=spec),
                second.with_changes(value=third.value),
                third.with_changes(value=second.value),
                *call.args[3:],
            ]
            yield replaced(module, call, call.with_changes(args=args))


class EinsumToMatmul:
    """`einsum("bij,bjk->bik", a, b)` -> `a @ b`, with transposes of the last two axes if needed."""

    name = "einsum_to_matmul"
    summary = "a plain product needs no transposes around the call to the matrix library"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        for call, left, right, output in _two_operands(module):
            if not called(call, NUMPY, "einsum") or len(call.args) != 3:
                # precision and preferred_element_type have no place in `@`.
                continue
            sides = _as_product(left, right, output)
            if sides is None:
                continue
            a, b = (f"({expression(module, arg.value)})" for arg in call.args[1:])
            a, b = (f"{x}.mT" if turned else x for x, turned in zip((a, b), sides, strict=True))
            yield replaced_by_text(module, call, f"{a} @ {b}")


def _as_product(left: str, right: str, output: str) -> tuple[bool, bool] | None:
    """Which operands to transpose, None where the einsum is no (batched) matrix product."""
    left, right, output = (part.replace("...", "*") for part in (left, right, output))
    if min(len(left), len(right), len(output)) < 2 or "*" in left[-2:] + right[-2:] + output[-2:]:
        return None
    batch, rows, columns = output[:-2], output[-2], output[-1]
    # Both broadcast, so an operand of rank two needs no batch of its own.
    batches = {batch, ""} if batch == "*" else {batch}
    if not {left[:-2], right[:-2]} <= batches or rows == columns:
        return None
    shared = set(left[-2:]) & set(right[-2:])
    if len(shared) != 1 or len(set(output)) != len(output):
        return None
    (inner,) = shared
    if inner in output or set(left[-2:]) != {rows, inner} or set(right[-2:]) != {inner, columns}:
        return None
    return left[-2:] == inner + rows, right[-2:] == columns + inner
