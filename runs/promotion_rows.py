"""Decisions, as rows: appended, never changed. A promotion's state is its last row."""

from __future__ import annotations

from typing import Literal

from runs.codec import decode, encode
from runs.database import Database
from runs.errors import MissingBlobError
from runs.records import Promotion
from runs.rows import no_record, text_of

Decision = Literal["accepted", "rejected", "deferred", "rolled_back"]


class PromotionRows:
    """The part of `RunStore` that knows decisions."""

    database: Database

    def record_promotion(self, promotion: Promotion, *, evidence: str | None = None) -> None:
        """Append a decision; the same one twice in a row is one.

        Args:
            evidence: digest of the blob that holds the evidence file.
        """
        text = encode(promotion)
        with self.database.write() as connection:
            text_of(connection, "verdict", promotion.verdict)
            last = connection.execute(
                "SELECT record FROM promotions WHERE id = ? ORDER BY sequence DESC LIMIT 1",
                (promotion.id,),
            ).fetchone()
            if last is not None and last["record"] == text:
                return
            connection.execute(
                "INSERT INTO promotions (id, run, op, candidate, verdict, decision, decided_at,"
                " evidence, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    promotion.id,
                    promotion.run,
                    promotion.op,
                    promotion.candidate,
                    promotion.verdict,
                    promotion.decision,
                    promotion.decided_at,
                    evidence,
                    text,
                ),
            )

    def promotion_history(self, promotion_id: str) -> tuple[Promotion, ...]:
        """Every decision under one id, oldest first."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT record FROM promotions WHERE id = ? ORDER BY sequence", (promotion_id,)
            ).fetchall()
        if not rows:
            raise no_record("promotion", promotion_id)
        return tuple(decode(Promotion, row["record"]) for row in rows)

    def promotion(self, promotion_id: str) -> Promotion:
        """The last decision under this id."""
        return self.promotion_history(promotion_id)[-1]

    def evidence_digest(self, promotion_id: str) -> str:
        """The blob that holds an accepted promotion's evidence."""
        self.promotion(promotion_id)
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT evidence FROM promotions WHERE id = ? AND evidence IS NOT NULL"
                " ORDER BY sequence DESC LIMIT 1",
                (promotion_id,),
            ).fetchone()
        if row is None:
            raise MissingBlobError(
                f"decision {promotion_id} changed nothing in the library and has no evidence"
            )
        return row["evidence"]

    def promotions(
        self,
        *,
        run: str | None = None,
        op: str | None = None,
        candidate: str | None = None,
        verdict: str | None = None,
        decision: Decision | None = None,
    ) -> tuple[Promotion, ...]:
        """The last state of each decision, in the order they were last decided."""
        tests = {
            "run = ?": run,
            "op = ?": op,
            "candidate = ?": candidate,
            "verdict = ?": verdict,
            "decision = ?": decision,
        }
        used = {test: value for test, value in tests.items() if value is not None}
        where = " AND ".join(
            ["sequence IN (SELECT max(sequence) FROM promotions GROUP BY id)", *used]
        )
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT record FROM promotions WHERE {where} ORDER BY sequence",
                tuple(used.values()),
            ).fetchall()
        return tuple(decode(Promotion, row["record"]) for row in rows)
