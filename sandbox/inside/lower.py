"""Trace and export a candidate's entry points, inside the build container.

This runs beside candidate code, so nothing that it writes is believed: the judge walks the program
itself. It needs jax and, for the candidate's own imports, the library; it imports nothing of ours.

    lower.py --library DIR --in DIR --out DIR

reads `request.json` and the candidate's files from the input folder and writes one serialised
program an item, and `report.json`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

REFUSALS = ("callback", "custom_call", "custom call", "ordered effects", "donat")
"""Words by which jax refuses to export what no artefact may hold."""

DEVICES = {"tpu": ("TPU v6 lite", 1), "cuda": ("NVIDIA H200", 132)}
"""The device that a kernel finds when it asks, by platform: kind and cores."""


def decode_tree(node: Any) -> Any:
    """Rebuild a tree of `jax.ShapeDtypeStruct` from the request's JSON."""
    import jax
    import jax.numpy as jnp

    if "shape" in node:
        if node["dtype"].startswith("key<"):
            raise ValueError("random keys are no arguments of an op")
        return jax.ShapeDtypeStruct(tuple(node["shape"]), jnp.dtype(node["dtype"]))
    if "dict" in node:
        return {name: decode_tree(child) for name, child in node["dict"].items()}
    kind = tuple if "tuple" in node else list
    return kind(decode_tree(child) for child in node[kind.__name__])


def load(op: str, implementation: str, source: Path, library: Path) -> ModuleType:
    """Import the candidate as the module of the library that it would be.

    It lies where the library's own module lies, among links to the library's other files, so that
    neither its name nor its place says that this is no ordinary import.
    """
    root = Path(tempfile.mkdtemp())
    (root / library.name / op).mkdir(parents=True)
    for entry in library.iterdir():
        if entry.name != op:
            (root / library.name / entry.name).symlink_to(entry)
    file = root / library.name / op / source.name
    for entry in (library / op).iterdir():
        if entry.name != file.name:
            (file.parent / entry.name).symlink_to(entry)
    file.write_bytes(source.read_bytes())
    sys.path.insert(0, str(root))
    return importlib.import_module(f"reference_kernels.{op}.{implementation}")


def lower(module: ModuleType, item: dict[str, Any]) -> bytes:
    """Export one entry point as `arguments dict -> results` for one platform."""
    import jax
    from jax import export

    arguments = decode_tree(item["arguments"])
    config = module.Config(**(item["config"] or {}))
    extra = {"interpret": True} if item["interpret"] else {}
    entry = getattr(module, item["entry"])
    static = item["static"]

    def program(arguments: dict[str, Any]) -> Any:
        return entry(**arguments, **static, **extra, config=config)

    with jax.sharding.use_abstract_mesh(_mesh(item["platform"])):
        exported = export.export(jax.jit(program), platforms=[item["platform"]])(arguments)
    return bytes(exported.serialize())


def _mesh(platform: str) -> Any:
    """A mesh that answers what a kernel asks of a device that is not here."""
    from jax.sharding import AbstractDevice, AbstractMesh

    kind, cores = DEVICES.get(platform, ("", None))
    device = AbstractDevice(kind, cores, platform) if kind else None
    return AbstractMesh((), (), abstract_device=device)


def get_ready() -> None:
    """Import and start what every candidate needs, which takes longest."""
    import jax
    import jax.numpy as jnp
    from jax import export

    export.export(jax.jit(jnp.tanh))(jax.ShapeDtypeStruct((8,), jnp.float32)).serialize()


def await_inputs() -> None:
    """Say that all is ready and wait for the inputs; where they are there already, go on."""
    with contextlib.suppress(OSError):
        os.write(0, b"\n")
    while os.read(0, 64):
        pass
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--in", dest="source", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    # What runs it is none of the candidate's business.
    sys.argv[:] = [""]
    get_ready()
    await_inputs()
    request = json.loads((options.source / "request.json").read_text())

    report: dict[str, Any] = {"items": {}}
    started = time.perf_counter_ns()
    try:
        module = load(
            request["op"],
            request["implementation"],
            options.source / request["module_file"],
            options.library,
        )
    except Exception:
        report["import_error"] = traceback.format_exc(limit=-8)
        _write(options.out, report)
        print(report["import_error"], file=sys.stderr)
        return 1
    report["import_ns"] = time.perf_counter_ns() - started

    failed = False
    for item in request["items"]:
        started = time.perf_counter_ns()
        try:
            data = lower(module, item)
        except Exception as error:
            text = traceback.format_exc(limit=-8)
            print(text, file=sys.stderr)
            refused = any(word in str(error).lower() for word in REFUSALS)
            report["items"][item["id"]] = {
                "ok": False,
                "refused": refused,
                "message": f"{type(error).__name__}: {error}"[:2000],
            }
            failed = True
            continue
        (options.out / f"{item['id']}.bin").write_bytes(data)
        report["items"][item["id"]] = {
            "ok": True,
            "duration_ns": time.perf_counter_ns() - started,
        }
    _write(options.out, report)
    return 1 if failed else 0


def _write(folder: Path, report: dict[str, Any]) -> None:
    (folder / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    sys.exit(main())
