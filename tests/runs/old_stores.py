"""Stores as released checkouts left them, made from the dump of a run that was killed at work.

`stores/<last step>/store.sql` and `checkpoint.sql` are what `sqlite3 .dump` gave of a run on the
toy op, with two proposers, by the checkout whose last migration has that name. They are never
edited.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from runs.database import Database
from runs.migrations import MIGRATIONS

STORES = Path(__file__).parent / "stores"
DUMPED = "0003-samples"
RELEASED = ("0001-records", "0002-ledger", DUMPED)
SERVER = "http://127.0.0.1:1/v1"
"""The address of the run's model server in the dump."""

Rows = dict[str, list[tuple[object, ...]]]


def load(name: str, path: Path) -> None:
    """Write the dump `name` to `path` as a database."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((STORES / DUMPED / f"{name}.sql").read_text())


def make(home: Path, step: str, server: str = SERVER) -> Rows:
    """A store in `home` as it was when `step` was the last one; returns its rows by table.

    Args:
        server: where the run's model answers.
    """
    whole, path = home / "dump.sqlite", home / "store.sqlite"
    load("store", whole)
    count = RELEASED.index(step) + 1
    Database(path, MIGRATIONS[:count])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ATTACH ? AS dump", (str(whole),))
        for table in rows(path):
            if table != "migrations":
                connection.execute(f"INSERT INTO {table} SELECT * FROM dump.{table}")
        connection.execute("UPDATE runs SET record = replace(record, ?, ?)", (SERVER, server))
        connection.commit()
    whole.unlink()
    return rows(path)


def rows(path: Path) -> Rows:
    """Every row of every table."""
    with closing(sqlite3.connect(path)) as connection:
        names = [
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def schema(path: Path) -> set[str]:
    """The statements that made the tables and indexes."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {" ".join(row[0].split()).replace('"', "") for row in found}
