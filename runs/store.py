"""The run store: the record of truth. SQLite for records, a folder of blobs for bytes.

Every write is one transaction and idempotent by digest or id, so that a step killed half-way is
simply done again. Threads and processes may share one store.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evaluators.api import Outcome
from evaluators.verdict import Status, Tier, Verdict
from runs.blobs import BlobStore
from runs.codec import decode_checked
from runs.database import Database
from runs.errors import AmbiguousIdError, CorruptBlobError, UnknownRecordError, UnknownRunError
from runs.ledger import Ledger
from runs.promotion_rows import PromotionRows
from runs.rows import (
    IDS,
    Kind,
    insert_build,
    insert_candidate,
    insert_cases,
    insert_verdict,
    link_verdict,
    no_record,
    text_of,
)
from runs.run_rows import RunRows
from runs.samples import Samples, insert_series, series_of
from sandbox.records import Build, Candidate


class RunStore(RunRows, PromotionRows):
    """Everything that was proposed, built, judged, decided and paid.

    Attributes:
        home: the folder; made when it is not there.
        blobs: bytes by digest.
        ledger: paid requests and caps.
        samples: raw samples.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.database = Database(home / "store.sqlite")
        self.blobs = BlobStore(home / "blobs")
        if self.database.refusal is None:
            self.blobs.sweep()
        self.ledger = Ledger(self.database, self.blobs)
        self.samples = Samples(self.database)

    def resolve(self, kind: Kind, prefix: str) -> str:
        """The full id or digest that begins with `prefix`.

        Raises:
            UnknownRunError, UnknownRecordError: none does.
            AmbiguousIdError: several do.
        """
        table, column = IDS[kind]
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT DISTINCT {column} FROM {table} WHERE substr({column}, 1, ?) = ? LIMIT 3",
                (len(prefix), prefix),
            ).fetchall()
        found = [row[0] for row in rows]
        if prefix in found:
            return prefix
        if not found or not prefix:
            error = UnknownRunError if kind == "run" else UnknownRecordError
            raise error(f"no {kind} begins with {prefix!r}: see `kernelwright runs list`")
        if len(found) > 1:
            raise AmbiguousIdError(f"several {kind}s begin with {prefix!r}: give more of it")
        return found[0]

    def record_candidate(self, candidate: Candidate) -> str:
        with self.database.write() as connection:
            return insert_candidate(connection, candidate)

    def candidate(self, digest: str) -> Candidate:
        with self.database.read() as connection:
            return decode_checked(Candidate, text_of(connection, "candidate", digest), digest)

    def record_build(self, build: Build) -> str:
        with self.database.write() as connection:
            return insert_build(connection, build)

    def build(self, digest: str) -> Build:
        with self.database.read() as connection:
            return decode_checked(Build, text_of(connection, "build", digest), digest)

    def record_outcome(
        self,
        outcome: Outcome,
        *,
        incumbent: Candidate,
        cases: Sequence[str] = (),
        toolchain: str = "",
        commit: str = "",
        run: str | None = None,
    ) -> str:
        """Store a verdict and all that it names, in one step; return its digest.

        Args:
            incumbent: the library's text that was current at judgement (`runs.incumbent`).
            cases: names of the cases judged, where no cell and no artefact says: `build_failed`.
            toolchain: what `find_verdict` will ask for; left out, the environment's or the build's.
            commit: the checkout's commit.
            run: the run that asked; left out, the verdict counts for each that proposed it.

        Raises:
            UnknownRecordError: the candidate is not stored yet.
            CorruptBlobError: bytes came with a digest that is not theirs.
        """
        verdict = outcome.verdict
        for digest, data in outcome.blobs.items():
            if self.blobs.put(data) != digest:
                raise CorruptBlobError(
                    f"bytes named {digest[:12]} have another digest: judge again"
                )
        with self.database.write() as connection:
            text_of(connection, "candidate", verdict.candidate)
            origin = insert_candidate(connection, incumbent)
            for build in outcome.builds:
                insert_build(connection, build)
            made_with = toolchain or _toolchain(outcome)
            if insert_verdict(connection, verdict, origin, made_with, commit):
                insert_cases(connection, verdict, outcome.builds, cases)
                for series in series_of(verdict, incumbent=origin, commit=commit):
                    insert_series(connection, series)
            link_verdict(connection, verdict, run)
        return verdict.digest

    def verdict(self, digest: str) -> Verdict:
        with self.database.read() as connection:
            return decode_checked(Verdict, text_of(connection, "verdict", digest), digest)

    def incumbent_of(self, verdict_digest: str) -> Candidate:
        """The library's text that a verdict was made against."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT incumbent FROM verdicts WHERE digest = ?", (verdict_digest,)
            ).fetchone()
        if row is None:
            raise no_record("verdict", verdict_digest)
        return self.candidate(row["incumbent"])

    def find_verdict(
        self,
        candidate: str,
        *,
        tier: Tier,
        toolchain: str,
        case: str | None = None,
        incumbent: str | None = None,
    ) -> Verdict | None:
        """The latest verdict of this kind, so that nothing is judged twice."""
        tests = {"candidate = ?": candidate, "tier = ?": tier, "toolchain = ?": toolchain}
        if incumbent is not None:
            tests["incumbent = ?"] = incumbent
        if case is not None:
            tests["digest IN (SELECT verdict FROM verdict_cases WHERE case_name = ?)"] = case
        found = self._verdicts(tests, "DESC LIMIT 1")
        return found[0] if found else None

    def verdicts(
        self,
        *,
        run: str | None = None,
        candidate: str | None = None,
        tier: Tier | None = None,
        status: Status | None = None,
    ) -> tuple[Verdict, ...]:
        """Verdicts in the order they were stored; `run`: those that the run asked for."""
        tests: dict[str, str] = {}
        if run is not None:
            tests["digest IN (SELECT verdict FROM run_verdicts WHERE run = ?)"] = run
        if candidate is not None:
            tests["candidate = ?"] = candidate
        if tier is not None:
            tests["tier = ?"] = tier
        if status is not None:
            tests["status = ?"] = str(status)
        return self._verdicts(tests, "ASC")

    def _verdicts(self, tests: dict[str, str], order: str) -> tuple[Verdict, ...]:
        where = " AND ".join(tests) or "1"
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT digest, record FROM verdicts WHERE {where} ORDER BY sequence {order}",
                tuple(tests.values()),
            ).fetchall()
        return tuple(decode_checked(Verdict, row["record"], row["digest"]) for row in rows)


def _toolchain(outcome: Outcome) -> str:
    if outcome.verdict.environment is not None:
        return outcome.verdict.environment.toolchain
    return outcome.builds[0].toolchain if outcome.builds else ""
