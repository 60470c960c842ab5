"""Single rows of the store: written once, read back by id. The caller holds the transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Literal

from evaluators.verdict import Verdict
from runs.codec import encode
from runs.errors import ConflictingRecordError, RunStoreError, UnknownRecordError, UnknownRunError
from runs.records import Record
from runs.samples import insert_environment
from sandbox.records import Build, Candidate

Kind = Literal["run", "candidate", "build", "verdict", "promotion"]

IDS: dict[Kind, tuple[str, str]] = {
    "run": ("runs", "id"),
    "candidate": ("candidates", "digest"),
    "build": ("builds", "digest"),
    "verdict": ("verdicts", "digest"),
    "promotion": ("promotions", "id"),
}


def no_run(run_id: str) -> RunStoreError:
    return UnknownRunError(f"no run {run_id!r}: `kernelwright runs list` lists them")


def no_record(kind: Kind, identity: str) -> RunStoreError:
    return UnknownRecordError(
        f"no {kind} {identity[:40]!r} in this store: check the id and KERNELWRIGHT_HOME"
    )


def record_text(
    connection: sqlite3.Connection, table: str, column: str, identity: str
) -> str | None:
    row = connection.execute(
        f"SELECT record FROM {table} WHERE {column} = ?", (identity,)
    ).fetchone()
    return None if row is None else row["record"]


def text_of(connection: sqlite3.Connection, kind: Kind, identity: str) -> str:
    """The stored text of a record.

    Raises:
        UnknownRecordError: there is none.
    """
    text = record_text(connection, *IDS[kind], identity)
    if text is None:
        raise no_record(kind, identity)
    return text


def demand_same(stored: Record, offered: Record, what: str) -> None:
    if stored.digest != offered.digest:
        raise ConflictingRecordError(
            f"{what} is stored already and says something else: give the new one another id"
        )


def insert_candidate(connection: sqlite3.Connection, candidate: Candidate) -> str:
    digest = candidate.digest
    connection.execute(
        "INSERT OR IGNORE INTO candidates VALUES (?, ?, ?, ?, ?)",
        (
            digest,
            candidate.op,
            candidate.implementation,
            str(candidate.target),
            encode(candidate),
        ),
    )
    return digest


def insert_build(connection: sqlite3.Connection, build: Build) -> str:
    digest = build.digest
    connection.execute(
        "INSERT OR IGNORE INTO builds VALUES (?, ?, ?)", (digest, build.candidate, encode(build))
    )
    return digest


def insert_verdict(
    connection: sqlite3.Connection, verdict: Verdict, incumbent: str, toolchain: str, commit: str
) -> bool:
    """Store a verdict; False when it was there."""
    effect, environment = verdict.effect, verdict.environment
    cursor = connection.execute(
        "INSERT OR IGNORE INTO verdicts (digest, candidate, incumbent, op, implementation, target,"
        " tier, trust, status, ratio, low, high, environment, toolchain, commit_id, judged_at,"
        " record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            verdict.digest,
            verdict.candidate,
            incumbent,
            verdict.op,
            verdict.implementation,
            verdict.target,
            verdict.tier,
            verdict.trust,
            str(verdict.status),
            effect and effect.ratio,
            effect and effect.low,
            effect and effect.high,
            environment and insert_environment(connection, environment),
            toolchain,
            commit,
            verdict.judged_at,
            encode(verdict),
        ),
    )
    return cursor.rowcount == 1


def insert_cases(
    connection: sqlite3.Connection, verdict: Verdict, builds: Iterable[Build], named: Iterable[str]
) -> None:
    """Remember which cases a verdict is about: of its cells, its builds, and those named."""
    cases = set(named)
    cases.update(item.case for build in builds for item in build.artefacts)
    cases.update(cell.case for cell in verdict.errors)
    cases.update(cell.case for cell in verdict.timings)
    connection.executemany(
        "INSERT OR IGNORE INTO verdict_cases VALUES (?, ?)",
        [(verdict.digest, case) for case in sorted(cases)],
    )


def link_verdict(connection: sqlite3.Connection, verdict: Verdict, run: str | None) -> None:
    """Remember whose verdict it is: `run`'s, or of every run that proposed the candidate."""
    if run is None:
        rows = connection.execute(
            "SELECT DISTINCT run FROM proposals WHERE candidate = ?", (verdict.candidate,)
        )
        runs = [row["run"] for row in rows]
    elif record_text(connection, "runs", "id", run) is None:
        raise no_run(run)
    else:
        runs = [run]
    connection.executemany(
        "INSERT OR IGNORE INTO run_verdicts VALUES (?, ?)",
        [(name, verdict.digest) for name in runs],
    )
