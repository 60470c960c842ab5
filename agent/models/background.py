"""One event loop in a thread of its own, where requests are sent and can be broken off.

litellm keeps its connections by event loop: a loop of each request's own would leave them behind.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

GRACE_S = 5.0
"""How much longer than its limit a request is waited for: something in it blocks the loop."""

_lock = threading.Lock()
_started: list[asyncio.AbstractEventLoop] = []


def finish[T](work: Coroutine[Any, Any, T], *, within_s: float) -> T:
    """Run a coroutine to its end and return what it returns.

    Raises:
        TimeoutError: it took longer; it was cancelled, and its connection closed.
    """
    future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, within_s), _loop())
    try:
        return future.result(within_s + GRACE_S)
    finally:
        # Also on Ctrl-C: nobody will read the answer.
        future.cancel()


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        if not _started:
            loop = asyncio.new_event_loop()
            # What becomes of a request that was broken off may hold its headers: it is not told.
            loop.set_exception_handler(lambda *_: None)
            threading.Thread(target=loop.run_forever, name="models", daemon=True).start()
            _started.append(loop)
        return _started[0]
