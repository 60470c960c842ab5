"""A real HTTP server on loopback that speaks as much of the chat protocols as a test needs.

with serving([text("hello"), status(429)]) as server:
    server.base_url, server.requests

It can also misbehave: be late, send a byte now and then, break off, reset the connection, send
what is no JSON, or never stop sending.
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Manner = Literal["whole", "cut", "reset", "drip", "drip_headers", "endless"]
MOST_SENT = 1 << 30


@dataclass(frozen=True)
class Scripted:
    """One answer: a status with a body, after a delay in seconds.

    Attributes:
        body: JSON, or bytes that are sent as they are.
        manner: `cut` closes in the middle of the body, `reset` resets the connection before the
            answer; `drip` and `drip_headers` send a byte now and then, `endless` one block after
            another, each until the client leaves.
    """

    code: int
    body: Any
    delay_s: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()
    manner: Manner = "whole"

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def text(
    content: Any, *, tokens_in: int = 100, tokens_out: int = 20, finish: str = "stop",
    delay_s: float = 0.0, usage: dict[str, Any] | None = None, **message: Any,
) -> Scripted:  # fmt: skip
    """A chat completion; `message` holds further fields of its message."""
    counted = {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
    }
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish,
    }
    return Scripted(
        200,
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted",
            "choices": [choice],
            "usage": {**counted, **(usage or {})},
        },
        delay_s,
    )


def anthropic(content: str, *, stop: str = "end_turn", **usage: int) -> Scripted:
    """A message of Anthropic's protocol."""
    return Scripted(
        200,
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [{"type": "text", "text": content}],
            "stop_reason": stop,
            "usage": {"input_tokens": 100, "output_tokens": 20, **usage},
        },
    )


def status(code: int, message: str = "scripted error", **headers: str) -> Scripted:
    """An error as the protocol words it; `retry_after="1"` becomes a header."""
    return Scripted(
        code,
        {"error": {"message": message, "type": "scripted", "code": None}},
        headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()),
    )


def behaving(answer: Scripted, manner: Manner) -> Scripted:
    return replace(answer, manner=manner)


def zipped(answer: Scripted) -> Scripted:
    """The answer compressed, whatever the client asked for."""
    return replace(answer, body=gzip.compress(answer.data), headers=(("Content-Encoding", "gzip"),))


@dataclass
class Server:
    """A running server.

    Attributes:
        requests: bodies of the requests, in the order they came in.
        keys: their authorization headers.
        accepted: their accept-encoding headers.
        sent_bytes: of bodies that never end.
        left: set when a client went away before its answer ended.
    """

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    sent_bytes: int = 0
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def models(self) -> list[str]:
        """Names of the models that were asked."""
        return [str(body["model"]) for body in self.requests]


@contextmanager
def serving(script: Sequence[Scripted], *, repeat_last: bool = True) -> Iterator[Server]:
    """Serve the scripted answers in order, the last one for ever (else status 500 after it)."""
    lock = threading.Lock()
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = json.loads(self.rfile.read(length))
            with lock:
                index = len(server.requests)
                server.requests.append(body)
                server.keys.append(
                    self.headers.get("Authorization") or self.headers.get("x-api-key") or ""
                )
                server.accepted.append(self.headers.get("Accept-Encoding", ""))
            if index >= len(script) and not repeat_last:
                answer = status(500, "the script is over")
            else:
                answer = script[min(index, len(script) - 1)]
            over.wait(answer.delay_s)
            try:
                self.answer(answer)
            except (BrokenPipeError, ConnectionResetError):
                # The client was killed or gave up: that is what some tests are about.
                server.left.set()

        def answer(self, answer: Scripted) -> None:
            self.close_connection = answer.manner != "whole"
            if answer.manner == "reset":
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.close()
                return
            if answer.manner == "drip_headers":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                self.keep_sending(b"a", pause_s=0.02)
                return
            self.send_response(answer.code)
            self.send_header("Content-Type", "application/json")
            if answer.manner in ("whole", "cut"):
                self.send_header("Content-Length", str(len(answer.data)))
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            match answer.manner:
                case "whole":
                    self.wfile.write(answer.data)
                case "cut":
                    self.wfile.write(answer.data[: len(answer.data) // 2])
                case "drip":
                    # JSON may begin with any number of blanks.
                    self.keep_sending(b" ", pause_s=0.02)
                case _:
                    self.keep_sending(b" " * (1 << 16), pause_s=0.0)

        def keep_sending(self, block: bytes, *, pause_s: float) -> None:
            while not over.is_set() and server.sent_bytes < MOST_SENT:
                self.wfile.write(block)
                server.sent_bytes += len(block)
                time.sleep(pause_s)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = Server(f"http://127.0.0.1:{http.server_address[1]}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        over.set()
        http.shutdown()
        thread.join()
        http.server_close()
