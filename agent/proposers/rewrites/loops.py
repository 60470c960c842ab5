"""Loops: how far they are unrolled, and whether a map is a loop at all."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.proposers.rewrites.base import (
    LAX,
    Rewritten,
    binds,
    called,
    expression,
    find,
    keyword,
    lax,
    positional,
    replaced,
    replaced_by_text,
    short,
    with_keyword,
)

UNROLL = ("2", "4", "8")


class UnrollLoop:
    """`lax.scan(f, init, xs)` -> `lax.scan(f, init, xs, unroll=4)`."""

    name = "unroll_loop"
    summary = "several iterations in one body let XLA fuse across them and save loop overhead"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        for call in find(module, cst.Call):
            if not called(call, LAX, "scan", "fori_loop"):
                continue
            given = keyword(call, "unroll")
            if given is not None and not isinstance(given.value, cst.Integer):
                continue
            now = given.value.value if given is not None else "1"  # type: ignore[union-attr]
            for factor in ("1", *UNROLL):
                if factor != now:
                    site = f"{short(module, call)}: unroll {now} -> {factor}"
                    yield replaced(module, call, with_keyword(call, "unroll", factor), site)


class MapToVmap:
    """`lax.map(f, xs)` <-> `jax.vmap(f)(xs)`."""

    name = "map_to_vmap"
    summary = "a vmap is one batched computation; a map keeps the working set small enough to cache"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        package = lax(module)
        for call in find(module, cst.Call):
            values = positional(call)
            if values is None:
                continue
            plain = len(values) == len(call.args) == 2
            if called(call, LAX, "map") and plain and binds(module, "jax"):
                function, operand = (expression(module, v) for v in values)
                yield replaced_by_text(module, call, f"jax.vmap({function})({operand})")
            mapped = call.func
            if (
                package is not None
                and isinstance(mapped, cst.Call)
                and called(mapped, ("jax",), "vmap")
                and len(mapped.args) == len(call.args) == 1
                and len(values) == 1
            ):
                function = expression(module, mapped.args[0].value)
                operand = expression(module, values[0])
                yield replaced_by_text(module, call, f"{package}.map({function}, {operand})")
