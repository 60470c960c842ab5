"""Ctrl-C on a run: break off at once where that is possible, say so where it is not.

What is in flight, a paid request above all, is waited for: its reply is stored and paid for once. A
second Ctrl-C leaves it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from agent.cli.failures import ExitCode

PATIENCE_S = 1.0


@contextmanager
def breaking_off(say: Callable[[str], None], last_words: Callable[[], str]) -> Iterator[None]:
    """Turn the first Ctrl-C into `KeyboardInterrupt` and the second into the end of the process.

    Args:
        say: shows one line, should the first take a while.
        last_words: the one line of the second.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            _leave(last_words())
        asked.set()
        timer = threading.Timer(PATIENCE_S, say, [WAITING])
        timer.daemon = True
        timer.start()
        timers.append(timer)
        raise KeyboardInterrupt

    timers: list[threading.Timer] = []
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    except Exception as error:
        if asked.is_set():
            # Whatever came of breaking off, Ctrl-C is why.
            raise KeyboardInterrupt from error
        raise
    finally:
        for timer in timers:
            timer.cancel()
        # After a Ctrl-C threads may still be at work when the process ends: the second one counts.
        if not asked.is_set():
            signal.signal(signal.SIGINT, before)


def _leave(words: str) -> None:
    stream = sys.__stderr__
    if stream is not None:
        # A live display has hidden the cursor, and is not asked to tidy up.
        shown = "\x1b[?25h\n" if stream.isatty() else ""
        stream.write(f"{shown}kernelwright: {words}\n")
        stream.flush()
    os._exit(ExitCode.INTERRUPTED)


WAITING = "stopping when what is in flight has come back; Ctrl-C again leaves at once"
