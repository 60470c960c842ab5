"""`kernelwright doctor`: what this machine has, and for each lack the command that mends it."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass

from agent.cli import output, wiring
from agent.cli.failures import ExitCode
from agent.cli.options import Debug, Home, Json


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `needed`: without it the default settings do not work."""

    name: str
    found: bool
    detail: str
    mend: str = ""
    needed: bool = True


def doctor(home: Home = None, json: Json = False, debug: Debug = False) -> int:
    """Look at what this machine has.

    0 when all is there, 3 when something needed is missing; each lack with what mends it.
    """
    checks: tuple[Callable[[], Finding], ...] = (
        _python,
        _jax,
        _git,
        _docker,
        _image,
        lambda: _store(home),
    )
    findings = [check() for check in checks]
    if json:
        output.dump_json({"findings": [asdict(finding) for finding in findings]})
    else:
        rows = [
            (f.name, "yes" if f.found else "NO" if f.needed else "no", f.detail, f.mend)
            for f in findings
        ]
        output.show(output.table(("what", "there", "detail", "mend it with"), rows))
    lacking = any(f.needed and not f.found for f in findings)
    return ExitCode.INFRASTRUCTURE if lacking else ExitCode.DONE


def _python() -> Finding:
    good = sys.version_info >= (3, 12)
    return Finding("python", good, platform.python_version(), "" if good else "make clean setup")


def _jax() -> Finding:
    try:
        import jax

        devices = sorted({device.device_kind for device in jax.devices()})
    except Exception as error:
        return Finding("jax", False, f"{type(error).__name__}: {error}", "make setup")
    return Finding("jax", True, f"{jax.__version__}; devices: {', '.join(devices)}")


def _git() -> Finding:
    if shutil.which("git") is None:
        return Finding("git", False, "not on the PATH", "apt-get install git")
    commit = wiring.head_commit()
    if not commit:
        return Finding("git", False, "the workbench is not in a git checkout", "git clone it")
    return Finding("git", True, f"checkout at {output.short(commit)}")


def _docker() -> Finding:
    import sandbox

    try:
        sandbox.open_backend("docker").check()
    except sandbox.InfrastructureError as error:
        return Finding("docker", False, str(error), "make docker")
    return Finding("docker", True, "the daemon answers")


def _image() -> Finding:
    mend = "make image"
    try:
        asked = subprocess.run(
            [
                "docker",
                "image",
                "ls",
                "--format",
                "{{.Repository}}:{{.Tag}}",
                "kernelwright-sandbox",
            ],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("image", False, f"docker cannot be asked: {error}", mend, needed=False)
    tags = asked.stdout.split()
    if not tags:
        return Finding("image", False, "made on first use", mend, needed=False)
    return Finding("image", True, ", ".join(tags))


def _store(home: object) -> Finding:
    try:
        folder = wiring.store(home).home  # type: ignore[arg-type]
        free = shutil.disk_usage(folder).free
    except Exception as error:
        return Finding("store", False, str(error), "set KERNELWRIGHT_HOME to a folder of yours")
    return Finding("store", True, f"{folder}; {free / 1e9:.0f} GB free")
