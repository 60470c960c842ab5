"""Content-addressed files: artefacts, traces, prompts, replies, evidence."""

from __future__ import annotations

import fcntl
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runs.errors import CorruptBlobError, MissingBlobError, UsageError
from runs.faults import of_system
from runs.files import TEMPORARY_PREFIX, write_atomic

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ASIDE = "writing"


class BlobStore:
    """SHA-256 -> bytes, in `folder/ab/abcdef...`. A blob is written once and never changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, digest: str) -> Path:
        """Where a blob lies, whether or not it is there."""
        if not _DIGEST.fullmatch(digest):
            raise UsageError(f"{digest[:80]!r} is no SHA-256 digest of 64 hex digits")
        return self.folder / digest[:2] / digest

    def put(self, data: bytes) -> str:
        """Store `data` and return its digest; storing it again is free.

        Raises:
            DiskFullError: nothing was stored, and nothing that was stored is lost.
        """
        digest = hashlib.sha256(data).hexdigest()
        path = self.path(digest)
        if not self._intact(path, digest):
            with self._writing() as aside:
                write_atomic(path, data, aside)
        return digest

    def sweep(self) -> int:
        """Remove what killed processes left half written, unless a living one is writing now.

        Returns:
            How many files were removed.
        """
        aside = self.folder / _ASIDE
        strays = list(aside.glob(f"{TEMPORARY_PREFIX}*"))
        if not strays:
            return 0
        with (aside / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return 0
            for stray in strays:
                stray.unlink(missing_ok=True)
        return len(strays)

    @contextmanager
    def _writing(self) -> Iterator[Path]:
        """The folder to write aside in, while no sweep goes on."""
        aside = self.folder / _ASIDE
        try:
            aside.mkdir(parents=True, exist_ok=True)
            lock = (aside / "lock").open("a")
        except OSError as error:
            raise of_system(error, "a blob") from error
        with lock:
            # The lock goes with the process, however it ends.
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield aside

    def get(self, digest: str) -> bytes:
        """The bytes of a blob, checked against its digest.

        Raises:
            MissingBlobError, CorruptBlobError
        """
        path = self.path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise MissingBlobError(
                f"blob {digest[:12]} is not in {self.folder.name}/; restore it from a backup or"
                " judge the candidate again"
            ) from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise CorruptBlobError(
                f"blob {digest[:12]} was changed on disk after it was stored; delete"
                f" {digest[:2]}/{digest} and judge the candidate again"
            )
        return data

    def __contains__(self, digest: str) -> bool:
        return self.path(digest).is_file()

    @staticmethod
    def _intact(path: Path, digest: str) -> bool:
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == digest
        except FileNotFoundError:
            return False
