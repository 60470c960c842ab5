"""No container outlives its workbench, though nobody starts another."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import docker
import pytest

pytestmark = pytest.mark.docker

SLEEPER = """
import sandbox
from sandbox.testing import python
sandbox.open_backend("docker").run(python("import time; time.sleep(43)"))
"""
CREATED_ONLY = f"""
from docker import APIClient
APIClient.start = lambda *_: __import__("time").sleep(44)
{SLEEPER}
"""


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    found = docker.from_env()
    yield found
    found.close()


def owned(client: docker.DockerClient, pid: int) -> list[str]:
    """States of the containers of a process."""
    found = client.api.containers(all=True, filters={"label": "kernelwright=1"})
    return [
        c["State"] for c in found if c["Labels"]["kernelwright.owner"].split(".")[2] == str(pid)
    ]


def until(condition: Callable[[], bool], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.05)


@pytest.mark.parametrize(("code", "state"), [(SLEEPER, "running"), (CREATED_ONLY, "created")])
def test_a_killed_workbench_leaves_no_container(
    client: docker.DockerClient, code: str, state: str
) -> None:
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        until(lambda: owned(client, child.pid) == [state], 60)
    finally:
        # The whole group, as a terminal or a job queue would: the warden is not in it.
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    until(lambda: not owned(client, child.pid), 10)
