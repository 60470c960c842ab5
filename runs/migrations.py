"""The store's schema as named steps. Append to the end; a released step is never edited."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from runs.errors import NewerStoreError, ReadOnlyStoreError


@dataclass(frozen=True)
class Migration:
    name: str
    sql: str


_RECORDS = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    op TEXT NOT NULL,
    implementation TEXT NOT NULL,
    target TEXT NOT NULL,
    case_name TEXT NOT NULL,
    base_commit TEXT NOT NULL,
    started_at TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'finished', 'stopped', 'failed')),
    ended_at TEXT,
    end_reason TEXT NOT NULL DEFAULT '',
    record TEXT NOT NULL
);
CREATE TABLE candidates (
    digest TEXT PRIMARY KEY,
    op TEXT NOT NULL,
    implementation TEXT NOT NULL,
    target TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE TABLE builds (
    digest TEXT PRIMARY KEY,
    candidate TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX builds_of_candidate ON builds (candidate);
CREATE TABLE proposals (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL REFERENCES runs (id),
    candidate TEXT REFERENCES candidates (digest),
    parent TEXT NOT NULL,
    proposer TEXT NOT NULL,
    kind TEXT NOT NULL,
    proposed_at TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX proposals_of_run ON proposals (run, sequence);
CREATE INDEX proposals_of_candidate ON proposals (candidate);
CREATE TABLE environments (
    digest TEXT PRIMARY KEY,
    machine TEXT NOT NULL,
    device_kind TEXT NOT NULL,
    toolchain TEXT NOT NULL,
    backend TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE TABLE verdicts (
    sequence INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    candidate TEXT NOT NULL REFERENCES candidates (digest),
    incumbent TEXT NOT NULL REFERENCES candidates (digest),
    op TEXT NOT NULL,
    implementation TEXT NOT NULL,
    target TEXT NOT NULL,
    tier TEXT NOT NULL,
    trust TEXT NOT NULL,
    status TEXT NOT NULL,
    ratio REAL,
    low REAL,
    high REAL,
    environment TEXT REFERENCES environments (digest),
    toolchain TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    judged_at TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX verdicts_of_candidate ON verdicts (candidate, tier, toolchain);
CREATE INDEX verdicts_of_op ON verdicts (op, status, judged_at);
CREATE TABLE verdict_cases (
    verdict TEXT NOT NULL REFERENCES verdicts (digest),
    case_name TEXT NOT NULL,
    PRIMARY KEY (verdict, case_name)
) WITHOUT ROWID;
CREATE TABLE promotions (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    run TEXT REFERENCES runs (id),
    op TEXT NOT NULL,
    candidate TEXT NOT NULL REFERENCES candidates (digest),
    verdict TEXT NOT NULL REFERENCES verdicts (digest),
    decision TEXT NOT NULL,
    decided_at TEXT NOT NULL,
    evidence TEXT,
    record TEXT NOT NULL
);
CREATE INDEX promotions_by_id ON promotions (id, sequence);
CREATE INDEX promotions_of_verdict ON promotions (verdict);
"""

_LEDGER = """
CREATE TABLE intents (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (id),
    purpose TEXT NOT NULL,
    prompt_digest TEXT NOT NULL,
    worst_nanodollars INTEGER NOT NULL CHECK (worst_nanodollars >= 0),
    worst_tokens INTEGER NOT NULL CHECK (worst_tokens >= 0),
    state TEXT NOT NULL CHECK (state IN ('open', 'replied', 'settled', 'abandoned')),
    reply_digest TEXT,
    nanodollars INTEGER,
    tokens_in INTEGER,
    tokens_out INTEGER,
    note TEXT NOT NULL DEFAULT '',
    logged_at TEXT NOT NULL,
    replied_at TEXT,
    settled_at TEXT
);
CREATE INDEX intents_of_run ON intents (run, state);
CREATE TABLE charges (
    run TEXT NOT NULL REFERENCES runs (id),
    reference TEXT NOT NULL,
    nanodollars INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    device_ns INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL,
    candidates INTEGER NOT NULL,
    PRIMARY KEY (run, reference)
) WITHOUT ROWID;
"""

