"""Defaults of the module's `Config`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.proposers.rewrites.base import (
    Rewritten,
    called,
    dotted,
    expression,
    find,
    keyword,
    replaced,
    with_keyword,
)


class ConfigDefault:
    """`field(default=64, metadata={"choices": (32, 64)})` -> the same with `default=32`."""

    name = "config_default"
    summary = "another block size or variant may suit every shape better"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        for call in find(module, cst.Call):
            if dotted(call.func) != "field" and not called(call, ("dataclasses",), "field"):
                continue
            default, metadata = keyword(call, "default"), keyword(call, "metadata")
            if default is None or metadata is None:
                continue
            now = expression(module, default.value)
            for choice in _choices(module, metadata.value):
                if choice != now:
                    site = f"{_field_name(module, call)}: default {now} -> {choice}"
                    yield replaced(module, call, with_keyword(call, "default", choice), site)


def _field_name(module: cst.Module, call: cst.Call) -> str:
    for node in find(module, cst.AnnAssign):
        if node.value is call:
            return expression(module, node.target)
    return "field"


def _choices(module: cst.Module, metadata: cst.BaseExpression) -> list[str]:
    """Texts of the literal choices in `{"choices": (...)}`."""
    if not isinstance(metadata, cst.Dict):
        return []
    for element in metadata.elements:
        if not isinstance(element, cst.DictElement):
            continue
        value = element.value
        named = isinstance(element.key, cst.SimpleString) and element.key.evaluated_value
        if named == "choices" and isinstance(value, cst.Tuple | cst.List):
            return [expression(module, item.value) for item in value.elements]
    return []
