"""The library's own text of an implementation, as a candidate: what a run starts from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reference_kernels import tuning
from reference_kernels.errors import TuningDataError
from runs.diffs import CONFIG_FILE
from runs.errors import CheckoutError
from sandbox.records import Candidate

LIBRARY = "reference_kernels"


def module_path(op: str, implementation: str) -> str:
    """Where an implementation lies, relative to the checkout."""
    return f"{LIBRARY}/{op}/{implementation}.py"


def tuning_path(device_kind: str) -> str:
    """Where a device kind's tuning data lies, relative to the checkout."""
    return f"{LIBRARY}/tuned/{tuning.slug(device_kind)}.json"


def read_text(checkout: Path, path: str) -> str | None:
    """A file's exact text, None when it is not there."""
    try:
        return (checkout / path).read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CheckoutError(f"{path} cannot be read as text: {error}") from error


def shipped_configs(
    checkout: Path, op: str, implementation: str, device_kind: str
) -> dict[str, dict[str, Any]]:
    """Tuned configs of an implementation on a device kind: shape key -> config fields."""
    try:
        entries = tuning.load(device_kind, checkout / LIBRARY / "tuned")
    except TuningDataError as error:
        raise CheckoutError(f"{error}: repair it or check it out again") from error
    prefix = tuning.entry_key(op, implementation, "")
    return {
        key.removeprefix(prefix): fields
        for key, fields in entries.items()
        if key.startswith(prefix)
    }


def incumbent_candidate(
    checkout: Path, op: str, implementation: str, target: str, *, device_kind: str | None = None
) -> Candidate:
    """What the checkout holds now.

    Args:
        device_kind: include the configs that are shipped for it, when there are any.

    Raises:
        CheckoutError: there is no such module.
    """
    path = module_path(op, implementation)
    text = read_text(checkout, path)
    if text is None:
        raise CheckoutError(f"the checkout has no {path}: name an op and an implementation it has")
    files = {f"{implementation}.py": text}
    if device_kind is not None:
        configs = shipped_configs(checkout, op, implementation, device_kind)
        if configs:
            files[CONFIG_FILE] = json.dumps(configs, sort_keys=True)
    return Candidate(op=op, implementation=implementation, target=target, files=files)
