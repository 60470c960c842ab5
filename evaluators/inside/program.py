"""Walk an exported program: what it may hold, what it computes from what.

The judge believes nothing that the exporter says of a program. It parses the module and visits
every operation and region itself. A program that breaks a rule here is refused before it is
compiled, since some of what is refused crashes the compiler or the process.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jax import export
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from evaluators.inside.dependence import Dependence

DIALECTS = frozenset({"builtin", "func", "stablehlo", "chlo", "sdy"})

FORBIDDEN = frozenset(
    {
        # Anything that reaches out of the program, draws its own numbers or talks to other devices.
        "stablehlo.infeed",
        "stablehlo.outfeed",
        "stablehlo.send",
        "stablehlo.recv",
        "stablehlo.rng",
        "stablehlo.create_token",
        "stablehlo.after_all",
        "stablehlo.all_gather",
        "stablehlo.all_reduce",
        "stablehlo.all_to_all",
        "stablehlo.collective_permute",
        "stablehlo.collective_broadcast",
        "stablehlo.reduce_scatter",
        "stablehlo.partition_id",
        "stablehlo.replica_id",
        "stablehlo.composite",
    }
)

_LAPACK = frozenset(
    f"lapack_{kind}{routine}_ffi"
    for routine in ("trsm", "getrf", "potrf", "geqrf", "orgqr", "gesdd", "gesvd")
    for kind in "sd"
) | frozenset({"lapack_ssyevd_ffi", "lapack_dsyevd_ffi"})

CUSTOM_CALLS: dict[str, frozenset[str]] = {
    "cpu": _LAPACK | {"ApproxTopK"},
    "tpu": frozenset({"tpu_custom_call", "ApproxTopK"}),
    "cuda": frozenset({"__gpu$xla.gpu.triton", "ApproxTopK"}),
}
"""Exact custom-call targets that a judged program may name, by platform."""


class RefusedProgramError(Exception):
    """A program that may not be judged: `rule` names what it breaks."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule
        self.detail = detail


@dataclass(frozen=True)
class Program:
    """What the walk found.

    Attributes:
        exported: the deserialised program.
        digest: SHA-256 of the module's text without locations, and of its envelope.
        signature: (argument types, result types) of `main`, as MLIR text.
        kept: positions of the flat arguments that `main` takes at all.
        depends: for each result, the flat arguments that it depends on.
        operations: count of operations by name.
        custom_calls: targets named, sorted.
        constant_bytes: bytes of all constants that are no splat.
    """

    exported: export.Exported
    digest: str
    signature: tuple[tuple[str, ...], tuple[str, ...]]
    kept: tuple[int, ...]
    depends: tuple[frozenset[int], ...]
    operations: dict[str, int]
    custom_calls: tuple[str, ...]
    constant_bytes: int


def walk(data: bytes, platform: str, *, artefact_bytes: int, constant_bytes: int) -> Program:
    """Read and check one artefact.

    Args:
        data: a serialised `jax.export.Exported`.
        platform: the platform it must be for.
        artefact_bytes: the most that it may weigh.
        constant_bytes: the most that its non-splat constants may weigh together.

    Raises:
        RefusedProgramError: it breaks a rule, or is no artefact at all.
    """
    if len(data) > artefact_bytes:
        raise RefusedProgramError("size", f"{len(data)} bytes, the cap is {artefact_bytes}")
    try:
        exported = export.deserialize(bytearray(data))
    except Exception as error:
        raise RefusedProgramError("artefact", f"not readable: {type(error).__name__}") from error
    _check_envelope(exported, platform)
    with jax_mlir.make_ir_context() as context:
        try:
            module = stablehlo.deserialize_portable_artifact(
                context, exported.mlir_module_serialized
            )
        except Exception as error:
            raise RefusedProgramError("artefact", "its module does not parse") from error
        return _walk_module(module, exported, platform, constant_bytes)


def _check_envelope(exported: export.Exported, platform: str) -> None:
    if tuple(exported.platforms) != (platform,):
        raise RefusedProgramError("platform", f"lowered for {exported.platforms}, not {platform}")
    if exported.nr_devices != 1:
        raise RefusedProgramError("devices", f"wants {exported.nr_devices} devices")
    if exported.ordered_effects or exported.unordered_effects:
        raise RefusedProgramError("effects", "it has side effects")
    if exported.uses_global_constants:
        raise RefusedProgramError("shapes", "its shapes are symbolic")
    kept = tuple(exported.module_kept_var_idx)
    if list(kept) != sorted(set(kept)) or any(
        not 0 <= index < len(exported.in_avals) for index in kept
    ):
        raise RefusedProgramError("signature", "its list of kept arguments is malformed")


