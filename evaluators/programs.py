"""The identity of what was judged: the lowered programs, whatever text they came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping


def key_of_programs(programs: Mapping[str, str]) -> str:
    """SHA-256 of `entry|case` -> program digest."""
    return hashlib.sha256(json.dumps(programs, sort_keys=True).encode()).hexdigest()
