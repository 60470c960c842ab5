"""The one dispatcher: an op's call goes to the best implementation that takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from reference_kernels import catalog, tuning
from reference_kernels.errors import UnsupportedError
from reference_kernels.problem import Implementation, Scalar, Tree, shape_key


def call(
    op: str,
    entry: str,
    arrays: Mapping[str, Tree],
    static: Mapping[str, Scalar],
    *,
    implementation: str | None = None,
    config: Any = None,
) -> Tree:
    """Run one entry point of an op.

    The order of preference is the reverse of `Problem.implementations`: `plain` is the last resort.
    The config is the caller's, else the one that tuning data names for this shape on this device
    kind, else the module's default: a pure look-up, the same on every run.

    Args:
        op: folder name, e.g. `rms_norm`.
        entry: `forward`, `decode`, ...
        arrays: argument name -> array or tree; absent optional arguments are left out.
        static: keyword arguments that are no arrays.
        implementation: use this module and no other.
        config: an instance of that module's `Config`; needs `implementation`.

    Raises:
        UnsupportedError: there is no implementation of that name, or it declines the call; or
            `config` came without a name.
        ExceptionGroup: every implementation declined; each says why.
    """
    problem = catalog.problem(op)
    present = {name: value for name, value in arrays.items() if value is not None}
    if implementation is not None:
        chosen = {i.name: i for i in problem.implementations}.get(implementation)
        if chosen is None:
            offered = ", ".join(i.name for i in problem.implementations)
            raise UnsupportedError(f"{op} has no implementation {implementation!r}, but {offered}")
        if entry not in chosen.entries:
            raise UnsupportedError(f"{op}: {implementation} has no {entry}")
        return _run(op, chosen, entry, present, static, config)
    if config is not None:
        raise UnsupportedError(f"{op}: a config belongs to one implementation; name it as well")
    refusals: list[UnsupportedError] = []
    platform = jax.default_backend()
    for candidate in reversed(problem.implementations):
        if not _runs_here(candidate, entry, platform):
            refusals.append(UnsupportedError(f"{candidate.name}: no {entry} on {platform}"))
            continue
        try:
            return _run(op, candidate, entry, present, static, None)
        except UnsupportedError as refusal:
            refusals.append(refusal)
    raise ExceptionGroup(f"no implementation of {op}.{entry} takes this call", refusals)


def _runs_here(implementation: Implementation, entry: str, platform: str) -> bool:
    # A process-trust module computes outside XLA and cannot take jax arrays.
    return (
        implementation.trust == "artefact"
        and entry in implementation.entries
        and ("cuda" if platform == "gpu" else platform) in implementation.platforms
    )


def _run(
    op: str,
    implementation: Implementation,
    entry: str,
    arrays: Mapping[str, Tree],
    static: Mapping[str, Scalar],
    config: Any,
) -> Tree:
    module = catalog.module(op, implementation.name)
    if config is None:
        config = shipped_config(op, implementation.name, shape_key(entry, arrays, static))
    return getattr(module, entry)(**arrays, **static, config=config)


def shipped_config(op: str, implementation: str, key: str, device_kind: str | None = None) -> Any:
    """The `Config` that the library would use for a call: tuned if there is an entry, else default.

    Args:
        key: a `shape_key`.
        device_kind: `jax.Device.device_kind`; the first local device's when left out.
    """
    module = catalog.module(op, implementation)
    kind = device_kind or jax.devices()[0].device_kind
    fields = tuning.lookup(kind, op, implementation, key)
    return module.Config(**fields) if fields else module.Config()
