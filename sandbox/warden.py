"""Removes a workbench's containers once it is dead, however it died.

The workbench starts it beside its first container: a process in a session of its own that sleeps
until the workbench has ended. Only then it asks the daemon for what the workbench still owns. It is
run by its path, without site-packages: standard library only. Where the daemon has no unix socket
or the kernel no pidfd there is none, and the next start of a workbench clears up.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import select
import socket
import sys
import threading
import time
from urllib.parse import quote

logger = logging.getLogger(__name__)

_ASK_TIMEOUT_S = 60
_GIVE_UP_S = 600.0
_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0
# A request of the dead may still be under way within the daemon when its containers are counted.
_LOOKS = 3
_lock = threading.Lock()
_watched: set[tuple[int, str]] = set()


def watch(label: str, unix_socket: str | None) -> None:
    """See that a warden watches over this process's containers at one daemon.

    Args:
        label: `name=value` that the containers of this process carry, and no others.
        unix_socket: the daemon's; None where it has none.
    """
    key = (os.getpid(), unix_socket or "")
    with _lock:
        if unix_socket is None or key in _watched or not hasattr(os, "pidfd_open"):
            return
        _watched.add(key)
    null = ((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3))
    command = [sys.executable, "-I", "-S", __file__, str(os.getpid()), label, unix_socket]
    try:
        os.posix_spawn(sys.executable, command, {}, file_actions=list(null), setsid=True)
    except (OSError, NotImplementedError) as error:
        logger.warning("containers will not be watched over: %s", error)


class _Connection(http.client.HTTPConnection):
    def __init__(self, unix_socket: str) -> None:
        super().__init__("localhost", timeout=_ASK_TIMEOUT_S)
        self._unix_socket = unix_socket

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_ASK_TIMEOUT_S)
        self.sock.connect(self._unix_socket)


def ask(unix_socket: str, method: str, path: str) -> bytes:
    """The body of the daemon's answer, whatever its status.

    Raises:
        OSError, HTTPException: it gives none.
    """
    connection = _Connection(unix_socket)
    try:
        connection.request(method, path)
        return connection.getresponse().read()
    finally:
        connection.close()


def remove_all(label: str, unix_socket: str) -> int:
    """Remove every container with a label; returns how many there were.

    Raises:
        OSError, HTTPException, ValueError: the daemon does not answer as it should.
    """
    filters = quote(json.dumps({"label": [label]}))
    found = json.loads(ask(unix_socket, "GET", f"/containers/json?all=1&filters={filters}"))
    for container in found:
        ask(unix_socket, "DELETE", f"/containers/{container['Id']}?force=1&v=1")
    return len(found)


def _wait_for_end(pid: int) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return
    # Once its parent is dead this process has another, and the pid may be somebody else's.
    if os.getppid() == pid:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll()


def main(pid: int, label: str, unix_socket: str) -> None:
    os.chdir("/")
    _wait_for_end(pid)
    until, pause_s, clean = time.monotonic() + _GIVE_UP_S, _PAUSE_S, 0
    while clean < _LOOKS and time.monotonic() < until:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError, TypeError):
            clean = clean + 1 if remove_all(label, unix_socket) == 0 else 0
            pause_s = _PAUSE_S / 2
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
