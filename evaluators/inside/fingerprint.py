"""What machine and toolchain a judging process ran on."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
from pathlib import Path

PACKAGES = ("jax", "jaxlib", "numpy", "libtpu", "triton")


def fingerprint() -> dict[str, str]:
    """Names and versions that a time depends on. Holds no host name and no path."""
    import jax

    model = cpu_model()
    cores = sorted(os.sched_getaffinity(0))
    found = {
        "machine": hashlib.sha256(f"{model}|{platform.release()}".encode()).hexdigest()[:12],
        "cpu_model": model,
        "device_kind": jax.devices()[0].device_kind,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "pinned_core": str(cores[0]) if len(cores) == 1 else "",
    }
    for package in PACKAGES:
        try:
            found[f"package:{package}"] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def cpu_model() -> str:
    """The processor's name, as the kernel gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()
