"""Where a run's checkpoints lie, and that one process at a time works on a run."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.errors import RunBusyError
from runs.store import RunStore


def checkpoint_path(store: RunStore, run_id: str) -> Path:
    """The file in which langgraph remembers where a run stands."""
    return store.home / "checkpoints" / f"{run_id}.sqlite"


@contextmanager
def held(store: RunStore, run_id: str) -> Iterator[None]:
    """Hold a run for this process; the lock goes with the process, however it ends."""
    path = checkpoint_path(store, run_id).with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunBusyError(f"another process is working on run {run_id}") from error
        yield
