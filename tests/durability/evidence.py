"""What a run has left behind, read without opening its store, and what must be true of it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.budget import device_ns
from runs.files import TEMPORARY_PREFIX
from runs.queries import RunSummary, run_summaries
from runs.store import RunStore

Judgement = tuple[str, str]
"""Tier and candidate."""


@dataclass(frozen=True)
class Snapshot:
    """What stood on disk when a process had died.

    Attributes:
        verdicts: digest -> judgement.
        judged: what the judge finished, stored or not, in order.
        replied: requests whose reply is stored -> digest of their prompt.
        asked: prompts that the server has seen, in order.
    """

    verdicts: dict[str, Judgement]
    judged: list[Judgement]
    replied: dict[str, str]
    asked: list[str]

    @property
    def unrecorded(self) -> Counter[Judgement]:
        """Judged, and no verdict of it stored: these alone may be judged again."""
        return Counter(self.judged) - Counter(self.verdicts.values())


def prompt_of(body: dict[str, Any]) -> str:
    """What tells one request from another: its messages."""
    return canonical([{"role": m["role"], "content": m["content"]} for m in body["messages"]])


def canonical(messages: Any) -> str:
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()


def diary(folder: Path, name: str = "") -> list[Judgement]:
    path = folder / f"diary{name}"
    if not path.exists():
        return []
    rows = [line.split() for line in path.read_text().splitlines()]
    return [(tier, candidate) for tier, _, candidate in rows]


def snapshot(folder: Path, requests: Sequence[dict[str, Any]] = ()) -> Snapshot:
    """Look at a folder that nobody works in. Reading it mends nothing: no sweep, no migration."""
    verdicts: dict[str, Judgement] = {}
    replied: dict[str, str] = {}
    path = folder / "home" / "store.sqlite"
    if path.exists() and path.stat().st_size:
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
            if "samples" in tables:
                for digest, tier, candidate in connection.execute(
                    "SELECT digest, tier, candidate FROM verdicts"
                ):
                    verdicts[digest] = (tier, candidate)
                for name, prompt in connection.execute(
                    "SELECT id, prompt_digest FROM intents WHERE reply_digest IS NOT NULL"
                ):
                    replied[name] = prompt_of_blob(folder / "home", prompt)
    return Snapshot(verdicts, diary(folder), replied, [prompt_of(body) for body in requests])


def prompt_of_blob(home: Path, digest: str) -> str:
    return canonical(json.loads((home / "blobs" / digest[:2] / digest).read_bytes()))


def check_files(home: Path) -> None:
    """Every file of the store is whole, and nothing half written is left."""
    for path in (home / "store.sqlite", *sorted((home / "checkpoints").glob("*.sqlite"))):
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok", path
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    for path in (home / "blobs").glob("??/*"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    assert not [p for p in home.rglob("*") if p.name.startswith(TEMPORARY_PREFIX)]


def check(
    folder: Path, dead: Sequence[Snapshot], requests: Sequence[dict[str, Any]] = ()
) -> RunSummary:
    """Everything that must hold once a run that was killed has been resumed to its end.

    Args:
        dead: what stood there after each kill, in order.
        requests: bodies of all requests that the server saw.
    """
    store = RunStore(folder / "home")
    check_files(folder / "home")
    (summary,) = run_summaries(store)
    assert summary.state == "finished" or "awaiting review" in summary.end_reason
    last = snapshot(folder, requests)
    _check_verdicts(last, dead)
    _check_requests(folder / "home", store, summary.run.id, last, dead)
    _check_ledger(store, summary)
    numbers = [int(p.id.rpartition("/")[2]) for p in store.proposals(summary.run.id)]
    assert sorted(numbers) == list(range(len(numbers)))
    return summary


def _check_verdicts(last: Snapshot, dead: Sequence[Snapshot]) -> None:
    judged = Counter(last.judged)
    # Every judgement has one verdict, and every verdict was judged.
    assert Counter(last.verdicts.values()) == Counter(set(judged))
    # One judgement is under way at a time, so a kill can cost one.
    lost: Counter[Judgement] = Counter()
    for before in dead:
        assert before.verdicts.items() <= last.verdicts.items(), "a verdict was lost"
        later = last.judged[len(before.judged) :]
        again = set(before.verdicts.values()) & set(later)
        assert not again, "judged although its verdict was stored"
        new = before.unrecorded - lost
        assert new.total() <= 1
        lost += new
    for judgement, count in judged.items():
        assert count <= 1 + lost[judgement], "judged twice without a reason"


def _check_requests(
    home: Path, store: RunStore, run: str, last: Snapshot, dead: Sequence[Snapshot]
) -> None:
    with store.database.read() as connection:
        rows = connection.execute("SELECT prompt_digest FROM intents WHERE run = ?", (run,))
        intended = Counter(prompt_of_blob(home, row[0]) for row in rows)
    assert Counter(last.asked) <= intended, "a request was sent that nobody meant to send"
    for before in dead:
        later = last.asked[len(before.asked) :]
        assert not set(before.replied.values()) & set(later), "sent although its reply was stored"
        assert before.replied.items() <= last.replied.items(), "a reply was lost"
    for intent in store.ledger.open_intents(run):
        raise AssertionError(f"request {intent.id} is {intent.state} at the end")


def _check_ledger(store: RunStore, summary: RunSummary) -> None:
    """What the sums say is what the single lines say."""
    run, spent = summary.run.id, summary.spent
    verdicts = store.verdicts(run=run)
    made = {proposal.candidate for proposal in store.proposals(run)}
    # A look at the incumbent is paid for and counts as no candidate.
    assert spent.candidates == sum(v.tier == "screen" and v.candidate in made for v in verdicts)
    assert spent.device_ns == sum(device_ns(v) for v in verdicts)
    assert spent.wall_ns > 0
    with store.database.read() as connection:
        paid = connection.execute(
            "SELECT total(CASE state WHEN 'settled' THEN nanodollars ELSE worst_nanodollars END),"
            " total(CASE state WHEN 'settled' THEN tokens_in + tokens_out ELSE worst_tokens END)"
            " FROM intents WHERE run = ?",
            (run,),
        ).fetchone()
    assert (round(spent.dollars * 1e9), spent.tokens) == (int(paid[0]), int(paid[1]))
    assert spent.reserved_dollars == spent.reserved_tokens == 0
