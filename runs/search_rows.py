"""What a run's search knows of its proposals beyond their records, and its caps as set last."""

from __future__ import annotations

from runs.codec import encode
from runs.database import Database
from runs.records import Budget
from runs.rows import no_run, record_text, text_of
from runs.spending import budget_of


class SearchRows:
    """Rows of one run; writing one again changes nothing."""

    def __init__(self, database: Database, run: str) -> None:
        self._database = database
        self._run = run

    def record_same_program(self, candidate: str, of: str) -> None:
        """Remember that a candidate lowers to the program that was judged with `of`.

        Raises:
            UnknownRecordError: one of them is not stored.
        """
        with self._database.write() as connection:
            text_of(connection, "candidate", candidate)
            text_of(connection, "candidate", of)
            connection.execute(
                "INSERT OR IGNORE INTO same_programs VALUES (?, ?, ?)", (self._run, candidate, of)
            )

    def same_programs(self) -> dict[str, str]:
        """Candidate -> the candidate that was judged with its program."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT candidate, of FROM same_programs WHERE run = ?", (self._run,)
            ).fetchall()
        return {row["candidate"]: row["of"] for row in rows}

    def record_repair(self, number: int, of: int) -> None:
        """Remember that proposal `number` is to mend the failed proposal `of`."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO repairs VALUES (?, ?, ?)", (self._run, number, of)
            )

    def repairs(self) -> dict[int, int]:
        """Number of a follow-up -> number of the proposal that it was to mend."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT number, of FROM repairs WHERE run = ?", (self._run,)
            ).fetchall()
        return {row["number"]: row["of"] for row in rows}

    def set_caps(self, budget: Budget, *, at: str) -> None:
        """From now on these caps hold, for the ledger too.

        Raises:
            UnknownRunError: no such run.
        """
        with self._database.write() as connection:
            if record_text(connection, "runs", "id", self._run) is None:
                raise no_run(self._run)
            connection.execute(
                "INSERT INTO caps (run, set_at, record) VALUES (?, ?, ?)",
                (self._run, at, encode(budget)),
            )

    def caps(self) -> Budget:
        """The caps that hold.

        Raises:
            UnknownRunError: no such run.
        """
        with self._database.read() as connection:
            return budget_of(connection, self._run)
