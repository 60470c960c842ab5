"""Unified diffs that `git apply` takes."""

from __future__ import annotations

import difflib
import json

from sandbox.records import Candidate

CONFIG_FILE = "config.json"
_NO_NEWLINE = "\\ No newline at end of file\n"


def text_diff(before: str | None, after: str | None, path: str) -> str:
    """The diff of one file, empty when nothing differs; None: the file is not there."""
    if before == after:
        return ""
    lines = difflib.unified_diff(
        _lines(before or ""),
        _lines(after or ""),
        "/dev/null" if before is None else f"a/{path}",
        "/dev/null" if after is None else f"b/{path}",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


def _lines(text: str) -> list[str]:
    # str.splitlines also breaks at form feeds and Unicode separators, which git does not.
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def candidate_diff(incumbent: Candidate, candidate: Candidate) -> str:
    """What a candidate changes: the module's text, or the configs that it names."""
    module = f"{candidate.implementation}.py"
    parts = [
        text_diff(
            incumbent.files.get(module),
            candidate.files.get(module),
            f"reference_kernels/{candidate.op}/{module}",
        )
    ]
    if CONFIG_FILE in candidate.files:
        named = _configs(candidate)
        shipped = {key: value for key, value in _configs(incumbent).items() if key in named}
        parts.append(text_diff(_pretty(shipped) if shipped else None, _pretty(named), CONFIG_FILE))
    return "".join(parts)


def _configs(candidate: Candidate) -> dict[str, object]:
    try:
        configs = json.loads(candidate.files.get(CONFIG_FILE) or "{}")
    except ValueError:
        return {"(not JSON)": candidate.files[CONFIG_FILE]}
    return configs if isinstance(configs, dict) else {"(no JSON object)": configs}


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"
