"""What SQLite and the file system throw, as the store's own errors."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

from runs.errors import (
    ConflictingRecordError,
    CorruptStoreError,
    DiskFullError,
    InfrastructureError,
    ReadOnlyStoreError,
    RunStoreError,
    StoreBusyError,
)

BUSY_TIMEOUT_S = 30.0
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NO_LEAVE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
# SQLite needs this much beside its file before it can even read one that others may write to.
_ROOM_BYTES = 64 * 1024


def of_sqlite(error: sqlite3.Error, path: Path) -> RunStoreError:
    """The store's error for one of SQLite's, about the database at `path`."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (
        code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _is_full(path)
    ):
        return DiskFullError("no space left for the run store; nothing was lost: free some, retry")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusyError(
            f"another process held the run store for {BUSY_TIMEOUT_S:.0f} s: wait for it, retry"
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return CorruptStoreError(
            f"{path.name} of the run store is damaged ({error}): restore it from a backup, or move"
            " it away"
        )
    if code == sqlite3.SQLITE_READONLY:
        return read_only()
    if code == sqlite3.SQLITE_CANTOPEN:
        return InfrastructureError(
            f"the run store cannot be opened ({error}): make its folder writable, or copy it to one"
            " that is, for what a killed process left there"
        )
    if code == sqlite3.SQLITE_CONSTRAINT:
        return ConflictingRecordError(
            f"a record names another that the store does not hold, or clashes with it ({error});"
            " record what it names first"
        )
    return InfrastructureError(f"the run store failed: {error}")


def of_system(error: OSError, what: str) -> RunStoreError:
    """The store's error for one of the file system's, met while writing `what`."""
    if error.errno in NO_SPACE:
        return DiskFullError(
            f"no space left to write {what}; nothing was lost: free some and run it again"
        )
    if error.errno in NO_LEAVE:
        return read_only()
    return InfrastructureError(f"{what} cannot be written ({error.strerror})")


def read_only() -> ReadOnlyStoreError:
    return ReadOnlyStoreError(
        "the run store cannot be written: make its folder writable or name another with"
        " KERNELWRIGHT_HOME"
    )


def _is_full(path: Path) -> bool:
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _ROOM_BYTES or (found.f_files > 0 == found.f_favail)
