"""Real processes at work on runs, cheap to start and to kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from evaluators.policy import repository_root
from tests.durability.worker import Job


class Zygote:
    """A process that has imported everything and forks one for each job."""

    def __init__(self) -> None:
        kept = {name: value for name, value in os.environ.items() if "_API_" not in name}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.durability.worker"],
            cwd=repository_root(),
            env={**kept, "JAX_PLATFORMS": "cpu"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        try:
            self._answer()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def start(self, job: Job) -> int:
        """The pid of a process at work on `job`; it must be waited for."""
        return self._ask(start=asdict(job))["pid"]

    def wait(self, pid: int) -> int:
        """The exit code of a process; minus the signal that killed it."""
        return self._ask(wait=pid)["code"]

    def run(self, job: Job) -> int:
        return self.wait(self.start(job))

    def run_killed(self, job: Job, after_s: float) -> int:
        """Run `job`, and kill it after a while unless it has ended by then."""
        pid = self.start(job)
        time.sleep(after_s)
        # It is not waited for yet, so the pid is still its own.
        os.kill(pid, signal.SIGKILL)
        return self.wait(pid)

    def _ask(self, **order: Any) -> dict[str, Any]:
        with self._lock:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the zygote died"
        return json.loads(line)


def said(job: Job) -> str:
    """What a process wrote to standard error."""
    return (Path(job.folder) / f"stderr{job.name}").read_text()