def _walk_module(module: ir.Module, exported: export.Exported, platform: str, cap: int) -> Program:
    allowed = CUSTOM_CALLS.get(platform, frozenset())
    operations: dict[str, int] = {}
    targets: set[str] = set()
    constants = 0
    for operation in visit(module.operation):
        name = operation.name
        operations[name] = operations.get(name, 0) + 1
        if name.split(".", 1)[0] not in DIALECTS or name in FORBIDDEN:
            raise RefusedProgramError("operation", f"{name} is not allowed")
        if name == "stablehlo.custom_call":
            target = _text(operation.attributes["call_target_name"])
            if target not in allowed:
                raise RefusedProgramError(
                    "custom_call", f"{target!r} is not on the list for {platform}"
                )
            effect = operation.attributes.get("has_side_effect")
            if effect is not None and str(effect) != "false":
                raise RefusedProgramError("custom_call", f"{target!r} claims side effects")
            targets.add(target)
        for attribute in operation.attributes.values():
            constants += _constant_bytes(attribute)
        if constants > cap:
            raise RefusedProgramError("constants", f"over {cap} bytes of constants")
    functions: dict[str, Any] = {
        _text(op.attributes["sym_name"]): op
        for op in module.body.operations
        if op.operation.name == "func.func"
    }
    main = functions.get("main")
    if main is None:
        raise RefusedProgramError("signature", "it has no main function")
    _check_main(main)
    kept = tuple(exported.module_kept_var_idx)
    kind: Any = main.attributes["function_type"].value
    signature = tuple(map(str, kind.inputs)), tuple(map(str, kind.results))
    if len(signature[0]) != len(kept) or len(signature[1]) != len(exported.out_avals):
        raise RefusedProgramError("signature", "its module and its envelope disagree")
    depends = Dependence(functions).of_main()
    return Program(
        exported=exported,
        digest=program_digest(module, exported),
        signature=signature,
        kept=kept,
        depends=tuple(frozenset(kept[i] for i in found) for found in depends),
        operations=operations,
        custom_calls=tuple(sorted(targets)),
        constant_bytes=constants,
    )


def _check_main(main: Any) -> None:
    if "arg_attrs" not in main.attributes:
        return
    for entry in main.attributes["arg_attrs"]:
        text = str(entry)
        if "aliasing_output" in text or "buffer_donor" in text:
            raise RefusedProgramError("donation", "it donates an argument; the judge decides that")


def visit(operation: Any) -> Iterator[Any]:
    """Every operation below and including this one, regions too."""
    stack = [operation]
    while stack:
        current = stack.pop()
        yield current
        for region in current.regions:
            for block in region.blocks:
                stack.extend(op.operation for op in block.operations)


def _text(attribute: Any) -> str:
    return str(attribute.value)


def _constant_bytes(attribute: ir.Attribute) -> int:
    """Bytes of an elements attribute that is no splat.

    A Mosaic or Triton kernel travels as a string: the artefact's own size caps it.
    """
    if isinstance(attribute, ir.DenseElementsAttr):
        return 0 if attribute.is_splat else _tensor_bytes(ir.ShapedType(attribute.type))
    if isinstance(attribute, ir.DenseResourceElementsAttr):
        return _tensor_bytes(ir.ShapedType(attribute.type))
    return 0


def _tensor_bytes(kind: ir.ShapedType) -> int:
    count = 1
    for size in kind.shape:
        count *= size
    width = re.search(r"\d+", str(kind.element_type))
    return count * max(1, int(width.group()) // 8 if width else 1)


def program_digest(module: ir.Module, exported: export.Exported) -> str:
    """Identity of a program: its text without locations, and the envelope that says how to call it.

    Nothing is cut out of the text by a pattern: what a candidate can put into an attribute could
    make a pattern swallow operations. Only the module's name, at the very beginning, is left out.
    """
    text = str(module.operation.get_asm(enable_debug_info=False))
    text = re.sub(r"\Amodule @[A-Za-z0-9_.$-]+", "module", text, count=1)
    envelope = [
        str(exported.module_kept_var_idx),
        str(exported.in_tree),
        str(exported.out_tree),
        str(exported.in_avals),
        str(exported.out_avals),
    ]
    return hashlib.sha256("\0".join([*envelope, text]).encode()).hexdigest()
