"""Disks that are small, and folders that are read-only also to root: mounting takes root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SMALL_BYTES = 8 << 20


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of a few megabytes at `folder`."""
    folder.mkdir(parents=True)
    with _mounted(folder, "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "tmpfs"):
        yield folder


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing can be written in `folder`, by whomever."""
    if os.geteuid() == 0:
        with _mounted(folder, "--bind", str(folder)):
            _mount("-o", "remount,ro,bind", str(folder))
            yield
        return
    inside = [path for path in (folder, *folder.rglob("*")) if path.is_dir()]
    for path in inside:
        path.chmod(0o555)
    try:
        yield
    finally:
        for path in inside:
            path.chmod(0o755)


@contextmanager
def _mounted(folder: Path, *arguments: str) -> Iterator[None]:
    _mount(*arguments, str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*arguments: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    found = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {found.stderr.strip()}")
