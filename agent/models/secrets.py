"""Keep keys out of everything that is stored or shown, also when a server sends one back."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from urllib.parse import quote

MESSAGE_CHARACTERS = 300
HIDDEN = "***"
SHORTEST = 8
"""Shorter values are no keys, and would be found in innocent text."""

_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL")
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|key|Bearer|Basic)[-_ ][\w*.\-+/=]{4,}|\bAIza[\w-]{20,}"
    r"|\b(?:gsk|xai|hf|ghp)_\w{8,}|(?<=://)[^/\s:@]*:[^/\s@]*(?=@)"
)


def without_keys(text: str) -> str:
    """The text without any value of the environment's secret variables, in any usual spelling."""
    for value in _values():
        for spelling in (value, quote(value, safe=""), base64.b64encode(value.encode()).decode()):
            text = text.replace(spelling, HIDDEN)
    return text


def scrubbed(text: str) -> str:
    """An error message without anything that looks like a key, on one line, cut to size."""
    text = _SHAPES.sub(HIDDEN, without_keys(text))
    return " ".join(text.split())[:MESSAGE_CHARACTERS]


def _values() -> Iterator[str]:
    # The longest first: one key may begin with another.
    found = {v for name, v in os.environ.items() if len(v) >= SHORTEST and _NAMES.search(name)}
    yield from sorted(found, key=lambda value: (-len(value), value))
