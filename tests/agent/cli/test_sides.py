"""The diff that is reviewed: nothing of it lost, moved or acted upon."""

from __future__ import annotations

import difflib
import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from agent.cli import sides
from runs.diffs import text_diff

LINES = st.lists(st.sampled_from(["", "a = 1", "-- b", "++ c", "@@ -1 +1 @@", "d\t= 'é'", "\\ e"]))


def drawn(diff: str, *, width: int = 120, color: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=color, color_system="truecolor" if color else None
    )
    console.print(sides.side_by_side(diff))
    return stream.getvalue()


@given(LINES, LINES)
def test_each_side_is_its_text(before: list[str], after: list[str]) -> None:
    old, new = "\n".join(before), "\n".join(after)
    for hunk in sides.hunks(text_diff(old, new, "x.py")):
        assert len(hunk.left) == len(hunk.right)
        for side, text in ((hunk.left, old), (hunk.right, new)):
            for line in filter(None, side):
                assert text.split("\n")[line.number - 1] == line.text


@given(LINES, LINES)
def test_every_change_is_on_a_side(before: list[str], after: list[str]) -> None:
    old, new = [f"{line}\n" for line in before], [f"{line}\n" for line in after]
    found = list(sides.hunks(text_diff("".join(old), "".join(new), "x.py")))
    expected = [line[0] for line in list(difflib.unified_diff(old, new))[2:]]
    for side, sign in ((0, "-"), (1, "+")):
        lines = [line for h in found for line in filter(None, (h.left, h.right)[side])]
        assert sum(line.changed for line in lines) == expected.count(sign)
        assert sum(not line.changed for line in lines) == expected.count(" ")


def test_side_by_side() -> None:
    text = drawn(text_diff("a = 1\nb = 2\nc = 3\n", "a = 1\nb = 4\nc = 3\nd = 5\n", "x.py"))
    rows = [line.split() for line in text.splitlines()]
    assert ["2", "-", "b", "=", "2", "2", "+", "b", "=", "4"] in rows
    assert ["1", "a", "=", "1", "1", "a", "=", "1"] in rows
    assert ["4", "+", "d", "=", "5"] in rows


def test_a_new_file_and_a_config() -> None:
    assert "+ x = 1" in drawn(text_diff(None, "x = 1\n", "new.py"))
    text = drawn(text_diff('{"block": 8}\n', '{"block": 16}\n', "config.json"))
    assert "config.json" in text
    assert "16" in text


def test_colours_say_what_is_old_and_what_is_new() -> None:
    text = drawn(text_diff("value = 1\n", "value = 2\n", "x.py"), color=True)
    assert "\x1b[" in text
    assert "31;49m1" in text
    assert "32;49m2" in text


def test_nothing_in_the_text_is_acted_upon() -> None:
    evil = "x = '[bold red]no[/] :smile: \x1b[2J\x07 \u202e \u2028'\n"
    diff = text_diff("x = 1\n", evil, "x.py")
    for text in (drawn(diff, width=200), str(sides.unified(diff))):
        assert "[bold red]no[/] :smile:" in text
        assert not {"\x1b", "\x07", "\u202e", "\u2028"} & set(text)


def test_a_long_line_is_folded_and_not_cut() -> None:
    text = drawn(text_diff("a\n", "word" * 60 + "\n", "x.py"), width=80)
    assert "".join(text.split()).count("word") >= 58
