"""Records to the text that is stored, and back, unchanged."""

from __future__ import annotations

import hashlib
import json

from pydantic import BaseModel, ValidationError

from runs.errors import CorruptStoreError


def encode(record: BaseModel) -> str:
    """JSON that keeps infinities and NaN, which pydantic's own JSON turns into null."""
    return json.dumps(record.model_dump(mode="json"), separators=(",", ":"))


def decode[R: BaseModel](kind: type[R], text: str) -> R:
    """The record in `text`.

    Raises:
        CorruptStoreError: it is no such record.
    """
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise CorruptStoreError(
            f"a stored {kind.__name__} cannot be read ({'.'.join(map(str, first['loc']))}:"
            f" {first['msg']}): restore the store from a backup"
        ) from error


def decode_checked[R: BaseModel](kind: type[R], text: str, digest: str) -> R:
    """Like `decode`, and the record's own digest must still be `digest`."""
    record = decode(kind, text)
    if record.digest != digest:  # pyright: ignore[reportAttributeAccessIssue]
        raise CorruptStoreError(
            f"{kind.__name__} {digest[:12]} is not what was stored: restore the store from a backup"
        )
    return record


def content_digest(record: BaseModel) -> str:
    """SHA-256 of the canonical form, whatever order its mappings were built in."""
    text = json.dumps(record.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
