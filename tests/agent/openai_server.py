"""A real HTTP server on loopback that speaks as much of the OpenAI chat protocol as a test needs.

with serving([text("hello"), status(429)]) as server:
    server.base_url, server.requests
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Scripted:
    """One answer: a status with a body, after a delay in seconds."""

    code: int
    body: dict[str, Any]
    delay_s: float = 0.0


def text(
    content: str, *, tokens_in: int = 100, tokens_out: int = 20, finish: str = "stop",
    delay_s: float = 0.0,
) -> Scripted:  # fmt: skip
    """A chat completion."""
    return Scripted(
        200,
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": content},
                    "finish_reason": finish,
                }
            ],
            "usage": {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
            },
        },
        delay_s,
    )


def status(code: int, message: str = "scripted error") -> Scripted:
    """An error as the protocol words it."""
    return Scripted(code, {"error": {"message": message, "type": "scripted", "code": None}})


@dataclass
class Server:
    """A running server.

    Attributes:
        requests: bodies of the requests, in the order they came in.
        keys: their authorization headers.
    """

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@contextmanager
def serving(script: Sequence[Scripted], *, repeat_last: bool = True) -> Iterator[Server]:
    """Serve the scripted answers in order, the last one for ever (else status 500 after it)."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = json.loads(self.rfile.read(length))
            with lock:
                index = len(server.requests)
                server.requests.append(body)
                server.keys.append(self.headers.get("Authorization", ""))
            if index >= len(script) and not repeat_last:
                answer = status(500, "the script is over")
            else:
                answer = script[min(index, len(script) - 1)]
            time.sleep(answer.delay_s)
            data = json.dumps(answer.body).encode()
            try:
                self.send_response(answer.code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                # The client was killed: that is what some tests are about.
                pass

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = Server(f"http://127.0.0.1:{http.server_address[1]}/v1")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
