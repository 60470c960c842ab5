"""Triangular solves."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.proposers.rewrites.base import (
    Rewritten,
    dotted,
    expression,
    find,
    is_simple,
    jnp,
    positional,
    replaced_by_text,
)


class SolveAgainstIdentity:
    """`solve_triangular(a, b, ...)` -> `solve_triangular(a, eye, ...) @ b`."""

    name = "solve_against_identity"
    summary = "one small inverse serves several right-hand sides, and the rest is a matrix product"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        package = jnp(module)
        for call in find(module, cst.Call):
            values = positional(call)
            name = dotted(call.func).rpartition(".")[2]
            if package is None or name != "solve_triangular" or values is None or len(values) != 2:
                continue
            matrix, right = values
            if not is_simple(matrix) or "eye" in expression(module, right):
                continue
            a, b = expression(module, matrix), expression(module, right)
            options = "".join(
                f", {expression(module, arg).rstrip(', ')}"
                for arg in call.args
                if arg.keyword is not None
            )
            eye = (
                f"{package}.broadcast_to({package}.eye({a}.shape[-1], dtype={a}.dtype), {a}.shape)"
            )
            function = expression(module, call.func)
            yield replaced_by_text(module, call, f"{function}({a}, {eye}{options}) @ ({b})")
