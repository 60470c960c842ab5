"""What the shell offers when a person presses Tab.

A Tab must be answered at once, so ops are read from their folders without importing them, and
records through a read-only connection. Whatever fails offers nothing: no error belongs in a prompt.
"""

from __future__ import annotations

import ast
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any

import typer

LIBRARY = Path(__file__).resolve().parents[2] / "reference_kernels"
HELD_OUT = "holdout"
SHOWN = 50

Offer = list[tuple[str, str]]


def silent(offer: Callable[[typer.Context], Offer]) -> Callable[[typer.Context], Offer]:
    @wraps(offer)
    def safe(ctx: typer.Context) -> Offer:
        try:
            return offer(ctx)
        except Exception:
            return []

    return safe


@silent
def ops(ctx: typer.Context) -> Offer:
    return [(name, "") for name in op_names()]


@silent
def cases(ctx: typer.Context) -> Offer:
    """Cases of the op at hand, of all ops before one is named; never a held-out one."""
    return [(case, op) for op in _ops_at_hand(ctx) for case in case_names(op)]


@silent
def implementations(ctx: typer.Context) -> Offer:
    return [(name, op) for op in _ops_at_hand(ctx) for name in implementation_names(op)]


@silent
def targets(ctx: typer.Context) -> Offer:
    from evaluators.targets import TARGETS

    return [(target.name, target.device_kind) for target in TARGETS.values()]


@silent
def runs(ctx: typer.Context) -> Offer:
    query = "SELECT id, op || ' on ' || target FROM runs ORDER BY started_at DESC LIMIT ?"
    return _rows(ctx, query, SHOWN)


@silent
def candidates(ctx: typer.Context) -> Offer:
    """Candidates of the run at hand."""
    query = (
        "SELECT candidate, max(proposer) FROM proposals WHERE candidate IS NOT NULL"
        " AND substr(run, 1, ?) = ? GROUP BY candidate ORDER BY max(sequence) DESC LIMIT ?"
    )
    run = _given(ctx, "run") or ""
    return _short(_rows(ctx, query, len(run), run, SHOWN))


@silent
def verdicts(ctx: typer.Context) -> Offer:
    query = (
        "SELECT digest, status || ' at tier ' || tier FROM verdicts ORDER BY sequence DESC LIMIT ?"
    )
    return _short(_rows(ctx, query, SHOWN))


@silent
def promotable(ctx: typer.Context) -> Offer:
    query = (
        "SELECT digest, status || ' at tier ' || tier FROM verdicts WHERE status = 'faster'"
        " AND tier = 'promote' ORDER BY sequence DESC LIMIT ?"
    )
    return _short(_rows(ctx, query, SHOWN))


@silent
def promotions(ctx: typer.Context) -> Offer:
    return _rows(ctx, "SELECT id, decision FROM promotions ORDER BY rowid DESC LIMIT ?", SHOWN)


def op_names() -> list[str]:
    return sorted(path.parent.name for path in LIBRARY.glob("*/op.py"))


def case_names(op: str) -> list[str]:
    """The cases that an op's `cases.py` spells out, but for the held-out ones."""
    names = []
    for words in _calls(LIBRARY / op / "cases.py", "case"):
        held_out = HELD_OUT in words or HELD_OUT in words[0]
        if not held_out:
            names.append(words[0])
    return names


def implementation_names(op: str) -> list[str]:
    """The modules of an op's folder that have a `Config` of their own, and its plain version."""
    return sorted(
        path.stem
        for path in (LIBRARY / op).glob("*.py")
        if path.stem == "plain" or "\nclass Config" in path.read_text()
    )


def _calls(path: Path, function: str) -> Iterator[tuple[str, ...]]:
    """The literal strings that each call of a function passes by position, in its first place."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            words = [a.value for a in node.args if isinstance(a, ast.Constant)]
            strings = tuple(word for word in words if isinstance(word, str))
            # A starred tag could be the one that holds a case out: what is not plain is not shown.
            plain = len(strings) == len(node.args)
            if name.lower() == function and strings and plain:
                yield strings


def _ops_at_hand(ctx: typer.Context) -> list[str]:
    named = _given(ctx, "op")
    known = op_names()
    return [named] if named in known else known


def _given(ctx: typer.Context, name: str) -> str | None:
    """What stands on the line for a parameter."""
    if ctx.params.get(name):
        return str(ctx.params[name])
    # A flag that still lacks its value stops the parser before it hands out the arguments.
    arguments = [p.name for p in ctx.command.params if p.param_type_name == "argument"]
    return dict(zip(arguments, ctx.args, strict=False)).get(name)


def _short(offer: Offer) -> Offer:
    return [(digest[:12], text) for digest, text in offer]


def _rows(ctx: typer.Context, query: str, *values: object) -> Offer:
    store = _home(ctx) / "store.sqlite"
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True, timeout=0.2)) as connection:
        return [(str(name), str(text or "")) for name, text in connection.execute(query, values)]


def _home(ctx: typer.Context) -> Path:
    """The store's folder as the verb would find it."""
    named: Any = ctx.params.get("home") or os.environ.get("KERNELWRIGHT_HOME") or _configured(ctx)
    if named:
        return Path(named).expanduser().resolve()
    return LIBRARY.parent / "runs" / "archive"


def _configured(ctx: typer.Context) -> str | None:
    from agent.cli import config_file

    root = ctx.find_root()
    words = tuple(ctx.command_path.split()[1:])
    files = config_file.load(root.command, root.params.get("config"))
    return next((value for file in files if (value := file.value(words, "home"))), None)
