"""When two candidates are the same program by their text: see `canonical`."""

from __future__ import annotations

import ast
import hashlib
import json
from functools import lru_cache

from agent.canonical import canonical
from sandbox.records import Candidate


def normalised(source: str) -> str:
    """The source's canonical syntax tree as text; the source where it does not parse."""
    try:
        return ast.dump(canonical(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source


@lru_cache(maxsize=4096)
def source_digest(source: str) -> str:
    """SHA-256 of the normalised source."""
    return hashlib.sha256(normalised(source).encode("utf-8", "surrogatepass")).hexdigest()


def program_digest(candidate: Candidate) -> str:
    """SHA-256 of a candidate's normalised files: equal for what can only judge the same."""
    parts = {
        name: source_digest(text) if name.endswith(".py") else _plain(text)
        for name, text in candidate.files.items()
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _plain(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text
