"""Cumulative sums."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.proposers.rewrites.base import (
    NUMPY,
    Rewritten,
    called,
    expression,
    find,
    is_simple,
    jnp,
    keyword,
    positional,
    replaced_by_text,
)

SPECS = {"-1": "...j,ij->...i", "-2": "...jk,ij->...ik"}


class CumsumAsMatmul:
    """`jnp.cumsum(x, axis=-1)` -> a product with a lower triangle of ones."""

    name = "cumsum_as_matmul"
    summary = "a scan over a short axis is log-many passes; the triangle is one matrix product"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        package = jnp(module)
        for call in find(module, cst.Call):
            values = positional(call)
            if package is None or not called(call, NUMPY, "cumsum") or not values:
                continue
            given = keyword(call, "axis")
            if len(call.args) != 2 or not is_simple(values[0]):
                continue
            axis = expression(module, given.value if given is not None else values[-1])
            if axis not in SPECS:
                continue
            x = expression(module, values[0])
            ones = f"{package}.tri({x}.shape[{axis}], dtype={x}.dtype)"
            text = f'{package}.einsum("{SPECS[axis]}", {x}, {ones}, precision="highest")'
            yield replaced_by_text(module, call, text)
