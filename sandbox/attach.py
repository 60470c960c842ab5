"""The channel to a container: its stdin and stdout over one attached connection."""

import contextlib
import socket
import struct
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

import docker

from sandbox.frames import EndOfStream, FrameError, Read

_STDOUT, _STDERR = 1, 2
_DIAGNOSTIC_BYTES = 16 * 1024
_CHUNK_BYTES = 1 << 20


class Channel:
    """Stdin and stdout of a container that is about to start; closing it ends the shim.

    Docker multiplexes: 8 bytes of header (stream, three zeros, length) before every piece.
    Standard error is what the shim says when it fails; it is kept apart and capped.
    """

    def __init__(self, client: docker.DockerClient, container: str) -> None:
        parameters = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        self._stream: Any = client.api.attach_socket(container, params=parameters)
        self._socket: socket.socket = self._stream._sock
        self._left = 0
        self.diagnostics = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Wakes a read of another thread, which a mere close would not.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._stream._response.close()
        self._stream.close()
        self._socket.close()

    def send(self, frames: Iterable[bytes], deadline: float) -> None:
        """Write ``frames``; raises `TimeoutError` at ``deadline`` (monotonic seconds)."""
        for frame in frames:
            self._socket.settimeout(_time_left(deadline))
            self._socket.sendall(frame)

    def reader(self, deadline: float) -> Read:
        """A ``read(n)`` of exactly n bytes of stdout; `TimeoutError` at ``deadline``."""

        def read(size: int) -> bytes:
            parts: list[bytes] = []
            while size:
                if not self._left:
                    self._next_piece(deadline)
                    continue
                part = self._receive(min(size, self._left), deadline)
                self._left -= len(part)
                size -= len(part)
                parts.append(part)
            return b"".join(parts)

        return read

    def _next_piece(self, deadline: float) -> None:
        header = self._receive_exactly(8, deadline)
        stream, zeros, length = struct.unpack(">B3sI", header)
        if zeros != b"\0\0\0" or stream not in (_STDOUT, _STDERR):
            raise FrameError("the daemon's stream is out of step")
        if stream == _STDOUT:
            self._left = length
            return
        while length:
            part = self._receive(length, deadline)
            length -= len(part)
            self.diagnostics = (self.diagnostics + part)[-_DIAGNOSTIC_BYTES:]

    def _receive_exactly(self, size: int, deadline: float) -> bytes:
        data = b""
        while len(data) < size:
            data += self._receive(size - len(data), deadline)
        return data

    def _receive(self, size: int, deadline: float) -> bytes:
        self._socket.settimeout(_time_left(deadline))
        data = self._socket.recv(min(size, _CHUNK_BYTES))
        if not data:
            raise EndOfStream("the stream ended early")
        return data


def _time_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the sandbox gave no answer in time")
    return left
