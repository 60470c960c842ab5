"""The command line as a person runs it, in this checkout and in a scratch copy of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        return json.loads(self.stdout)


@dataclass(frozen=True)
class Workbench:
    """`kernelwright` of one checkout with one home."""

    checkout: Path
    home: Path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "agent.cli", *arguments, "--home", str(self.home), "--json"]

    def environment(self, **extra: str) -> dict[str, str]:
        kept = ("PATH", "HOME", "TMPDIR", "DOCKER_HOST", "LANG")
        found = {name: os.environ[name] for name in kept if name in os.environ}
        return {**found, "PYTHONWARNINGS": "ignore", **extra}

    def start(self, *arguments: str, **extra: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.checkout,
            env=self.environment(**extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **extra: str) -> Ran:
        process = self.start(*arguments, **extra)
        stdout, stderr = process.communicate(timeout=580)
        return Ran(process.returncode, stdout, stderr)

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.checkout, check=True, capture_output=True, text=True
        ).stdout


@pytest.fixture
def workbench(tmp_path: Path) -> Workbench:
    return Workbench(ROOT, tmp_path / "home")


@pytest.fixture
def scratch(tmp_path: Path) -> Workbench:
    """A copy of this tree, as it is, in a repository of its own."""
    checkout = tmp_path / "clone"
    bench = Workbench(checkout, tmp_path / "home")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, checkout / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    checkout.chmod(0o755)
    bench.git("init", "--quiet", "--initial-branch=main")
    bench.git("config", "user.name", "A Reviewer")
    bench.git("config", "user.email", "reviewer@example.org")
    bench.git("add", "--all")
    bench.git("commit", "--quiet", "--message", "the tree as it is")
    return bench


@pytest.fixture
def wait_until() -> Callable[[Callable[[], bool], float], None]:
    import time

    def wait(condition: Callable[[], bool], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, "it never came about"
            time.sleep(0.1)

    return wait
