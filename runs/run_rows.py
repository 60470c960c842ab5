"""Runs and their proposals, as rows."""

from __future__ import annotations

from typing import Literal

from runs.codec import decode, encode
from runs.database import Database
from runs.records import Proposal, Run
from runs.rows import demand_same, no_run, record_text, text_of

RunState = Literal["open", "finished", "stopped", "failed"]


class RunRows:
    """The part of `RunStore` that knows runs."""

    database: Database

    def start_run(self, run: Run) -> None:
        with self.database.write() as connection:
            stored = record_text(connection, "runs", "id", run.id)
            if stored is not None:
                demand_same(decode(Run, stored), run, f"run {run.id}")
                return
            connection.execute(
                "INSERT INTO runs (id, op, implementation, target, case_name, base_commit,"
                " started_at, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run.id,
                    run.op,
                    run.implementation,
                    run.target,
                    run.case,
                    run.base_commit,
                    run.started_at,
                    encode(run),
                ),
            )

    def finish_run(
        self,
        run_id: str,
        state: Literal["finished", "stopped", "failed"],
        *,
        at: str,
        reason: str = "",
    ) -> None:
        self._set_state(run_id, state, at, reason)

    def reopen_run(self, run_id: str) -> None:
        """A resumed run goes on."""
        self._set_state(run_id, "open", None, "")

    def _set_state(self, run_id: str, state: RunState, at: str | None, reason: str) -> None:
        with self.database.write() as connection:
            changed = connection.execute(
                "UPDATE runs SET state = ?, ended_at = ?, end_reason = ? WHERE id = ?",
                (state, at, reason, run_id),
            )
            if changed.rowcount == 0:
                raise no_run(run_id)

    def run(self, run_id: str) -> Run:
        with self.database.read() as connection:
            text = record_text(connection, "runs", "id", run_id)
        if text is None:
            raise no_run(run_id)
        return decode(Run, text)

    def record_proposal(self, proposal: Proposal) -> None:
        """Store an answer of a proposer; its run and its candidate are stored before it."""
        with self.database.write() as connection:
            stored = record_text(connection, "proposals", "id", proposal.id)
            if stored is not None:
                demand_same(decode(Proposal, stored), proposal, f"proposal {proposal.id}")
                return
            if record_text(connection, "runs", "id", proposal.run) is None:
                raise no_run(proposal.run)
            if proposal.candidate is not None:
                text_of(connection, "candidate", proposal.candidate)
            connection.execute(
                "INSERT INTO proposals (id, run, candidate, parent, proposer, kind, proposed_at,"
                " record) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    proposal.id,
                    proposal.run,
                    proposal.candidate,
                    proposal.parent,
                    proposal.proposer,
                    proposal.kind,
                    proposal.proposed_at,
                    encode(proposal),
                ),
            )

    def proposals(self, run_id: str) -> tuple[Proposal, ...]:
        """A run's proposals in the order they were stored."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT record FROM proposals WHERE run = ? ORDER BY sequence", (run_id,)
            ).fetchall()
        return tuple(decode(Proposal, row["record"]) for row in rows)
