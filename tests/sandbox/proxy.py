"""A proxy in front of a unix socket that a test can cut, as when a daemon dies."""

import contextlib
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Self


class SocketProxy:
    """Relays connections to ``target`` until `cut`; from then on nothing answers."""

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        self._target = target
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()

    def cut(self) -> None:
        """Close every connection and the listener, and wait for the relays to end."""
        self.path.unlink(missing_ok=True)
        for item in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for item in (self._listener, *self._sockets):
            item.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._target)
            self._sockets += [near, far]
            for source, sink in ((near, far), (far, near)):
                thread = threading.Thread(target=_relay, args=(source, sink))
                self._threads.append(thread)
                thread.start()


def _relay(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
