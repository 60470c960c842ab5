"""`python -m agent.cli.reference` prints docs/cli.md, made from the help texts.

A fixed width makes the page the same on every terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from typer.testing import CliRunner

from agent.cli.main import app

HEAD = """\
# The command line

This page is made from the help texts by `make docs`; a test holds it current.

Every verb has `--json` (one JSON document on standard output) and `--debug` (the traceback of a
failure). Progress goes to standard error: a bar on a terminal, one line an event elsewhere.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | judged negative: not faster, nothing to promote, promotion or rollback refused |
| 2 | usage: bad flags, bad input, no such op, run or record |
| 3 | infrastructure: no Docker daemon, disk full, store unreadable; try again once mended |
| 130 | interrupted with Ctrl-C; `kernelwright resume RUN` goes on |

A failure is one line on standard error, or with `--json` on standard output
`{"error": {"kind": ..., "message": ..., "exit_code": ...}}`, where `kind` is one of `usage`,
`input`, `not_found`, `refused`, `infrastructure`, `interrupted`, `internal`.

`kernelwright --install-completion` installs completion for your shell.
"""


def verbs() -> Iterator[tuple[str, ...]]:
    """The words of every verb, in the order of the help."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        children = getattr(command, "commands", None)
        if children is None:
            yield words
            return
        for name, child in children.items():
            yield from walk(child, (*words, name))

    yield from walk(typer.main.get_command(app), ())


def page() -> str:
    """The whole of docs/cli.md."""
    return HEAD + "".join(_section(words) for words in verbs())


def _section(words: tuple[str, ...]) -> str:
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "100"})
    lines = [line.rstrip() for line in shown.stdout.strip().splitlines()]
    text = "\n".join(lines)
    return f"\n## `kernelwright {' '.join(words)}`\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
