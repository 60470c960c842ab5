"""SQLite with one connection a transaction: safe from threads, processes and `kill -9`."""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runs.errors import DiskFullError, InfrastructureError, ReadOnlyStoreError
from runs.faults import BUSY_TIMEOUT_S, NO_LEAVE, NO_SPACE, of_sqlite, of_system
from runs.migrations import MIGRATIONS, Migration, demand_current, migrate


class Database:
    """One SQLite file in WAL mode. Nothing stays open between calls, so nothing needs closing.

    Where nothing can be written (a read-only folder, a full disk) what is there can still be read.

    Attributes:
        refusal: why this store can only be read; None when it can be written.
    """

    def __init__(self, path: Path, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
        self.path = path
        self.refusal: InfrastructureError | None = None
        try:
            self._prepare(migrations)
        except (ReadOnlyStoreError, DiskFullError) as error:
            if not path.is_file() or path.stat().st_size == 0:
                raise
            self.refusal = error
            with self.read() as connection:
                demand_current(connection, migrations)

    def _prepare(self, migrations: tuple[Migration, ...]) -> None:
        # Switching to WAL does not wait for the busy timeout, so openers queue at a lock file.
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self.path.with_suffix(".lock").open("a")
        except OSError as error:
            if error.errno in NO_SPACE | NO_LEAVE:
                raise of_system(error, "the run store") from error
            raise InfrastructureError(
                f"the run store cannot be opened ({error.strerror}): make its folder writable or"
                " name another with KERNELWRIGHT_HOME"
            ) from error
        with lock:
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
        """One transaction: all of it is stored when the block ends, or none of it.

        Raises:
            ReadOnlyStoreError, DiskFullError: the store can only be read.
        """
        if self.refusal is not None:
            raise self.refusal
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
            connection = sqlite3.connect(
                self._address(), timeout=BUSY_TIMEOUT_S, isolation_level=None, uri=True
            )
        except sqlite3.Error as error:
            raise of_sqlite(error, self.path) from error
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            yield connection
        except sqlite3.Error as error:
            raise of_sqlite(error, self.path) from error
        finally:
            connection.close()

    def _address(self) -> str:
        address = self.path.absolute().as_uri()
        if self.refusal is None:
            return address
        # Without its log SQLite needs to make one first, which `immutable` spares it; with one, a
        # writer may be at work elsewhere, or was killed, and what the log holds counts.
        log = self.path.with_name(f"{self.path.name}-wal")
        has_log = log.is_file() and log.stat().st_size > 0
        return f"{address}?{'mode=ro' if has_log else 'immutable=1'}"
