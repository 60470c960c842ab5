"""The live panel of a run: what is running, the best so far, and every cap with what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.cli.events import name_of, ratio_text
from agent.cli.output import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from agent.cli.standing import Standing

BAR_COLUMNS = 24
NEARLY_USED = 0.9


class RunPanel:
    """Draws a `Standing` anew at each refresh."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing

    def __rich__(self) -> RenderableType:
        from rich import box
        from rich.console import Group
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        standing = self._standing
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="ellipsis", no_wrap=True)
        grid.add_row("now", Text(_elapsed(standing)), Text(_line(_doing(standing))))
        grid.add_row(
            "best", Text(_best(standing), style=_best_style(standing)), Text(_of(standing))
        )
        capped, free = _budget(standing)
        for name, used, cap, numbers in capped:
            grid.add_row(name, _bar(used, cap), numbers)
        parts: list[Any] = [grid]
        if free:
            parts.append(Text(f"spent  {', '.join(free)}", no_wrap=True, overflow="ellipsis"))
        return Panel(
            Group(*parts),
            title=Text(_line(_title(standing))),
            title_align="left",
            subtitle=Text("Ctrl-C stops it; what was found is kept"),
            subtitle_align="left",
            box=box.ROUNDED,
        )


def _title(standing: Standing) -> str:
    parts = [f"run {standing.run}" if standing.run else "a new run", standing.title]
    if standing.round:
        most = f"/{standing.rounds}" if standing.rounds is not None else ""
        parts.append(f"round {standing.round}{most}")
    return ", ".join(part for part in parts if part)


def _doing(standing: Standing) -> str:
    if standing.number is None:
        return standing.doing
    return f"{name_of(standing.number)} {standing.doing}"


def _elapsed(standing: Standing) -> str:
    now = standing.clock()
    text = duration(now - standing.doing_since)
    if standing.number is not None and standing.number_since < standing.doing_since:
        text += f" of {duration(now - standing.number_since)}"
    return text


def _best(standing: Standing) -> str:
    best = standing.best
    return ratio_text(best.ratio, best.low, best.high).strip() if best else "nothing faster yet"


def _best_style(standing: Standing) -> str:
    return "green" if standing.best else ""


def _of(standing: Standing) -> str:
    best = standing.best
    if best is None:
        return ""
    number = f"#{best.number}, " if best.number is not None else ""
    return f"{number}{best.tier} tier"


def _budget(standing: Standing) -> tuple[list[tuple[str, float, float, str]], list[str]]:
    """Caps as (name, used, cap, numbers), and what is used of what has no cap."""
    spent, budget = standing.spent, standing.budget
    if spent is None:
        return [], []
    texts = {
        "dollars": ("dollars", spent.dollars, lambda n: f"${n:,.2f}"),
        "tokens": ("tokens", spent.tokens, lambda n: f"{n:,.0f}"),
        "device_s": ("device", spent.device_s, duration),
        "wall_s": ("wall", standing.wall_s, duration),
        "candidates": ("candidates", spent.candidates, lambda n: f"{n:.0f}"),
    }
    capped, free = [], []
    for key, (name, used, text) in texts.items():
        cap = getattr(budget, key, None)
        if cap is None:
            free.append(f"{name} {text(used)}")
        else:
            capped.append((name, used, cap, f"{text(used)} of {text(cap)}"))
    if spent.dollars_unknown:
        free.append(f"{spent.dollars_unknown} requests of unknown price")
    return capped, free


def _bar(used: float, cap: float) -> RenderableType:
    from rich.progress_bar import ProgressBar

    # A cap of 0 is used up before anything is spent.
    total = cap or 1.0
    completed = min(used, cap) if cap else 1.0
    style = "red" if completed >= NEARLY_USED * total else "cyan"
    return ProgressBar(
        total=total,
        completed=completed,
        width=BAR_COLUMNS,
        complete_style=style,
        finished_style=style,
    )


def _line(text: str) -> str:
    return " ".join(printable(text).split())


def duration(seconds: float) -> str:
    """`42 s`, `3:05`, `1:02:03`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
