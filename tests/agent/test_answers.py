"""Replies become modules or typed failures, never anything else."""

from __future__ import annotations

import ast
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.proposers import answers

PARENT = "A = 1\nB = 2\nC = 2\n\n\ndef f(x):\n    return x\n"


def block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def test_whole_file() -> None:
    parsed = answers.parse("I double it.\n\n```python\nA = 2\n```\nThat is all.", PARENT)
    assert parsed.source == "A = 2\n"
    assert parsed.rationale == "I double it.\n\nThat is all."


def test_edits_apply_in_order() -> None:
    reply = "First.\n" + block("A = 1\n", "A = 3\n") + block("A = 3\nB = 2\n", "A = 3\n")
    assert answers.parse(reply, PARENT).source == PARENT.replace("A = 1\nB = 2\n", "A = 3\n")


def test_edits_inside_a_fence_are_edits() -> None:
    reply = "So:\n```\n" + block("A = 1\n", "A = 5\n") + "```\n"
    assert answers.parse(reply, PARENT).source.startswith("A = 5\n")


def test_an_empty_replacement_deletes() -> None:
    assert answers.parse(block("A = 1\n", ""), PARENT).source == PARENT.removeprefix("A = 1\n")


def test_fences_of_other_languages_are_prose() -> None:
    reply = "```text\nnot code\n```\n```python\nA = 2\n```"
    assert answers.parse(reply, PARENT).source == "A = 2\n"


def test_a_longer_fence_holds_shorter_ones() -> None:
    reply = '````python\nDOC = """\n```\n"""\n````'
    assert answers.parse(reply, PARENT).source == 'DOC = """\n```\n"""\n'


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("I have no idea.", "unparsable"),
        ("```python\nA = 1\n```\n```python\nA = 2\n```", "unparsable"),
        ("```python\nA = 1\n", "unparsable"),
        (block("A = 1\n", "A = 2\n") + "```python\nA = 1\n```", "unparsable"),
        ("<<<<<<< SEARCH\nA = 1\n", "unparsable"),
        ("<<<<<<< SEARCH\nA = 1\n=======\nA = 2\n", "unparsable"),
        (block("Z = 9\n", "A = 2\n"), "no_match"),
        (block("", "A = 2\n"), "no_match"),
        (block("= 2\n", "= 3\n"), "ambiguous"),
        (block("A = 1\n", "A = (\n"), "syntax_error"),
        ("```python\ndef f(:\n```", "syntax_error"),
        ("```python\nA = '\x00'\n```", "syntax_error"),
        ("```python\nA = '\ud800'\n```", "syntax_error"),
        ("```python\n" + "A = 1\n" * 40_000 + "```", "too_large"),
        ("x" * 1_000_001, "too_large"),
    ],
)
def test_failures_are_typed(reply: str, kind: str) -> None:
    with pytest.raises(answers.AnswerError) as failure:
        answers.parse(reply, PARENT)
    assert failure.value.kind == kind
    assert str(failure.value).startswith(kind)


MARKS = st.sampled_from(
    ["```", "```python", "````", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "A = 1", "f(", ""]
)


@given(st.lists(st.one_of(MARKS, st.text(max_size=20)), max_size=20))
def test_any_text_is_a_module_or_a_typed_failure(lines: list[str]) -> None:
    with contextlib.suppress(answers.AnswerError):
        parsed = answers.parse("\n".join(lines), PARENT)
        ast.parse(parsed.source)
        assert parsed.source.endswith("\n")


@given(st.integers(0, 6), st.integers(0, 6), st.sampled_from(["NEW = 1\n", "", "# c\n"]))
def test_an_edit_changes_its_lines_and_nothing_else(start: int, length: int, new: str) -> None:
    lines = PARENT.splitlines(keepends=True)
    search = "".join(lines[start : start + length])
    want = "".join([*lines[:start], new, *lines[start + length :]])
    try:
        got = answers.apply(PARENT, [answers.Edit(search, new)])
    except answers.AnswerError:
        assert not search.strip() or PARENT.count(search) != 1
    else:
        assert got == want
