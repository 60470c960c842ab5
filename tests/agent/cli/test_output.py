"""Tables and lines for a person: all of it is there, on any terminal, and none of it acts."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from agent.cli import output

COLUMNS = ("run", "op", "verdicts", ">best", ">spent")
ROW = ("20261130-120000-aaaa", "gated_delta_rule", "faster:2 wrong:11", "x1.100 [1.080]", "$1.25")


def drawn(width: int, rows: list[tuple[str, ...]] | None = None) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, markup=False).print(
        output.table(COLUMNS, [ROW] if rows is None else rows)
    )
    return stream.getvalue()


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 160])
def test_no_value_is_lost_on_any_width(width: int) -> None:
    text = drawn(width)
    # The other columns may fold.
    for cell in (ROW[0], ROW[3], ROW[4]):
        assert cell in text
    assert all(name.lstrip(">") in text for name in COLUMNS)
    assert all(len(line) <= width for line in text.splitlines())


def test_the_narrow_form_names_each_value() -> None:
    lines = [" ".join(line.split()) for line in drawn(40).splitlines()]
    assert "op gated_delta_rule" in lines
    assert "spent $1.25" in lines


def test_an_empty_table_is_its_head() -> None:
    assert "verdicts" in drawn(100, [])


def test_what_others_wrote_is_only_text(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[31mred[/] [bold]x[/bold] :smile: \x07\u202e"
    output.show(evil, output.table(("name",), [(evil,)]))
    shown = capsys.readouterr().out
    assert shown.count("[31mred[/] [bold]x[/bold] :smile:") == 2
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
