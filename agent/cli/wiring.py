"""The parts that a verb works with, opened late and in one place."""

from __future__ import annotations

import contextlib
import getpass
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent.cli.options import BackendName

if TYPE_CHECKING:
    from evaluators.evaluator import Evaluator
    from runs.store import RunStore


def checkout() -> Path:
    """The checkout that promotions land in: the one that this runs from."""
    from evaluators.policy import repository_root

    return repository_root()


def store(home: Path | None) -> RunStore:
    from runs.home import data_home
    from runs.store import RunStore

    return RunStore(data_home({"KERNELWRIGHT_HOME": str(home)} if home else None))


@contextlib.contextmanager
def screening(backend: BackendName) -> Iterator[Evaluator]:
    """A judge for a run: it keeps sandboxes ready for the next candidate, and none in the end."""
    with contextlib.closing(evaluator(backend, ready=True)) as judge:
        yield judge


def evaluator(backend: BackendName, *, ready: bool = False) -> Evaluator:
    """A judge over a backend that answers; says what to do when it does not."""
    import sandbox
    from evaluators.evaluator import Evaluator
    from evaluators.policy import Policy

    opened = sandbox.open_backend(backend.value)
    opened.check()
    # What the shipped implementations lower to is remembered; candidates never are.
    return Evaluator(opened, Policy(), cache=checkout() / ".cache" / "shipped", ready=ready)


def reviewer() -> str:
    """Who decides: git's user, else the login name."""
    import subprocess

    asked = subprocess.run(
        ["git", "config", "user.name"], capture_output=True, text=True, cwd=checkout(), check=False
    )
    return asked.stdout.strip() or getpass.getuser()


def now() -> datetime:
    return datetime.now(UTC)


def head_commit() -> str:
    """The checkout's commit, empty where there is none."""
    import subprocess

    asked = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=checkout(), check=False
    )
    return asked.stdout.strip() if asked.returncode == 0 else ""
