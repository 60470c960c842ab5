"""Kept profiles, laid out as XProf's page opens them."""

from __future__ import annotations

import re
from pathlib import Path

from runs.errors import UsageError
from runs.files import write_atomic
from runs.store import RunStore

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def export_trace(
    store: RunStore, digest: str, folder: Path, *, run_name: str = "run", host: str = "host"
) -> Path:
    """Write a trace to `folder/plugins/profile/<run_name>/<host>.xplane.pb` and return that path.

    Raises:
        MissingBlobError, CorruptBlobError, UsageError
    """
    for name in (run_name, host):
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no file name: use letters, digits, '.', '_' and '-'")
    data = store.blobs.get(digest)
    path = folder / "plugins" / "profile" / run_name / f"{host}.xplane.pb"
    write_atomic(path, data)
    return path
