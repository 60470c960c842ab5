"""Files that are either whole or absent: written aside, synced, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from runs.errors import DiskFullError

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
TEMPORARY_PREFIX = ".writing-"


def write_atomic(path: Path, data: bytes) -> None:
    """Put `data` at `path`, replacing what is there in one step.

    A reader, or a run killed at any moment, sees the old bytes or the new ones, never a part. The
    mode of a replaced file is kept.

    Raises:
        DiskFullError: no space; `path` is as it was.
    """
    temporary = path.parent / f"{TEMPORARY_PREFIX}{path.name[:40]}-{secrets.token_hex(6)}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_synced(temporary, data, _mode(path))
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise DiskFullError(
                f"no space left to write {path.name}; nothing was lost: free some and run it again"
            ) from error
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
