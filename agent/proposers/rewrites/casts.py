"""Conversions between dtypes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.proposers.rewrites.base import Rewritten, expression, find, replaced


class DropAstype:
    """`x.astype(t)` -> `x`."""

    name = "drop_astype"
    summary = "a conversion that is not needed costs a pass, and a wider dtype costs bandwidth"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        returned = [c for r in find(module, cst.Return) for c in find(r, cst.Call)]
        for call in find(module, cst.Call):
            function = call.func
            if not isinstance(function, cst.Attribute) or function.attr.value != "astype":
                continue
            # `return y.astype(x.dtype)` gives the result its dtype: it is needed.
            gives_dtype = expression(module, call.args[0].value).endswith(".dtype")
            if gives_dtype and any(call is other for other in returned):
                continue
            yield replaced(module, call, function.value)
