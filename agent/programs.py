"""When two candidates are the same program: comments, layout and docstrings do not count."""

from __future__ import annotations

import ast
import hashlib
import json
from functools import lru_cache

from sandbox.records import Candidate


@lru_cache(maxsize=512)
def normalised(source: str) -> str:
    """The source without comments, layout and docstrings; as it is where it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body
            if (
                body
                and isinstance(body[0], ast.Expr)
                and isinstance(body[0].value, ast.Constant)
                and isinstance(body[0].value.value, str)
            ):
                node.body = body[1:] or [ast.Pass()]
    try:
        return ast.unparse(tree)
    except RecursionError:
        return source


def source_digest(source: str) -> str:
    """SHA-256 of the normalised source."""
    return hashlib.sha256(normalised(source).encode()).hexdigest()


def program_digest(candidate: Candidate) -> str:
    """SHA-256 of a candidate's normalised files: equal for what can only judge the same."""
    parts = {
        name: normalised(text) if name.endswith(".py") else _plain(text)
        for name, text in candidate.files.items()
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _plain(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text
