"""A fresh run store, and an environment without anyone's keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from runs.records import Budget, Run
from runs.store import RunStore


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "home")


@pytest.fixture
def run(store: RunStore) -> Run:
    """A stored run on the toy op, with roomy caps."""
    return start_run(store)


def start_run(store: RunStore, budget: Budget | None = None) -> Run:
    record = Run(
        id="20261130-231500-ab12",
        op="toy",
        implementation="xla",
        target="cpu",
        case="steering",
        budget=budget or Budget(),
        base_commit="",
        started_at="2026-11-30T23:15:00.000000+00:00",
    )
    store.start_run(record)
    return record


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
