"""`python -m agent.cli.reference` prints docs/cli.md, made from the help texts.

A fixed width makes the page the same on every terminal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import typer
from typer.testing import CliRunner

from agent.cli import config_file, tree
from agent.cli.main import app

# No config file of whoever makes the page: its values would stand there as defaults.
PLAIN = {"COLUMNS": "100", config_file.VARIABLE: os.devnull}

HEAD = """\
# The command line

This page is made from the help texts by `make docs`; a test holds it current.

Every verb has `--json` (one JSON document on standard output) and `--debug` (the traceback of a
failure); both, and `--quiet`, may also stand before the verb. Progress goes to standard error: a
live panel on a terminal, one line an event elsewhere, nothing with `--quiet`. What is not to be
typed each time stands in a [config file](configuration.md).

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

`kernelwright --install-completion` installs completion for your shell: verbs, flags, ops, cases,
runs and candidates. `kernelwright completion SHELL` prints the script instead.
"""


def verbs() -> Iterator[tuple[str, ...]]:
    """The words of every verb, in the order of the help."""
    for words, _ in tree.leaves(typer.main.get_command(app)):
        yield words


def page() -> str:
    """The whole of docs/cli.md."""
    return HEAD + "".join(_section(words) for words in verbs())


def _section(words: tuple[str, ...]) -> str:
    shown = CliRunner().invoke(app, [*words, "--help"], env=PLAIN)
    lines = [line.rstrip() for line in shown.stdout.strip().splitlines()]
    text = "\n".join(lines)
    return f"\n## `kernelwright {' '.join(words)}`\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
