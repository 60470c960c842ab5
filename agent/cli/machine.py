"""What `doctor` looks at: one function a thing, each of which answers and none of which raises."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.cli import output, wiring
from agent.cli.failures import describe

LEAST_FREE_BYTES = 1 << 30
LEAST_MEMORY_BYTES = 4 << 30
GIB = 1 << 30

# Key variables of providers that do not end in `_API_KEY`.
OTHER_KEYS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "GITHUB_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HF_TOKEN",
    "WATSONX_APIKEY",
)
# Where a provider's variable is not its prefix and `_API_KEY`. No variable: it needs no key.
KEY_OF = {
    "bedrock": "AWS_ACCESS_KEY_ID",
    "huggingface": "HF_TOKEN",
    "hosted_vllm": "",
    "lm_studio": "",
    "ollama": "",
    "ollama_chat": "",
    "together_ai": "TOGETHERAI_API_KEY",
    "vertex_ai": "GOOGLE_APPLICATION_CREDENTIALS",
}


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `needed`: without it the default settings do not work."""

    name: str
    found: bool
    detail: str
    mend: str = ""
    needed: bool = True


def python() -> Finding:
    good = sys.version_info >= (3, 12)
    return Finding("python", good, platform.python_version(), "" if good else "make clean setup")


def jax() -> Finding:
    try:
        import jax

        devices = sorted({device.device_kind for device in jax.devices()})
    except Exception as error:
        return Finding("jax", False, f"{type(error).__name__}: {error}", "make setup")
    return Finding("jax", True, f"{jax.__version__}; devices: {', '.join(devices)}")


def packages() -> list[Finding]:
    """Packages of some verbs and proposers. Their versions are read; importing them takes long."""
    wanted = {
        "xprof": ("make setup", True),
        "litellm": ("make setup", True),
        "torch": ("make setup-test", False),
        "triton": ("make setup-test", False),
    }
    found = []
    for name, (mend, needed) in wanted.items():
        try:
            found.append(Finding(name, True, importlib.metadata.version(name), needed=needed))
        except importlib.metadata.PackageNotFoundError:
            found.append(Finding(name, False, "not installed", mend, needed=needed))
    return found


def git() -> Finding:
    if shutil.which("git") is None:
        return Finding("git", False, "not on the PATH", "apt-get install git")
    commit = wiring.head_commit()
    if not commit:
        return Finding("git", False, "the workbench is not in a git checkout", "git clone it")
    return Finding("git", True, f"checkout at {output.short(commit)}")


def docker(*, needed: bool) -> Finding:
    from sandbox.daemon import Daemon

    address = os.environ.get("DOCKER_HOST", "")
    at = f"DOCKER_HOST={address}: " if address else ""
    try:
        with Daemon().client() as client:
            version = client.version().get("Version", "of no known version")
    except Exception as error:
        mend = "unset DOCKER_HOST, or start that daemon" if address else "make docker"
        return Finding("docker", False, f"{at}{describe(error).message}", mend, needed)
    return Finding("docker", True, f"{at}daemon {version}", needed=needed)


def image() -> Finding:
    """The sandbox's image, one of the two that `auto` takes."""
    from sandbox.daemon import Daemon
    from sandbox.image import host, registry
    from sandbox.image.model import find

    try:
        with Daemon().client() as client:
            tags = [plan().tag for plan in (registry.plan, host.plan)]
            made = [tag for tag in tags if find(client, tag)]
    except Exception:
        return Finding("image", False, "no daemon to ask", "make image", needed=False)
    if not made:
        return Finding("image", False, "made on first use", "make image", needed=False)
    return Finding("image", True, made[0], needed=False)


