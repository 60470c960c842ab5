"""What a run has used against its caps: sums over charges and reservations."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass

from runs.codec import decode
from runs.errors import BudgetExceededError, UnknownRunError
from runs.records import Budget, Run

NANO = 1_000_000_000


@dataclass(frozen=True)
class Spent:
    """What a run has used; `reserved_*` is the worst case of requests that are not settled."""

    dollars: float = 0.0
    tokens: int = 0
    device_ns: int = 0
    wall_ns: int = 0
    candidates: int = 0
    reserved_dollars: float = 0.0
    reserved_tokens: int = 0

    def exhausted(self, budget: Budget) -> str | None:
        """The cap that leaves nothing more to spend, in words; None when there is some left."""
        for name, used, cap in _against_caps(self, budget):
            if used >= cap:
                return f"{name}: {used:.6g} of {cap:.6g} used"
        return None


def _against_caps(spent: Spent, budget: Budget) -> list[tuple[str, float, float]]:
    lines: tuple[tuple[str, float, float | None], ...] = (
        ("dollars", spent.dollars + spent.reserved_dollars, budget.dollars),
        ("tokens", spent.tokens + spent.reserved_tokens, budget.tokens),
        ("device seconds", spent.device_ns / NANO, budget.device_s),
        ("wall seconds", spent.wall_ns / NANO, budget.wall_s),
        ("candidates", spent.candidates, budget.candidates),
    )
    return [(name, used, cap) for name, used, cap in lines if cap is not None]


def nano(dollars: float) -> int:
    # Rounded up: a cap is never passed by rounding.
    return math.ceil(round(dollars * NANO, 3))


def budget_of(connection: sqlite3.Connection, run_id: str) -> Budget:
    """The caps set last: those that the run began with, or those of a `resume`."""
    row = connection.execute("SELECT record FROM runs WHERE id = ?", (run_id,)).fetchone()
    if row is None:
        raise UnknownRunError(f"no run {run_id!r}: `kernelwright runs list` lists them")
    newer = connection.execute(
        "SELECT record FROM caps WHERE run = ? ORDER BY sequence DESC LIMIT 1", (run_id,)
    ).fetchone()
    return decode(Budget, newer["record"]) if newer else decode(Run, row["record"]).budget


def spent_of(connection: sqlite3.Connection, run_id: str) -> Spent:
    used = connection.execute(
        "SELECT total(nanodollars), sum(tokens), sum(device_ns), sum(wall_ns), sum(candidates)"
        " FROM charges WHERE run = ?",
        (run_id,),
    ).fetchone()
    reserved = connection.execute(
        "SELECT total(worst_nanodollars), sum(worst_tokens) FROM intents"
        " WHERE run = ? AND state IN ('open', 'replied')",
        (run_id,),
    ).fetchone()
    return Spent(
        dollars=used[0] / NANO,
        tokens=used[1] or 0,
        device_ns=used[2] or 0,
        wall_ns=used[3] or 0,
        candidates=used[4] or 0,
        reserved_dollars=reserved[0] / NANO,
        reserved_tokens=reserved[1] or 0,
    )


def demand_room(connection: sqlite3.Connection, run_id: str, more: Spent) -> None:
    budget = budget_of(connection, run_id)
    now = _against_caps(spent_of(connection, run_id), budget)
    for (name, used, cap), (_, extra, _) in zip(now, _against_caps(more, budget), strict=True):
        if extra > 0 and used + extra > cap * (1 + 1e-12):
            raise BudgetExceededError(
                f"run {run_id} has {max(cap - used, 0):.6g} of {cap:.6g} {name} left and this needs"
                f" {extra:.6g}: raise the cap in a new run, or stop here"
            )


def charged(connection: sqlite3.Connection, run_id: str, reference: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM charges WHERE run = ? AND reference = ?", (run_id, reference)
    )
    return found.fetchone() is not None


def insert_charge(
    connection: sqlite3.Connection, run_id: str, reference: str, amount: Spent
) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO charges VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            run_id,
            reference,
            nano(amount.dollars),
            amount.tokens,
            amount.device_ns,
            amount.wall_ns,
            amount.candidates,
        ),
    )
