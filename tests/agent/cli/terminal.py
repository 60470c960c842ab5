"""A program on a terminal of its own: what it draws, and keys to press."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07|[()][A-Z0-9])")


class Terminal:
    """A child whose three streams are a terminal of a given size."""

    def __init__(
        self,
        command: list[str],
        *,
        environment: Mapping[str, str],
        cwd: Path,
        columns: int = 150,
        rows: int = 50,
    ) -> None:
        self.raw = ""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        without_size = {k: v for k, v in environment.items() if k not in ("COLUMNS", "LINES")}
        self._ours = ours
        # In a session of its own the first terminal that it opens is where Ctrl-C comes from.
        self._child = subprocess.Popen(
            ["sh", "-c", 'exec "$@" <"$0"', os.ttyname(theirs), *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={**os.environ, **without_size, "TERM": "xterm-256color", "PAGER": "cat"},
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait()
        os.close(self._ours)

    @property
    def text(self) -> str:
        """Everything drawn so far, without escape sequences."""
        return ESCAPE.sub("", self.raw).replace("\r", "")

    def wait_for(self, words: str, seconds: float = 60.0, *, times: int = 1) -> None:
        deadline = time.monotonic() + seconds
        while self.text.count(words) < times:
            assert time.monotonic() < deadline, self.text
            assert self._read(0.2) or self.text.count(words) >= times, self.text

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self, seconds: float = 60.0) -> int:
        """Read to the end; the exit code."""
        deadline = time.monotonic() + seconds
        while self._read(0.2):
            assert time.monotonic() < deadline, self.text
        return self._child.wait(timeout=seconds)

    def _read(self, seconds: float) -> bool:
        """False at the end of what the child has to say."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._ours, 1 << 16)
        except OSError:
            return False
        self.raw += data.decode(errors="replace")
        return bool(data)


def canned(*words: str) -> list[str]:
    """The command line over a canned judge: `status`, `seconds`, then a verb."""
    return [sys.executable, "-m", "tests.agent.cli.canned", *words]
