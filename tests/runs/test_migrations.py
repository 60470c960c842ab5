"""Stores of older checkouts: nothing is lost on the way forward, whatever happens on it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evaluators.policy import repository_root
from runs.database import Database
from runs.errors import InfrastructureError, NewerStoreError
from runs.migrations import MIGRATIONS, Migration
from runs.queries import run_summaries, verdicts_of_run
from runs.store import RunStore
from tests.runs import old_stores

KILLED_AT_EACH_STATEMENT = """
import json, os, signal, sys
from pathlib import Path
from runs import database

path, known = Path(sys.argv[1]), database.migrate

class Killing:
    def __init__(self, connection, at):
        self._connection, self._left = connection, at

    def execute(self, *arguments):
        found = self._connection.execute(*arguments)
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

at = 0
while True:
    at += 1
    pid = os.fork()
    if not pid:
        database.migrate = lambda connection, steps: known(Killing(connection, at), steps)
        database.Database(path)
        os._exit(0)
    if os.waitpid(pid, 0)[1] == 0:
        break
    with database.sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        steps = connection.execute("SELECT count(*) FROM migrations").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    connection.close()
    print(json.dumps([steps, tables]))
"""


@pytest.mark.parametrize("step", old_stores.RELEASED)
def test_an_older_store_keeps_every_row(tmp_path: Path, step: str) -> None:
    before = old_stores.make(tmp_path, step)
    store = RunStore(tmp_path)
    after = old_stores.rows(tmp_path / "store.sqlite")
    assert before["verdicts"]
    for table, rows in before.items():
        if table != "migrations":
            assert after[table] == rows, table
    assert [row[0] for row in after["migrations"]] == [migration.name for migration in MIGRATIONS]
    # And they can be read as records.
    (summary,) = run_summaries(store)
    assert (summary.state, summary.proposals, len(store.verdicts())) == ("open", 4, 3)
    assert len(verdicts_of_run(store, summary.run.id)) == 3
    assert summary.best is not None
    assert store.candidate(summary.best.candidate).op == "toy"


def test_what_a_run_spent_is_still_spent(tmp_path: Path) -> None:
    old_stores.make(tmp_path, "0003-samples")
    store = RunStore(tmp_path)
    (summary,) = run_summaries(store)
    spent = store.ledger.spent(summary.run.id)
    assert (spent.dollars, spent.tokens, spent.candidates) == (0.00024, 240, 3)
    assert spent.device_ns == 9_000_000_000


def test_a_kill_within_a_migration_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    old_stores.make(tmp_path, "0001-records")
    path = tmp_path / "store.sqlite"
    before = old_stores.rows(path)
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EACH_STATEMENT, str(path)],
        cwd=repository_root(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(seen) >= 15
    assert all(entry == seen[0] for entry in seen)
    assert seen[0][0] == 1
    after = old_stores.rows(path)
    assert {table: after[table] for table in before if table != "migrations"} == {
        table: rows for table, rows in before.items() if table != "migrations"
    }
    assert len(after["migrations"]) == len(MIGRATIONS)


def test_a_failed_migration_changes_nothing(tmp_path: Path) -> None:
    broken = Migration("0999-broken", "CREATE TABLE fine (x); CREATE TABLE broken (")
    RunStore(tmp_path)
    with pytest.raises(InfrastructureError, match="incomplete input"):
        Database(tmp_path / "store.sqlite", (*MIGRATIONS, broken))
    assert "fine" not in old_stores.rows(tmp_path / "store.sqlite")
    RunStore(tmp_path)


def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    old_stores.make(tmp_path, "0003-samples")
    Database(path, (*MIGRATIONS, Migration("0999-later", "CREATE TABLE x (y)")))
    before = path.read_bytes()
    with pytest.raises(NewerStoreError, match=r"'0999-later'.*update the checkout"):
        RunStore(tmp_path)
    assert path.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"store.sqlite", "store.lock"}


def test_the_released_steps_are_as_they_were(tmp_path: Path) -> None:
    """What the dump's tables look like is what today's first steps make."""
    old_stores.load("store", tmp_path / "dump.sqlite")
    Database(tmp_path / "made.sqlite", MIGRATIONS[: len(old_stores.RELEASED)])
    assert [m.name for m in MIGRATIONS][: len(old_stores.RELEASED)] == list(old_stores.RELEASED)
    assert old_stores.schema(tmp_path / "dump.sqlite") == old_stores.schema(
        tmp_path / "made.sqlite"
    )


def test_migration_names_are_in_order() -> None:
    names = [migration.name for migration in MIGRATIONS]
    assert names == sorted(set(names))
