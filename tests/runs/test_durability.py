"""What must hold when files rot, disks fill, versions differ and processes die."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from runs import files
from runs.blobs import BlobStore
from runs.errors import (
    CorruptBlobError,
    CorruptStoreError,
    DiskFullError,
    MissingBlobError,
    UnknownRecordError,
    UsageError,
)
from runs.home import data_home
from runs.store import RunStore

WRITER = """
import sys
from pathlib import Path
from runs.records import Budget, Run
from runs.store import RunStore

home, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = RunStore(home)
store.start_run(Run(id=name, op="o", implementation="i", target="t", case="c", budget=Budget(),
                    base_commit="", started_at="t"))
print("ready", flush=True)
for number in range(count):
    store.ledger.log_intent(f"{name}/{number}", name, purpose="p", prompt=b"%d" % number,
                            worst_dollars=0.5, worst_tokens=3, at="t")
    store.ledger.store_reply(f"{name}/{number}", b"reply %d" % number * 1000, at="t")
    store.ledger.settle_intent(f"{name}/{number}", dollars=0.25, tokens_in=1, tokens_out=1, at="t")
"""


def writer(home, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(home), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_write_one_store(tmp_path):
    with writer(tmp_path, "a", 20) as first, writer(tmp_path, "b", 20) as second:
        assert first.wait(60) == second.wait(60) == 0
    store = RunStore(tmp_path)
    for name in ("a", "b"):
        spent = store.ledger.spent(name)
        assert (spent.dollars, spent.tokens) == (5.0, 40)


def test_threads_share_one_store(store, make):
    store.start_run(make.run())

    def work(number: int) -> str:
        candidate = make.candidate(f"text {number % 5}")
        digest = store.record_candidate(candidate)
        store.record_proposal(make.proposal(number, digest))
        store.record_outcome(make.outcome(candidate), incumbent=make.candidate("old"))
        return digest

    with ThreadPoolExecutor(6) as pool:
        found = set(pool.map(work, range(30)))
    assert len(found) == len(store.verdicts()) == 5
    assert len(store.proposals(make.run().id)) == 30


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.1])
def test_kill_9_leaves_a_consistent_store(tmp_path, delay_s):
    with writer(tmp_path, "a", 100_000) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
    store = RunStore(tmp_path)
    with store.database.read() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        settled = connection.execute(
            "SELECT count(*) FROM intents WHERE state = 'settled'"
        ).fetchone()[0]
        replies = connection.execute(
            "SELECT reply_digest FROM intents WHERE reply_digest IS NOT NULL"
        ).fetchall()
    assert store.ledger.spent("a").tokens == 2 * settled
    assert len(store.ledger.open_intents("a")) <= 1
    for (digest,) in replies:
        store.blobs.get(digest)


def test_a_file_that_is_no_store_is_named_so(tmp_path):
    (tmp_path / "store.sqlite").write_bytes(b"not a database, but long enough to look at" * 50)
    with pytest.raises(CorruptStoreError, match="backup"):
        RunStore(tmp_path)


def test_changed_row_is_detected(store, make):
    digest = store.record_candidate(make.candidate("honest"))
    with store.database.write() as connection:
        connection.execute("UPDATE candidates SET record = replace(record, 'honest', 'forged')")
    with pytest.raises(CorruptStoreError, match="not what was stored"):
        store.candidate(digest)
    with store.database.write() as connection:
        connection.execute("UPDATE candidates SET record = '{}'")
    with pytest.raises(CorruptStoreError, match="cannot be read"):
        store.candidate(digest)


def test_corrupt_blob_is_detected_and_heals_when_put_again(tmp_path):
    blobs = BlobStore(tmp_path)
    digest = blobs.put(b"artefact")
    assert digest in blobs
    path = blobs.path(digest)
    path.write_bytes(b"artefacT")
    with pytest.raises(CorruptBlobError, match="changed on disk"):
        blobs.get(digest)
    assert blobs.put(b"artefact") == digest
    assert blobs.get(digest) == b"artefact"
    path.unlink()
    with pytest.raises(MissingBlobError):
        blobs.get(digest)
    with pytest.raises(UsageError):
        blobs.get("../../etc/passwd")


def test_full_disk_loses_nothing(tmp_path, monkeypatch):
    blobs = BlobStore(tmp_path)
    kept = blobs.put(b"kept")

    def no_space(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", no_space)
    with pytest.raises(DiskFullError, match="nothing was lost"):
        blobs.put(b"more")
    monkeypatch.undo()
    assert blobs.get(kept) == b"kept"
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [kept, "lock"]


def test_full_database_loses_nothing(store, make):
    kept = store.record_candidate(make.candidate())

    def fill() -> None:
        with store.database.write() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}")
            row = ("x", "o", "i", "t", "long" * 100_000)
            connection.execute("INSERT INTO candidates VALUES (?, ?, ?, ?, ?)", row)

    with pytest.raises(DiskFullError, match="nothing was lost"):
        fill()
    assert store.candidate(kept) == make.candidate()
    with pytest.raises(UnknownRecordError):
        store.candidate("x")


def test_home_is_one_variable(tmp_path):
    assert data_home({"KERNELWRIGHT_HOME": str(tmp_path)}) == tmp_path.resolve()
    assert data_home({}).parts[-2:] == ("runs", "archive")
    assert data_home({"KERNELWRIGHT_HOME": " "}).parts[-2:] == ("runs", "archive")


def test_replaced_file_keeps_its_mode(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o640)
    files.write_atomic(path, b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)
