"""Ids and times: short, sortable, in UTC."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def iso(moment: datetime) -> str:
    """`2026-11-30T23:15:00.250000+00:00`: fixed width, so that text order is time order."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def utc_now() -> str:
    return iso(datetime.now(UTC))


def stamp(moment: datetime) -> str:
    """`20261130-231500`."""
    return moment.astimezone(UTC).strftime("%Y%m%d-%H%M%S")


def new_id(now: datetime | None = None) -> str:
    """A run id: `20261130-231500-ab12`."""
    return f"{stamp(now or datetime.now(UTC))}-{secrets.token_hex(2)}"
