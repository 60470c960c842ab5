"""Files that are either whole or absent: written aside, synced, then renamed."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from runs.faults import NO_SPACE, of_system

TEMPORARY_PREFIX = ".writing-"


def write_atomic(path: Path, data: bytes, aside: Path | None = None) -> None:
    """Put `data` at `path`, replacing what is there in one step.

    A reader, or a run killed at any moment, sees the old bytes or the new ones, never a part. The
    mode of a replaced file is kept.

    Args:
        aside: folder of the same file system to write in first; that of `path` when left out.

    Raises:
        DiskFullError: no space; `path` is as it was.
    """
    name = f"{TEMPORARY_PREFIX}{path.name[:40]}-{secrets.token_hex(6)}"
    temporary = (aside or path.parent) / name
    try:
        is_new_folder = not path.parent.is_dir()
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_synced(temporary, data, _mode(path))
        os.replace(temporary, path)
        _sync_folder(path.parent)
        if is_new_folder:
            _sync_folder(path.parent.parent)
    except OSError as error:
        if error.errno in NO_SPACE:
            raise of_system(error, path.name) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return None


def _write_synced(path: Path, data: bytes, mode: int | None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with open(descriptor, "wb") as file:
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
