"""A kept trace opens in XProf: through its converter, and in its server as `trace` says to."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import os
import shlex
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from evaluators.api import Outcome
from evaluators.inside.operations import top_operations
from evaluators.inside.profile import runs, traced
from runs.store import RunStore
from runs.traces import export_trace

RUN, HOST = "abc-1", "host"
START_LIMIT_S = 60


@pytest.fixture(scope="module")
def trace() -> bytes:
    """A real profile of an exported program with a loop in it."""
    x = jax.random.normal(jax.random.key(0), (64, 64))
    loop = jax.jit(lambda a: jax.lax.fori_loop(0, 3, lambda _, c: jnp.tanh(c @ c), a).sum(0))
    program = jax.jit(jax.export.export(loop)(x).call).lower(x).compile()
    return traced([("a", lambda: jax.block_until_ready(program(x)))] * 3).trace


@pytest.fixture(scope="module")
def operations(trace: bytes) -> set[str]:
    found = {o.name for o in top_operations(trace, runs(trace)[0].program_id)}
    assert any(name.startswith("while") for name in found)
    return found


@pytest.fixture
def folder(store: RunStore, trace: bytes, tmp_path: Path) -> Path:
    export_trace(store, store.blobs.put(trace), tmp_path / "traces", run_name=RUN, host=HOST)
    return tmp_path / "traces"


def event_names(trace_viewer: bytes) -> set[str]:
    """Names of the complete events in the trace viewer's JSON."""
    events = json.loads(trace_viewer)["traceEvents"]
    return {event["name"] for event in events if event.get("ph") == "X"}


def converted(folder: Path, tool: str) -> bytes:
    """XProf's own conversion, in a process of its own: its native code never meets jaxlib's."""
    script = (
        "import sys\n"
        "from xprof.convert.raw_to_tool_data import xspace_to_tool_data\n"
        "data, _ = xspace_to_tool_data([sys.argv[1]], sys.argv[2], {'use_saved_result': False})\n"
        "sys.stdout.buffer.write(data if isinstance(data, bytes) else data.encode())"
    )
    file = folder / "plugins" / "profile" / RUN / f"{HOST}.xplane.pb"
    command = [sys.executable, "-c", script, str(file), tool]
    return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout


def test_the_trace_viewer_shows_every_operation(folder: Path, operations: set[str]) -> None:
    assert operations <= event_names(converted(folder, "trace_viewer"))


def test_the_table_of_operations_opens(folder: Path) -> None:
    """On a CPU it has idle time alone: no device plane. That it opens is what is asked."""
    table = json.loads(converted(folder, "framework_op_stats"))[0]
    assert "total_self_time" in [column["id"] for column in table["cols"]]
    assert table["rows"]


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return ports


class Page:
    """XProf's page, asked over loopback."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str, **query: str) -> bytes:
        connection = http.client.HTTPConnection("localhost", self.port, timeout=60)
        try:
            connection.request("GET", f"{path}?{urllib.parse.urlencode(query)}")
            reply = connection.getresponse()
            body = reply.read()
            assert reply.status == 200, (reply.status, body[:500])
            return gzip.decompress(body) if reply.headers["Content-Encoding"] == "gzip" else body
        finally:
            connection.close()

    def data(self, path: str, **query: str) -> bytes:
        return self.get(f"/data/plugin/profile/{path}", **query)


@pytest.fixture
def command(store: RunStore, make: Any, trace: bytes, tmp_path: Path) -> list[str]:
    """What `kernelwright trace` says to run for a verdict with this trace."""
    candidate = make.candidate()
    verdict = make.verdict(candidate, traces=(hashlib.sha256(trace).hexdigest(),))
    outcome = Outcome(verdict, (make.build(candidate),), {verdict.traces[0]: trace})
    store.record_candidate(candidate)
    store.record_outcome(outcome, incumbent=candidate)
    words = ["trace", verdict.digest[:12], "--out", str(tmp_path / "my traces")]
    done = subprocess.run(
        [sys.executable, "-m", "agent.cli", *words, "--home", str(store.home), "--json"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return shlex.split(json.loads(done.stdout)["open"])


@pytest.fixture
def page(command: list[str], tmp_path: Path) -> Iterator[Page]:
    """The server of that command, on ports of our own; gone afterwards."""
    port, grpc_port = free_ports(2)
    assert command[-2] == "--port"
    command = [*command[:-1], str(port), "--grpc_port", str(grpc_port)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    log = tmp_path / "xprof.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, "PATH": path}, stdout=out, stderr=out
        )
    try:
        give_up = time.monotonic() + START_LIMIT_S
        while True:
            assert server.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < give_up, log.read_text(errors="replace")
            try:
                Page(port).get("/")
                break
            except OSError:
                time.sleep(0.1)
        yield Page(port)
    finally:
        server.kill()
        server.wait()


def test_the_command_that_trace_prints_serves_the_trace(page: Page, operations: set[str]) -> None:
    [run] = json.loads(page.data("runs"))
    tools = json.loads(page.data("run_tools", run=run))
    [viewer] = [tool for tool in tools if tool.startswith("trace_viewer")]
    [host] = [found["hostname"] for found in json.loads(page.data("hosts", run=run, tag=viewer))]
    for tool in ("trace_viewer", viewer):
        assert operations <= event_names(page.data("data", run=run, tag=tool, host=host))
    table = json.loads(page.data("data", run=run, tag="framework_op_stats", host=host))
    assert table[0]["rows"]
