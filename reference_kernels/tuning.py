"""Tuning data: which implementation and `Config` a device kind runs for a shape.

One JSON file a device kind in `tuned/`, written only by a promotion, so that the run-time choice is
a look-up and the same on every run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from reference_kernels.errors import TuningDataError

FOLDER = Path(__file__).parent / "tuned"


def slug(device_kind: str) -> str:
    """The file stem of a device kind: `TPU v5 lite` -> `tpu_v5_lite`."""
    return re.sub(r"[^a-z0-9]+", "_", device_kind.lower()).strip("_")


def path_for(device_kind: str, folder: Path = FOLDER) -> Path:
    return folder / f"{slug(device_kind)}.json"


def load(device_kind: str, folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """Entries of a device kind: `"op|implementation|shape key"` -> config fields.

    Raises:
        TuningDataError: the file is there and is not tuning data.
    """
    path = path_for(device_kind, folder)
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text())
        return {key: dict(entry["config"]) for key, entry in data["entries"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TuningDataError(f"{path.name} is not tuning data: {error}") from error


@cache
def _shipped(device_kind: str) -> Mapping[str, dict[str, Any]]:
    return load(device_kind)


def entry_key(op: str, implementation: str, key: str) -> str:
    return f"{op}|{implementation}|{key}"


def lookup(device_kind: str, op: str, implementation: str, key: str) -> dict[str, Any] | None:
    """Config fields shipped for this call on this device kind, or None."""
    return _shipped(device_kind).get(entry_key(op, implementation, key))
