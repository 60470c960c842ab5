"""Rematerialisation of loop bodies under differentiation."""

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
    positional,
    replaced,
    replaced_by_text,
)

NAMES = ("checkpoint", "remat")


class CheckpointBody:
    """`lax.scan(body, ...)` <-> `lax.scan(jax.checkpoint(body), ...)`."""

    name = "checkpoint_body"
    summary = "the backward pass either reads what each step saved, or computes it again"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        if not binds(module, "jax"):
            return
        for call in find(module, cst.Call):
            values = positional(call)
            if not called(call, LAX, "scan", "map") or not values:
                continue
            body = values[0]
            if isinstance(body, cst.Call) and called(body, ("jax",), *NAMES):
                if len(body.args) == 1:
                    yield replaced(module, body, body.args[0].value)
            else:
                yield replaced_by_text(module, body, f"jax.checkpoint({expression(module, body)})")
