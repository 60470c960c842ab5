"""SQLite with one connection a transaction: safe from threads, processes and `kill -9`."""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runs.errors import (
    ConflictingRecordError,
    CorruptStoreError,
    DiskFullError,
    InfrastructureError,
    RunStoreError,
    StoreBusyError,
)
from runs.migrations import MIGRATIONS, Migration, migrate

BUSY_TIMEOUT_S = 30.0


class Database:
    """One SQLite file in WAL mode. Nothing stays open between calls, so nothing needs closing."""

    def __init__(self, path: Path, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._prepare(migrations)
        except OSError as error:
            raise InfrastructureError(
                f"the run store cannot be opened ({error.strerror}): make its folder writable or"
                " name another with KERNELWRIGHT_HOME"
            ) from error

    def _prepare(self, migrations: tuple[Migration, ...]) -> None:
        # Switching to WAL does not wait for the busy timeout, so openers queue at a lock file.
        with self.path.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with self._connection() as connection:
                connection.execute("PRAGMA journal_mode = WAL")
            with self.write() as connection:
                migrate(connection, migrations)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the store."""
        with self._connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is stored when the block ends, or none of it."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        except sqlite3.Error as error:
            raise _translated(error) from error
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            yield connection
        except sqlite3.Error as error:
            raise _translated(error) from error
        finally:
            connection.close()


def _translated(error: sqlite3.Error) -> RunStoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFullError("no space left for the run store; nothing was lost: free some, retry")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusyError(
            f"another process held the run store for {BUSY_TIMEOUT_S:.0f} s: wait for it, retry"
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return CorruptStoreError(
            f"the run store's file is damaged ({error}): restore it from a backup, or move it away"
        )
    if code == sqlite3.SQLITE_CONSTRAINT:
        return ConflictingRecordError(
            f"a record names another that the store does not hold, or clashes with it ({error});"
            " record what it names first"
        )
    return InfrastructureError(f"the run store failed: {error}")
