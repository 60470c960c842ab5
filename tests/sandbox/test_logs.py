"""A cleaned log holds nothing that a terminal acts on or that a reader does not see."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.logs import clean_log


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        (b"plain\ttext\n", "plain\ttext\n"),
        (b"one\r\ntwo\rthree", "one\ntwo\nthree"),
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;new title\x07after", "after"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPdevice control\x1b\\after", "after"),
        (b"\x1b]52;c;never ended\nnext line", "\nnext line"),
        (b"\xc2\x9b31mC1\xc2\x9d0;t\xc2\x9c", "C1"),
        (b"a\x00b\x07c\x08d\x7fe", "abcde"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        ("a\u202eb\u2066c\u200bd\ufeffe".encode(), "abcde"),
        ("tag\U000e0068\U000e0069s".encode(), "tags"),
        ("x\ufe0f\U000e0101y".encode(), "xy"),
        ("grün 漢字 ∑".encode(), "grün 漢字 ∑"),
        ("one\u2028two", "one\ntwo"),
        ("lone \ud800 surrogate", "lone  surrogate"),
    ],
)
def test_known_tricks(dirty: bytes | str, clean: str) -> None:
    assert clean_log(dirty) == clean


@given(st.one_of(st.binary(), st.text()))
def test_whatever_comes_is_harmless_and_stays_so(dirty: bytes | str) -> None:
    clean = clean_log(dirty)
    assert all(
        c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co") for c in clean
    )
    assert clean_log(clean) == clean
