"""What a run says while it goes, as lines on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli.output import short
from agent.cli.progress import Progress

if TYPE_CHECKING:
    from agent.cli.standing import Standing
    from agent.events import Event


class Reporter:
    """A listener for `agent.run`: one line an event, and a `Standing` kept up to date."""

    def __init__(self, progress: Progress, standing: Standing | None = None) -> None:
        self._progress = progress
        self._standing = standing
        self.run: str | None = None

    def __call__(self, event: Event) -> None:
        from agent import events

        self.run = event.run
        if self._standing is not None:
            self._standing.see(event)
        match event:
            case events.Started():
                verb = "resumes" if event.resumed else "started"
                self._say(
                    f"run {event.run} {verb}: {event.op}/{event.implementation} on "
                    f"{event.target}, steered by {event.case}"
                )
            case events.Proposed(proposer="nobody"):
                self._say(f"#{event.number}: nobody has more to propose: {event.failure}")
            case events.Proposed(candidate=None):
                self._say(f"#{event.number} {event.proposer}: no candidate: {event.failure}")
            case events.Proposed():
                self._say(f"#{event.number} {event.proposer}: {_first_line(event.rationale)}")
            case events.Duplicate():
                same = "the incumbent" if event.of is None else f"#{event.of}"
                self._say(f"#{event.number} is the same program as {same}; not judged again")
            case events.Waiting():
                self._say(f"{name_of(event.number)} waits {event.pause_s:.0f} s: {event.reason}")
            case events.Judged():
                self._say(
                    f"{name_of(event.number)} {event.tier}: {event.status}"
                    f"{ratio_text(event.ratio, event.low, event.high)}: {event.reason}"
                )
            case events.RoundDone():
                best = "nothing faster yet"
                if event.best_ratio is not None:
                    best = f"best screened x{event.best_ratio:.3f}"
                self._say(f"round {event.round} of at most {event.rounds} done: {best}")
            case events.Confirming():
                names = ", ".join(short(digest) for digest in event.candidates)
                self._say(f"confirming at the promotion tier: {names}")
            case events.Finished():
                self._say(f"run {event.run} {event.status.replace('_', ' ')}: {event.why}")

    def _say(self, line: str) -> None:
        self._progress.say(line)


def name_of(number: int) -> str:
    """`#3`, or the incumbent."""
    from agent.events import INCUMBENT

    return "incumbent" if number == INCUMBENT else f"#{number}"


def ratio_text(ratio: float | None, low: float | None, high: float | None) -> str:
    """` x1.083 [1.051, 1.117]`, or nothing where nothing was timed."""
    if ratio is None:
        return ""
    interval = f" [{low:.3f}, {high:.3f}]" if low is not None and high is not None else ""
    return f" x{ratio:.3f}{interval}"


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no rationale")
