"""What a promotion writes: the files' new texts, worked out first and applied all or none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reference_kernels import tuning
from runs.diffs import CONFIG_FILE, text_diff
from runs.errors import CheckoutError, NotPromotableError
from runs.files import write_atomic
from runs.incumbent import module_path, read_text, tuning_path
from sandbox.records import Candidate

Entries = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Edit:
    """One file, relative to the checkout, before and after; None: not there."""

    path: str
    before: str | None
    after: str | None

    @property
    def diff(self) -> str:
        return text_diff(self.before, self.after, self.path)


@dataclass(frozen=True)
class Plan:
    """All edits of one promotion.

    Attributes:
        kind: `source` replaces the module's text, `tuned` adds configs.
        source: the edit of the module, None for `tuned`.
        tuned: the edit of the tuning data, None where it stays.
        before: the tuning entries that are replaced; None where there is none.
        after: what they become.
    """

    kind: Literal["source", "tuned"]
    source: Edit | None
    tuned: Edit | None
    before: dict[str, dict[str, Any] | None]
    after: Entries

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(edit for edit in (self.source, self.tuned) if edit is not None)

    @property
    def patch(self) -> str:
        return "".join(edit.diff for edit in self.edits)


def configs_of(candidate: Candidate) -> dict[str, dict[str, Any]]:
    """The configs a candidate names, by shape key.

    Raises:
        NotPromotableError: its files are not what the candidate contract allows.
    """
    allowed = {f"{candidate.implementation}.py", CONFIG_FILE}
    strange = sorted(set(candidate.files) - allowed)
    if strange or f"{candidate.implementation}.py" not in candidate.files:
        raise NotPromotableError(
            f"a candidate holds {candidate.implementation}.py and at most {CONFIG_FILE}; this one"
            f" holds {', '.join(sorted(candidate.files))}"
        )
    if CONFIG_FILE not in candidate.files:
        return {}
    try:
        configs = json.loads(candidate.files[CONFIG_FILE])
    except ValueError:
        configs = None
    if not (
        isinstance(configs, dict)
        and configs
        and all(isinstance(fields, dict) for fields in configs.values())
    ):
        raise NotPromotableError(f"{CONFIG_FILE} is no object of shape keys and config fields")
    return configs


def plan_edits(checkout: Path, candidate: Candidate, *, device_kind: str, verdict: str) -> Plan:
    """Work out what the candidate changes in this checkout, and touch nothing.

    A new text keeps the configs that are shipped for its module: it was judged with them.
    """
    op, implementation = candidate.op, candidate.implementation
    configs = configs_of(candidate)
    path = module_path(op, implementation)
    source = Edit(path, read_text(checkout, path), candidate.files[f"{implementation}.py"])
    if source.before != source.after:
        if configs:
            raise NotPromotableError(
                "a candidate changes the module's text or its configs: judge and promote one at a"
                " time"
            )
        return Plan("source", source, None, {}, {})
    path = tuning_path(device_kind)
    text = read_text(checkout, path)
    entries = tuning_entries(text, path)
    after = {}
    for key, fields in sorted(configs.items()):
        full_key = tuning.entry_key(op, implementation, key)
        if entries.get(full_key, {}).get("config") != fields:
            after[full_key] = {"config": fields, "evidence": verdict}
    new_text = tuning_text(device_kind, {**entries, **after})
    return Plan(
        kind="tuned",
        source=None,
        tuned=Edit(path, text, new_text) if after else None,
        before={key: entries.get(key) for key in after},
        after=after,
    )


def tuning_entries(text: str | None, path: str) -> Entries:
    """The entries of a tuning file; none when there is no file.

    Raises:
        CheckoutError: it is not tuning data.
    """
    if text is None:
        return {}
    try:
        entries = json.loads(text)["entries"]
        return {key: dict(entry) for key, entry in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckoutError(f"{path} is not tuning data ({error}): check it out again") from error


def tuning_text(device_kind: str, entries: Entries) -> str:
    """A tuning file's text: the same entries always give the same bytes."""
    data = {"device_kind": device_kind, "entries": entries}
    return json.dumps(data, indent=2, sort_keys=True) + "\n"


def apply_edits(checkout: Path, edits: Sequence[Edit]) -> None:
    """Write every file, each in one step; when one fails, put the earlier ones back."""
    done: list[Edit] = []
    try:
        for edit in edits:
            _write(checkout, edit.path, edit.after)
            done.append(edit)
    except BaseException:
        undo_edits(checkout, done)
        raise


def undo_edits(checkout: Path, edits: Sequence[Edit]) -> None:
    for edit in reversed(edits):
        _write(checkout, edit.path, edit.before)


def _write(checkout: Path, path: str, text: str | None) -> None:
    file = checkout / path
    if text is None:
        file.unlink(missing_ok=True)
        if file.parent.name == "evidence" and not any(file.parent.iterdir()):
            file.parent.rmdir()
    else:
        write_atomic(file, text.encode())