def cores() -> Finding:
    from evaluators.policy import Policy

    usable = os.sched_getaffinity(0)
    named = Policy().pinned_core
    # As `evaluators.judging` chooses it.
    pinned = named if named is not None else max(usable)
    detail = f"{len(usable)} usable; times on core {pinned}"
    if len(usable) < 2:
        return Finding(
            "cores", False, f"{detail}, beside everything else", "a machine with two", needed=False
        )
    return Finding("cores", True, detail, needed=False)


def memory() -> Finding:
    import psutil

    found = psutil.virtual_memory()
    detail = f"{found.total / GIB:.1f} GiB, {found.available / GIB:.1f} GiB available"
    enough = found.available >= LEAST_MEMORY_BYTES
    mend = "" if enough else f"leave {LEAST_MEMORY_BYTES / GIB:.0f} GiB to it"
    return Finding("memory", enough, detail, mend, needed=False)


def store(home: str) -> Finding:
    """The run store's folder, without making it."""
    from runs.home import data_home

    try:
        folder = data_home({"KERNELWRIGHT_HOME": home} if home else None)
    except Exception as error:
        return Finding("store", False, describe(error).message, _ELSEWHERE)
    above = next(path for path in (folder, *folder.parents) if path.exists())
    if not above.is_dir():
        return Finding("store", False, f"{above} is a file, not a folder", _ELSEWHERE)
    if not os.access(above, os.W_OK | os.X_OK):
        return Finding("store", False, f"{above} cannot be written", _ELSEWHERE)
    database = folder / "store.sqlite"
    if database.exists():
        try:
            # Only where there is one: opening makes it.
            wiring.store(folder)
        except Exception as error:
            return Finding("store", False, describe(error).message, _ELSEWHERE)
    return _room("store", above, str(folder), _ELSEWHERE)


_ELSEWHERE = "export KERNELWRIGHT_HOME=a folder of yours"


def scratch() -> Finding:
    """Where builds and jobs put their files while they run."""
    try:
        folder = Path(tempfile.gettempdir())
    except OSError as error:
        return Finding("scratch", False, str(error), "export TMPDIR=a folder of yours")
    return _room("scratch", folder, str(folder), "export TMPDIR=a folder with more room")


def _room(name: str, folder: Path, detail: str, mend: str) -> Finding:
    free = shutil.disk_usage(folder).free
    detail = f"{detail}; {free / GIB:.1f} GiB free"
    enough = free >= LEAST_FREE_BYTES
    return Finding(name, enough, detail, "" if enough else f"free some, or {mend}")


def keys() -> Finding:
    """Names of the keys that are set; their values are nobody's business."""
    found = sorted(
        name
        for name, value in os.environ.items()
        if value.strip() and (name.endswith("_API_KEY") or name in OTHER_KEYS)
    )
    if found:
        return Finding("keys", True, ", ".join(found), needed=False)
    return Finding(
        "keys", False, "none; the llm proposer alone needs one", "export OPENAI_API_KEY=...", False
    )


def models(names: Sequence[str], base_url: str | None) -> Finding:
    """The models of the llm proposer, and whether their keys are there."""
    if not names:
        mend = "--model, KERNELWRIGHT_MODEL or a config file"
        return Finding("model", False, "none; the llm proposer alone needs one", mend, False)
    detail = ", ".join(names) + (f" at {base_url}" if base_url else "")
    wanted = () if base_url else dict.fromkeys(filter(None, map(_key_variable, names)))
    lacking = [key for key in wanted if not os.environ.get(key, "").strip()]
    if not lacking:
        return Finding("model", True, detail, needed=False)
    mend = f"export {'=... '.join(lacking)}=..."
    return Finding("model", False, f"{detail}, without {' and '.join(lacking)}", mend, False)


def _key_variable(model: str) -> str:
    """The variable that litellm reads a model's key from; empty where nobody can tell."""
    provider, slash, _ = model.partition("/")
    if not slash:
        provider = "anthropic" if model.startswith("claude") else "openai"
    return KEY_OF.get(provider, f"{provider.upper()}_API_KEY")
