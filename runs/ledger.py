"""Money and caps of a run: intents before paid requests, charges after, and what is left.

Every line survives `kill -9`: a request is logged with its worst case before it is sent, its reply
is stored before it is used, and a charge counts once however often it is repeated.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Literal

from runs.blobs import BlobStore
from runs.database import Database
from runs.errors import ConflictingRecordError, IntentStateError, UnknownRecordError
from runs.spending import (
    NANO,
    Spent,
    budget_of,
    charged,
    demand_room,
    insert_charge,
    nano,
    spent_of,
)


@dataclass(frozen=True)
class Intent:
    """A paid request: what it may cost at worst, and what it did cost once settled."""

    id: str
    run: str
    purpose: str
    prompt_digest: str
    worst_dollars: float
    worst_tokens: int
    state: Literal["open", "replied", "settled", "abandoned"]
    reply_digest: str | None
    dollars: float | None
    tokens_in: int | None
    tokens_out: int | None


class Ledger:
    """The store's book of intents and charges."""

    def __init__(self, database: Database, blobs: BlobStore) -> None:
        self._database = database
        self._blobs = blobs

    def log_intent(
        self,
        intent_id: str,
        run_id: str,
        *,
        purpose: str,
        prompt: bytes,
        worst_dollars: float,
        worst_tokens: int,
        at: str,
    ) -> Intent:
        """Reserve the worst case of a paid request, before it is sent.

        Logging the same id again gives back what is logged: a resumed run finds its reply there
        instead of paying twice.

        Raises:
            BudgetExceededError: the worst case does not fit beneath the run's caps.
            ConflictingRecordError: the id is logged with another prompt or run.
        """
        prompt_digest = self._blobs.put(prompt)
        with self._database.write() as connection:
            known = _find_intent(connection, intent_id)
            if known is not None:
                if (known.run, known.prompt_digest) != (run_id, prompt_digest):
                    raise ConflictingRecordError(
                        f"request {intent_id!r} is logged with another prompt: give this one an id"
                        " of its own"
                    )
                return known
            worst = Spent(reserved_dollars=worst_dollars, reserved_tokens=worst_tokens)
            demand_room(connection, run_id, worst)
            connection.execute(
                "INSERT INTO intents (id, run, purpose, prompt_digest, worst_nanodollars,"
                " worst_tokens, state, logged_at) VALUES (?, ?, ?, ?, ?, ?, 'open', ?)",
                (intent_id, run_id, purpose, prompt_digest, nano(worst_dollars), worst_tokens, at),
            )
            return _intent(connection, intent_id)

    def store_reply(self, intent_id: str, reply: bytes, *, at: str) -> str:
        """Store a reply before anything uses it, and return its digest."""
        digest = self._blobs.put(reply)
        with self._database.write() as connection:
            intent = _intent(connection, intent_id)
            if intent.reply_digest == digest:
                return digest
            if intent.state != "open":
                raise IntentStateError(
                    f"request {intent_id!r} is {intent.state} already: log a new one"
                )
            connection.execute(
                "UPDATE intents SET state = 'replied', reply_digest = ?, replied_at = ?"
                " WHERE id = ?",
                (digest, at, intent_id),
            )
        return digest

    def settle_intent(
        self, intent_id: str, *, dollars: float, tokens_in: int, tokens_out: int, at: str
    ) -> None:
        """Replace the reservation by the real cost; settling again changes nothing."""
        with self._database.write() as connection:
            intent = _intent(connection, intent_id)
            if intent.state == "settled":
                return
            if intent.state == "abandoned":
                raise IntentStateError(
                    f"request {intent_id!r} was abandoned and charged at its worst case"
                )
            connection.execute(
                "UPDATE intents SET state = 'settled', nanodollars = ?, tokens_in = ?,"
                " tokens_out = ?, settled_at = ? WHERE id = ?",
                (nano(dollars), tokens_in, tokens_out, at, intent_id),
            )
            cost = Spent(dollars=dollars, tokens=tokens_in + tokens_out)
            insert_charge(connection, intent.run, f"intent:{intent_id}", cost)

    def abandon_intent(self, intent_id: str, *, at: str, reason: str) -> None:
        """Give up on a request that may have been billed: it is charged at its worst case."""
        with self._database.write() as connection:
            intent = _intent(connection, intent_id)
            if intent.state in ("settled", "abandoned"):
                return
            connection.execute(
                "UPDATE intents SET state = 'abandoned', note = ?, settled_at = ? WHERE id = ?",
                (reason, at, intent_id),
            )
            cost = Spent(dollars=intent.worst_dollars, tokens=intent.worst_tokens)
            insert_charge(connection, intent.run, f"intent:{intent_id}", cost)

    def intent(self, intent_id: str) -> Intent:
        with self._database.read() as connection:
            return _intent(connection, intent_id)

    def open_intents(self, run_id: str) -> tuple[Intent, ...]:
        """Requests without a settled cost, oldest first: what a resumed run must look at."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM intents WHERE run = ? AND state IN ('open', 'replied')"
                " ORDER BY logged_at, id",
                (run_id,),
            )
            return tuple(_from_row(row) for row in rows)

    def charge(
        self,
        run_id: str,
        reference: str,
        *,
        dollars: float = 0.0,
        tokens: int = 0,
        device_ns: int = 0,
        wall_ns: int = 0,
        candidates: int = 0,
        capped: bool = False,
    ) -> bool:
        """Count what was used, once for each `reference`; False when it was counted before.

        Args:
            capped: refuse, and count nothing, when a cap would be passed.

        Raises:
            BudgetExceededError: only with `capped`.
        """
        amount = Spent(dollars, tokens, device_ns, wall_ns, candidates)
        with self._database.write() as connection:
            if charged(connection, run_id, reference):
                return False
            if capped:
                demand_room(connection, run_id, amount)
            else:
                budget_of(connection, run_id)  # an unknown run is refused
            insert_charge(connection, run_id, reference, amount)
        return True

    def spent(self, run_id: str) -> Spent:
        with self._database.read() as connection:
            budget_of(connection, run_id)
            return spent_of(connection, run_id)


def _find_intent(connection: sqlite3.Connection, intent_id: str) -> Intent | None:
    row = connection.execute("SELECT * FROM intents WHERE id = ?", (intent_id,)).fetchone()
    return None if row is None else _from_row(row)


def _intent(connection: sqlite3.Connection, intent_id: str) -> Intent:
    intent = _find_intent(connection, intent_id)
    if intent is None:
        raise UnknownRecordError(f"no request {intent_id!r} is logged: log it before it is sent")
    return intent


def _from_row(row: sqlite3.Row) -> Intent:
    nanodollars = row["nanodollars"]
    return Intent(
        id=row["id"],
        run=row["run"],
        purpose=row["purpose"],
        prompt_digest=row["prompt_digest"],
        worst_dollars=row["worst_nanodollars"] / NANO,
        worst_tokens=row["worst_tokens"],
        state=row["state"],
        reply_digest=row["reply_digest"],
        dollars=None if nanodollars is None else nanodollars / NANO,
        tokens_in=row["tokens_in"],
        tokens_out=row["tokens_out"],
    )
