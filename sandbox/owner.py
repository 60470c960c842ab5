"""Names the process that owns a container or a folder, so that leftovers of dead ones are found."""

import os
from pathlib import Path


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]")
    except OSError:
        return "unknown"


def _started(pid: int) -> str | None:
    """Start time of a process in clock ticks since boot: a pid alone is used again."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name, in brackets, may hold spaces and brackets itself.
    return text.rpartition(")")[2].split()[19]


def label() -> str:
    """This process: boot, pid namespace, pid and start time."""
    pid = os.getpid()
    return f"{_boot()}.{_namespace()}.{pid}.{_started(pid)}"


def is_gone(owner: str) -> bool:
    """Whether the owner is certainly dead. False when that cannot be told from here.

    A process of another pid namespace or another machine cannot be seen, so it counts as alive.
    """
    parts = owner.split(".")
    if len(parts) != 4 or not parts[2].isdigit():
        return False
    boot, namespace, pid, started = parts
    if boot != _boot() or namespace != _namespace():
        return False
    return _started(int(pid)) != started
