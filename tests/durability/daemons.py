"""A Docker daemon of the test's own, which it may stop and start without disturbing anybody."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox import warden

UP_S = 60.0


class OwnDaemon:
    """`dockerd` in a folder of its own, without network and image store but for what is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"unix://{self._folder}/d.sock"

    def start(self) -> None:
        command = [
            "dockerd",
            *("--host", self.address),
            *("--data-root", str(self._folder / "data")),
            *("--exec-root", str(self._folder / "exec")),
            *("--pidfile", str(self._folder / "pid")),
            # It may share a containerd with the machine's daemon.
            *("--containerd-namespace", self._folder.name),
            *("--containerd-plugins-namespace", f"{self._folder.name}-plugins"),
            *("--bridge=none", "--iptables=false", "--storage-driver=vfs"),
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        deadline_s = time.monotonic() + UP_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                self.stop()
                told = (self._folder / "log").read_text(errors="replace").splitlines()
                pytest.skip(f"no second Docker daemon starts here: {' '.join(told[-1:])[:300]}")
            time.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def _answers(self) -> bool:
        # Not by the SDK, which leaks a socket for every connection that fails.
        with contextlib.suppress(OSError, http.client.HTTPException):
            return warden.ask(f"{self._folder}/d.sock", "GET", "/_ping") == b"OK"
        return False


@contextmanager
def own_daemon() -> Iterator[OwnDaemon]:
    """A running daemon. Starting one takes root."""
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("a second Docker daemon needs root and dockerd")
    # Short: the path of a socket has room for a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="kw-", dir="/tmp"))
    daemon = OwnDaemon(folder)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.stop()
        _unmount_below(folder)
        shutil.rmtree(folder)


def _unmount_below(folder: Path) -> None:
    """The daemon leaves its data mounted on itself, and a killed one its containers' networks."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for path in sorted(mounts, reverse=True):
        if path.startswith(f"{folder}/"):
            subprocess.run(["umount", "--lazy", path], check=True)
