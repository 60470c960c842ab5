"""Precision of matrix products."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.proposers.rewrites.base import (
    LAX,
    NUMPY,
    Rewritten,
    called,
    dotted,
    find,
    keyword,
    literal_text,
    replaced,
    short,
    with_keyword,
    without_keyword,
)

PRODUCTS = ("einsum", "dot", "matmul", "tensordot", "vdot", "inner", "dot_general")
LOWER = {"highest": ("high", None), "high": (None,), "float32": ("tensorfloat32", None)}


class LowerPrecision:
    """`precision=lax.Precision.HIGHEST` -> `"high"`, or none at all."""

    name = "lower_precision"
    summary = "each step down saves passes of the matrix unit"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        for call in find(module, cst.Call):
            if not called(call, (*NUMPY, *LAX), *PRODUCTS):
                continue
            given = keyword(call, "precision")
            if given is None:
                continue
            now = literal_text(given.value) or dotted(given.value).rpartition(".")[2]
            for lower in LOWER.get(now.lower(), ()):
                changed = (
                    without_keyword(call, "precision")
                    if lower is None
                    else with_keyword(call, "precision", f'"{lower}"')
                )
                site = f"{short(module, call)}: precision {now} -> {lower or 'the default'}"
                yield replaced(module, call, changed, site)
