"""The moments at which trouble hurts most: around each write that must survive it.

Every pass of one is counted, and at the n-th the process can be told to die, or its disk to fill.
"""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evaluators.api import Outcome
from runs import files
from runs.database import Database
from runs.ledger import Ledger
from tests.agent.judge import DiaryJudge

FILLER = "filler"


class Points:
    """Counts the points that this process passed, and makes trouble at one of them."""

    def __init__(self, at: int, trouble: Callable[[], None]) -> None:
        self.passed = 0
        self._at = at
        self._trouble = trouble
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self.passed += 1
            if self.passed == self._at:
                self._trouble()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fill(folder: Path, left_bytes: int = 0) -> None:
    """Leave no more than `left_bytes` of room where `folder` lies."""
    with (folder / FILLER).open("ab", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                size //= 2
        file.truncate(max(0, file.tell() - left_bytes))


class SlowJudge(DiaryJudge):
    """A judge that takes its time, with points before it, and between verdict and record."""

    def __init__(self, diary: Path, point: Callable[[], None], judge_s: float) -> None:
        super().__init__(diary)
        self._point = point
        self._judge_s = judge_s

    def judge(self, *args: Any, **kwargs: Any) -> Outcome:
        self._point()
        time.sleep(self._judge_s)
        outcome = super().judge(*args, **kwargs)
        self._point()
        return outcome


def install(at: int, trouble: Callable[[], None]) -> Points:
    """Put points around this process's durable writes."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    point = Points(at, trouble)
    begin = Database.write

    @contextmanager
    def write(self: Database) -> Iterator[sqlite3.Connection]:
        with begin(self) as connection:
            yield connection
            point()
        point()

    write_synced, sync_folder = files._write_synced, files._sync_folder

    def half_written(path: Path, data: bytes, mode: int | None) -> None:
        path.write_bytes(data[: len(data) // 2])
        point()
        path.unlink()
        write_synced(path, data, mode)
        point()

    def renamed(folder: Path) -> None:
        point()
        sync_folder(folder)

    Database.write = write  # type: ignore[method-assign]
    files._write_synced = half_written
    files._sync_folder = renamed
    for owner, name in (
        (Ledger, "log_intent"),
        (Ledger, "store_reply"),
        (Ledger, "settle_intent"),
        (SqliteSaver, "put"),
        (SqliteSaver, "put_writes"),
    ):
        setattr(owner, name, _between(getattr(owner, name), point))
    return point


def _between(method: Callable[..., Any], point: Callable[[], None]) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        point()
        result = method(*args, **kwargs)
        point()
        return result

    return wrapped
