"""Raw samples, kept one by one in the form that regression tracking needs.

A `Series` is what one role of one cell took, in the order taken: baseline and candidate series of
the same verdict, entry, case, process and clock pair up by position.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from evaluators.verdict import Environment, TimingCell, Verdict
from runs.codec import content_digest, decode, encode
from runs.database import Database

Role = Literal["baseline", "candidate", "control"]
Clock = Literal["device", "wall"]


class Series(BaseModel):
    """Durations of one thing, on one case, in one process.

    Attributes:
        subject: digest of the `Candidate` that was timed, "" when not known.
        role: `control` holds the A/A pairs, both members in turn.
        clock: `device` from the profile, `wall` untraced.
        verdict: the verdict it belongs to; None for a plain measurement.
        commit: the checkout's commit when it was taken, "" when not known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    op: str
    implementation: str
    subject: str = ""
    target: str
    entry: str
    case: str
    process: int = 0
    role: Role
    clock: Clock = "device"
    durations_ns: tuple[int, ...]
    verdict: str | None = None
    environment: Environment
    commit: str = ""
    taken_at: str


def series_of(verdict: Verdict, *, incumbent: str = "", commit: str = "") -> tuple[Series, ...]:
    """Every raw sample of a verdict; none when it holds no timings or no environment."""
    if verdict.environment is None:
        return ()
    return tuple(
        series
        for cell in verdict.timings
        for series in _series_of_cell(verdict, cell, verdict.environment, incumbent, commit)
    )


def _series_of_cell(
    verdict: Verdict, cell: TimingCell, environment: Environment, incumbent: str, commit: str
) -> Iterable[Series]:
    own = incumbent if cell.baseline == verdict.implementation else ""
    control = tuple(duration for pair in cell.control_pairs_ns for duration in pair)
    columns: tuple[tuple[Role, Clock, tuple[int, ...]], ...] = (
        ("baseline", "device", tuple(pair[0] for pair in cell.pairs_ns)),
        ("candidate", "device", tuple(pair[1] for pair in cell.pairs_ns)),
        ("control", "device", control),
        ("baseline", "wall", tuple(pair[0] for pair in cell.wall_pairs_ns)),
        ("candidate", "wall", tuple(pair[1] for pair in cell.wall_pairs_ns)),
    )
    for role, clock, durations_ns in columns:
        if not durations_ns:
            continue
        candidate = role == "candidate"
        yield Series(
            op=verdict.op,
            implementation=verdict.implementation if candidate else cell.baseline,
            subject=verdict.candidate if candidate else own,
            target=verdict.target,
            entry=cell.entry,
            case=cell.case,
            process=cell.process,
            role=role,
            clock=clock,
            durations_ns=durations_ns,
            verdict=verdict.digest,
            environment=environment,
            commit=commit,
            taken_at=verdict.judged_at,
        )


def insert_environment(connection: sqlite3.Connection, environment: Environment) -> str:
    digest = content_digest(environment)
    connection.execute(
        "INSERT OR IGNORE INTO environments VALUES (?, ?, ?, ?, ?, ?)",
        (
            digest,
            environment.machine,
            environment.device_kind,
            environment.toolchain,
            environment.backend,
            encode(environment),
        ),
    )
    return digest


def insert_series(connection: sqlite3.Connection, series: Series) -> None:
    """Store one series; storing it again changes nothing."""
    environment = insert_environment(connection, series.environment)
    cursor = connection.execute(
        "INSERT OR IGNORE INTO series (digest, verdict, op, implementation, subject, target, entry,"
        " case_name, process, role, clock, environment, commit_id, taken_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            content_digest(series),
            series.verdict,
            series.op,
            series.implementation,
            series.subject,
            series.target,
            series.entry,
            series.case,
            series.process,
            series.role,
            series.clock,
            environment,
            series.commit,
            series.taken_at,
        ),
    )
    if cursor.rowcount != 1:
        return
    connection.executemany(
        "INSERT INTO samples VALUES (?, ?, ?)",
        [(cursor.lastrowid, number, ns) for number, ns in enumerate(series.durations_ns)],
    )


class Samples:
    """The store's raw samples."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, series: Iterable[Series]) -> None:
        """Store measurements that belong to no verdict, all or none."""
        with self._database.write() as connection:
            for one in series:
                insert_series(connection, one)

    def series(
        self,
        *,
        op: str | None = None,
        entry: str | None = None,
        case: str | None = None,
        implementation: str | None = None,
        target: str | None = None,
        role: Role | None = None,
        clock: Clock | None = "device",
        toolchain: str | None = None,
        machine: str | None = None,
        verdict: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> tuple[Series, ...]:
        """What was measured, oldest first; an argument left out does not filter.

        Args:
            since, until: ISO times in UTC, `since <= taken_at < until`.
        """
        tests = {
            "s.op = ?": op,
            "s.entry = ?": entry,
            "s.case_name = ?": case,
            "s.implementation = ?": implementation,
            "s.target = ?": target,
            "s.role = ?": role,
            "s.clock = ?": clock,
            "e.toolchain = ?": toolchain,
            "e.machine = ?": machine,
            "s.verdict = ?": verdict,
            "s.taken_at >= ?": since,
            "s.taken_at < ?": until,
        }
        used = {test: value for test, value in tests.items() if value is not None}
        where = " AND ".join(used) or "1"
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT s.*, e.record AS environment_record FROM series s"
                f" JOIN environments e ON e.digest = s.environment WHERE {where}"
                " ORDER BY s.taken_at, s.id",
                tuple(used.values()),
            ).fetchall()
            return tuple(_series(connection, row) for row in rows)


def _series(connection: sqlite3.Connection, row: sqlite3.Row) -> Series:
    durations = connection.execute(
        "SELECT duration_ns FROM samples WHERE series = ? ORDER BY sequence", (row["id"],)
    )
    return Series(
        op=row["op"],
        implementation=row["implementation"],
        subject=row["subject"],
        target=row["target"],
        entry=row["entry"],
        case=row["case_name"],
        process=row["process"],
        role=row["role"],
        clock=row["clock"],
        durations_ns=tuple(duration for (duration,) in durations),
        verdict=row["verdict"],
        environment=decode(Environment, row["environment_record"]),
        commit=row["commit_id"],
        taken_at=row["taken_at"],
    )
