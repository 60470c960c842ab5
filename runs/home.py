"""Where the workbench keeps its data: one folder, one environment variable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from evaluators.policy import repository_root

VARIABLE = "KERNELWRIGHT_HOME"


def data_home(environ: Mapping[str, str] | None = None) -> Path:
    """`KERNELWRIGHT_HOME`, or the checkout's git-ignored `runs/archive/`."""
    named = (os.environ if environ is None else environ).get(VARIABLE, "").strip()
    if named:
        return Path(named).expanduser().resolve()
    return repository_root() / "runs" / "archive"
