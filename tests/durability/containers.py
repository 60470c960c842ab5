"""Containers of a workbench, as the daemon sees them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import docker


@dataclass(frozen=True)
class Containers:
    """Those of one process at one daemon, whatever state they are in."""

    client: docker.DockerClient
    pid: int

    def all(self) -> list[dict[str, Any]]:
        found = self.client.api.containers(all=True, filters={"label": "kernelwright=1"})
        return [
            c for c in found if c["Labels"]["kernelwright.owner"].split(".")[2] == str(self.pid)
        ]

    def running(self, job: str) -> bool:
        """Whether one is at work on a kind of job."""
        return any(
            c["State"] == "running" and c["Labels"]["kernelwright.job"] == job for c in self.all()
        )


def until(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    """Wait for `condition()`."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, f"it never came about that {what}"
        time.sleep(0.02)
