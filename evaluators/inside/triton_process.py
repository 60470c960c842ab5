"""Run one entry point of a Triton module on a CPU: arrays come in as files and go out as files.

The candidate's Python shares this process, so what it reports is a diagnostic and no more. Tensors
cross as raw bytes described by JSON, never as pickles.

    triton_process.py --library DIR --in DIR --out DIR

reads `request.json`, the module and the argument files from the input folder; writes result files
and `report.json`. Executors: `interpreter` (Triton's own, right for float32) and `ttsem`, which
runs the IR that Triton compiles to: right for bfloat16, where the interpreter is silently wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any


def decode_tree(node: dict[str, Any], folder: Path) -> Any:
    """Rebuild a tree of torch tensors from its JSON description and the files that it names."""
    import torch

    if "dict" in node:
        return {name: decode_tree(child, folder) for name, child in node["dict"].items()}
    for kind in (tuple, list):
        if kind.__name__ in node:
            return kind(decode_tree(child, folder) for child in node[kind.__name__])
    data = bytearray((folder / node["file"]).read_bytes())
    dtype = getattr(torch, node["dtype"])
    if not data:
        return torch.empty(node["shape"], dtype=dtype)
    return torch.frombuffer(data, dtype=dtype).reshape(node["shape"])


def encode_tree(tree: Any, folder: Path, stem: str) -> dict[str, Any]:
    """Write the tensors of a plain tree below `folder` and describe the tree."""
    if isinstance(tree, dict):
        items = {str(name): encode_tree(c, folder, f"{stem}-{name}") for name, c in tree.items()}
        return {"dict": items}
    if isinstance(tree, (tuple, list)):
        items = [encode_tree(child, folder, f"{stem}-{i}") for i, child in enumerate(tree)]
        return {"tuple" if isinstance(tree, tuple) else "list": items}
    file = f"{stem}.raw"
    (folder / file).write_bytes(raw_bytes(tree))
    return {
        "shape": list(tree.shape),
        "dtype": str(tree.dtype).removeprefix("torch."),
        "file": file,
    }


def raw_bytes(tensor: Any) -> bytes:
    """The bytes of a tensor in C order, whatever its dtype."""
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def load(op: str, implementation: str, path: Path) -> ModuleType:
    """Import the candidate's file under the name that it would have in the library."""
    name = f"reference_kernels.{op}.{implementation}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def executor(name: str) -> Iterator[dict[str, int]]:
    """Make Triton launches run on the CPU; yields counters that are filled on leaving."""
    counters: dict[str, int] = {}
    if name == "interpreter":
        # Set before the environment is read, at Triton's import.
        os.environ["TRITON_INTERPRET"] = "1"
        yield counters
        return
    from ttsem.sanitize import session

    with session(inductor_lookback=False) as state:
        try:
            yield counters
        finally:
            counters["launches"] = state.launches
            counters["races_unchecked"] = state.races_unchecked


def tensors_in(tree: Any) -> list[Any]:
    """The leaves of a plain tree, in order."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (tuple, list)):
        return [leaf for child in tree for leaf in tensors_in(child)]
    return [tree]


def run(request: dict[str, Any], source: Path, out: Path) -> dict[str, Any]:
    """Call the entry point once; the report of what came of it."""
    arguments = {name: decode_tree(node, source) for name, node in request["arguments"].items()}
    before = {name: _digest(tree) for name, tree in arguments.items()}
    with executor(request["executor"]) as counters:
        module = load(request["op"], request["implementation"], source / request["module_file"])
        config = module.Config(**request["config"])
        started = time.perf_counter_ns()
        results = getattr(module, request["entry"])(**arguments, **request["static"], config=config)
        duration_ns = time.perf_counter_ns() - started
    modified = [name for name, tree in arguments.items() if _digest(tree) != before[name]]
    return {
        "status": "ran",
        "results": encode_tree(results, out, "result"),
        "modified": modified,
        "duration_ns": duration_ns,
        **counters,
    }


def _digest(tree: Any) -> str:
    digest = hashlib.sha256()
    for tensor in tensors_in(tree):
        digest.update(raw_bytes(tensor))
    return digest.hexdigest()


def failure(error: Exception) -> dict[str, Any]:
    """The report of a run that raised."""
    print(traceback.format_exc(limit=-8), file=sys.stderr)
    kind = type(error).__name__
    report = {"status": "error", "kind": kind, "message": f"{kind}: {error}"[:2000]}
    if kind == "KernelFault":
        # An access out of bounds, a race or an undefined value, at a line of the kernel.
        fault = error.fault  # type: ignore[attr-defined]
        return {**report, "status": "fault", "kind": fault.kind, "line": fault.source_line}
    if kind == "Unjudged" or any(
        base.__name__ == "UnsupportedError" for base in type(error).__mro__
    ):
        return {**report, "status": "declined"}
    return report


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--in", dest="source", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    sys.path.insert(0, str(options.library.parent))
    request = json.loads((options.source / "request.json").read_text())
    try:
        report = run(request, options.source, options.out)
    except Exception as error:
        report = failure(error)
    (options.out / "report.json").write_text(json.dumps(report))
    return 0 if report["status"] == "ran" else 1


if __name__ == "__main__":
    sys.exit(main())
