"""A run's checkpoints, its one process at a time, and how it breaks off."""

from __future__ import annotations

import contextlib
import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from agent.errors import RunBusyError
from runs.errors import RunStoreError
from runs.faults import NO_LEAVE, NO_SPACE, of_sqlite, of_system
from runs.identity import utc_now
from runs.store import RunStore


def checkpoint_path(store: RunStore, run_id: str) -> Path:
    """The file in which langgraph remembers where a run stands."""
    return store.home / "checkpoints" / f"{run_id}.sqlite"


@contextmanager
def held(store: RunStore, run_id: str) -> Iterator[None]:
    """Hold a run for this process; the lock goes with the process, however it ends.

    Raises:
        RunBusyError: another process holds it.
        InfrastructureError: its folder cannot be written.
    """
    path = checkpoint_path(store, run_id).with_suffix(".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        raise of_system(error, f"the lock of run {run_id}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunBusyError(
                f"another process is working on run {run_id}: wait for it, or stop it"
            ) from error
        yield


@contextmanager
def failing_cleanly(store: RunStore, run_id: str) -> Iterator[None]:
    """A run that breaks off says so in the store, as far as the store can still be written.

    Raises:
        InfrastructureError: for what SQLite or the file system threw.
    """
    try:
        yield
    except KeyboardInterrupt:
        _end(store, run_id, "stopped", "interrupted")
        raise
    except Exception as error:
        told = _translated(error, checkpoint_path(store, run_id))
        _end(store, run_id, "failed", str(told) or type(told).__name__)
        if told is error:
            raise
        raise told from error


def _translated(error: Exception, path: Path) -> Exception:
    # What langgraph's own file throws: the store's errors are translated where they happen.
    if isinstance(error, sqlite3.Error):
        return of_sqlite(error, path)
    if isinstance(error, OSError) and error.errno in NO_SPACE | NO_LEAVE:
        return of_system(error, Path(error.filename or "a file").name)
    return error


def _end(store: RunStore, run_id: str, state: Literal["stopped", "failed"], reason: str) -> None:
    # A run that stays open can be resumed as well: what broke it off matters more.
    with contextlib.suppress(RunStoreError):
        store.finish_run(run_id, state, at=utc_now(), reason=" ".join(reason.split()))