_SAMPLES = """
CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    verdict TEXT REFERENCES verdicts (digest),
    op TEXT NOT NULL,
    implementation TEXT NOT NULL,
    subject TEXT NOT NULL,
    target TEXT NOT NULL,
    entry TEXT NOT NULL,
    case_name TEXT NOT NULL,
    process INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('baseline', 'candidate', 'control')),
    clock TEXT NOT NULL CHECK (clock IN ('device', 'wall')),
    environment TEXT NOT NULL REFERENCES environments (digest),
    commit_id TEXT NOT NULL,
    taken_at TEXT NOT NULL
);
CREATE INDEX series_of_cell ON series (op, entry, case_name, role, clock, taken_at);
CREATE INDEX series_of_verdict ON series (verdict);
CREATE TABLE samples (
    series INTEGER NOT NULL REFERENCES series (id),
    sequence INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    PRIMARY KEY (series, sequence)
) WITHOUT ROWID;
"""

_SEARCH = """
CREATE TABLE same_programs (
    run TEXT NOT NULL REFERENCES runs (id),
    candidate TEXT NOT NULL REFERENCES candidates (digest),
    of TEXT NOT NULL REFERENCES candidates (digest),
    PRIMARY KEY (run, candidate)
) WITHOUT ROWID;
CREATE TABLE repairs (
    run TEXT NOT NULL REFERENCES runs (id),
    number INTEGER NOT NULL,
    of INTEGER NOT NULL CHECK (of < number),
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
CREATE TABLE caps (
    sequence INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (id),
    set_at TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX caps_of_run ON caps (run, sequence);
"""

# Until now a run's verdicts were those on its candidates that were judged after it had begun, which
# mixed up two runs at work at once.
_VERDICTS_OF_RUNS = """
CREATE TABLE run_verdicts (
    run TEXT NOT NULL REFERENCES runs (id),
    verdict TEXT NOT NULL REFERENCES verdicts (digest),
    PRIMARY KEY (run, verdict)
) WITHOUT ROWID;
INSERT OR IGNORE INTO run_verdicts
    SELECT proposals.run, verdicts.digest FROM proposals
    JOIN verdicts ON verdicts.candidate = proposals.candidate
    JOIN runs ON runs.id = proposals.run
    WHERE substr(verdicts.judged_at, 1, 19) >= substr(runs.started_at, 1, 19);
"""

MIGRATIONS: tuple[Migration, ...] = (
    Migration("0001-records", _RECORDS),
    Migration("0002-ledger", _LEDGER),
    Migration("0003-samples", _SAMPLES),
    Migration("0004-search", _SEARCH),
    Migration("0005-verdicts-of-runs", _VERDICTS_OF_RUNS),
)


def migrate(connection: sqlite3.Connection, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Bring a file up to date, all steps in the caller's one transaction.

    Raises:
        NewerStoreError: the file holds a step that this checkout does not know.
    """
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, position INTEGER NOT NULL)"
    )
    applied = _applied(connection, migrations)
    for position, migration in enumerate(migrations[applied:], start=applied):
        for statement in migration.sql.split(";"):
            if statement.strip():
                connection.execute(statement)
        connection.execute("INSERT INTO migrations VALUES (?, ?)", (migration.name, position))


def demand_current(
    connection: sqlite3.Connection, migrations: tuple[Migration, ...] = MIGRATIONS
) -> None:
    """Refuse a file that can only be read and would have to be migrated first.

    Raises:
        NewerStoreError: the file holds a step that this checkout does not know.
        ReadOnlyStoreError: it lacks one that this checkout needs.
    """
    named = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").fetchone()
    if named is None or _applied(connection, migrations) < len(migrations):
        raise ReadOnlyStoreError(
            "an older checkout wrote the run store, and here it cannot be migrated: copy its folder"
            " to where there is room to write, and name that with KERNELWRIGHT_HOME"
        )


def _applied(connection: sqlite3.Connection, migrations: tuple[Migration, ...]) -> int:
    """How many of `migrations` a file has."""
    rows = connection.execute("SELECT name FROM migrations ORDER BY position").fetchall()
    applied = [row[0] for row in rows]
    known = [migration.name for migration in migrations]
    if applied != known[: len(applied)]:
        strange = next((name for name in applied if name not in known), applied[-1])
        raise NewerStoreError(
            f"the run store has step {strange!r}, which this checkout does not know: update the"
            " checkout, or name another KERNELWRIGHT_HOME"
        )
    return len(applied)
