"""Standard error: a live display on a terminal, one line an event elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

from agent.cli.interrupt import breaking_off
from agent.cli.output import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

# Drawing takes processor time, which belongs to whatever is being timed.
REFRESHES_PER_S = 2


class Progress:
    """Shows what is going on. `say` leaves a line behind, `stage` changes what the bar says.

    Without a terminal a stage is a line of its own, unless `stage_lines` is false. A quiet one
    shows nothing at all.
    """

    def __init__(self, *, stage_lines: bool = True, quiet: bool = False) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False, markup=False, quiet=quiet)
        self._live = self._console.is_terminal and not quiet
        self._stage_lines = stage_lines
        self._bar = None
        self._task = None
        self._started = time.monotonic()
        self._last = ""

    def say(self, text: str) -> None:
        line = " ".join(printable(text).split())
        self._console.print(f"[{time.monotonic() - self._started:6.1f} s] {line}", soft_wrap=True)

    def stage(self, text: str) -> None:
        """Called with each stage's name as it begins; repeats are swallowed."""
        if text == self._last:
            return
        self._last = text
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=printable(text))
        elif self._stage_lines and not self._live:
            self.say(text)

    def advance(self, done: float, total: float | None = None) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)

    @contextmanager
    def running(self, title: str, total: float | None = None) -> Iterator[Progress]:
        """Show a bar while the block runs: a fraction if `total` is known, else a pulse."""
        with self._working(lambda: "interrupted"):
            if not self._live:
                self.stage(title)
                yield self
                return
            from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (
                SpinnerColumn(),
                BarColumn(bar_width=24),
                TimeElapsedColumn(),
                TextColumn("{task.description}", markup=False),
            )
            with Bar(*columns, console=self._console, transient=True) as bar:
                self._bar, self._task = bar, bar.add_task(title, total=total)
                try:
                    yield self
                finally:
                    self._bar = self._task = None

    @contextmanager
    def showing(self, drawing: RenderableType, last_words: Callable[[], str]) -> Iterator[Progress]:
        """Keep `drawing` below the lines that are said, as long as the block runs.

        Args:
            last_words: what is left to say when Ctrl-C comes twice.
        """
        with self._working(last_words):
            if not self._live:
                yield self
                return
            from rich.live import Live

            with Live(
                drawing,
                console=self._console,
                transient=True,
                refresh_per_second=REFRESHES_PER_S,
            ):
                yield self

    @contextmanager
    def _working(self, last_words: Callable[[], str]) -> Iterator[None]:
        # Standard output is for the result alone, whatever a library has to say meanwhile.
        with breaking_off(self.say, last_words), redirect_stdout(sys.stderr):
            yield


def warn(text: str) -> None:
    """One line of warning."""
    print(f"kernelwright: {' '.join(printable(text).split())}", file=sys.stderr)
