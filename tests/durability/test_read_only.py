"""A store in a read-only folder can be read, and refuses to be written in one line."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent.cli.main import app
from runs.database import Database
from runs.errors import ReadOnlyStoreError
from runs.migrations import MIGRATIONS
from runs.records import Budget, Run
from runs.store import RunStore
from tests.durability.disks import read_only


def make_run(name: str) -> Run:
    return Run(
        id=name,
        op="toy",
        implementation="xla",
        target="cpu",
        case="steering",
        budget=Budget(),
        base_commit="",
        started_at="2026-11-30T23:15:00.000000+00:00",
    )


def listed(home: Path) -> list[str]:
    found = CliRunner().invoke(app, ["runs", "list", "--json", "--home", str(home)])
    assert found.exit_code == 0, found.stderr
    return [line["run"]["id"] for line in json.loads(found.stdout)["runs"]]


def test_runs_are_listed_where_nothing_can_be_written(tmp_path: Path) -> None:
    RunStore(tmp_path).start_run(make_run("a"))
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with read_only(tmp_path):
        assert listed(tmp_path) == ["a"]
        with pytest.raises(ReadOnlyStoreError, match=r"cannot be written.*KERNELWRIGHT_HOME"):
            RunStore(tmp_path).start_run(make_run("b"))
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_what_a_killed_process_left_in_the_log_is_read_too(tmp_path: Path) -> None:
    store, copy = RunStore(tmp_path / "home"), tmp_path / "copy"
    with closing(sqlite3.connect(store.database.path)) as held_open:
        held_open.execute("SELECT count(*) FROM runs").fetchone()
        store.start_run(make_run("in the log"))
        # As it stands on disk: the record is in the log alone.
        shutil.copytree(store.home, copy)
    assert (copy / "store.sqlite-wal").stat().st_size > 0
    with read_only(copy):
        assert listed(copy) == ["in the log"]
    assert listed(copy) == ["in the log"]


def test_no_store_and_no_leave_to_make_one(tmp_path: Path) -> None:
    with read_only(tmp_path):
        found = CliRunner().invoke(app, ["runs", "list", "--home", str(tmp_path / "home")])
    assert found.exit_code == 3
    (line,) = found.stderr.splitlines()
    assert "the run store cannot be written: make its folder writable" in line


def test_an_older_store_must_be_migrated_elsewhere(tmp_path: Path) -> None:
    Database(tmp_path / "store.sqlite", MIGRATIONS[:2])
    with read_only(tmp_path), pytest.raises(ReadOnlyStoreError, match=r"older checkout.*copy"):
        RunStore(tmp_path)
    RunStore(tmp_path)
