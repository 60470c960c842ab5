"""Looks at the processes, the memory and the disk of a job from beside it."""

import os
import re
import resource
import time


def read_text(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def field(text, name):
    match = re.search(rf"^{name} (\d+)$", text, re.MULTILINE)
    return int(match[1]) if match else 0


def first_number(*paths):
    for path in paths:
        text = read_text(path).strip()
        if text.isdigit():
            return int(text)
    return None


class Cgroup:
    """What the kernel says of this container; cgroup v1 and v2."""

    root = "/sys/fs/cgroup"

    def exceeded(self):
        root = self.root
        kills = field(read_text(root + "/memory.events"), "oom_kill")
        kills += field(read_text(root + "/memory/memory.oom_control"), "oom_kill")
        if kills:
            return "memory"
        refused = field(read_text(root + "/pids.events"), "max")
        refused += field(read_text(root + "/pids/pids.events"), "max")
        return "processes" if refused else None

    def peak_memory(self):
        return first_number(
            self.root + "/memory.peak", self.root + "/memory/memory.max_usage_in_bytes"
        )


def children_of(pid):
    found = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        found += map(int, read_text(f"/proc/{pid}/task/{thread}/children").split())
    return found


def descendants():
    """Processes below this one, parents first."""
    found = []
    pending = [os.getpid()]
    while pending:
        below = children_of(pending.pop())
        found += below
        pending += below
    return found


class Watch:
    """Looks at the job from time to time and names the first limit that it passed."""

    def __init__(self, job):
        self.job = job
        self.contained = job["contained"]
        self.cgroup = Cgroup()
        self.peak = 0
        self.interval = 0.1 if self.contained else 0.05
        self.disk_due = 0.0

    def look(self, final=False):
        if self.contained:
            return self.cgroup.exceeded() or self.full_file_system()
        return self.usage() or self.disk_usage(final)

    def full_file_system(self):
        for path in (self.job["work"], "/tmp"):
            status = os.statvfs(path)
            if status.f_bavail == 0 or status.f_favail == 0:
                return "disk"
        return None

    def usage(self):
        """Memory and tasks, by walking /proc: for backends with no cgroup of their own."""
        memory = tasks = 0
        page = resource.getpagesize()
        for pid in descendants():
            resident = read_text(f"/proc/{pid}/statm").split()
            status = re.search(r"^Threads:\s+(\d+)", read_text(f"/proc/{pid}/status"), re.M)
            if len(resident) > 2:
                # Shared file pages would count once for each process that maps the same library.
                memory += (int(resident[1]) - int(resident[2])) * page
            tasks += int(status[1]) if status else 1
        self.peak = max(self.peak, memory)
        if memory > self.job["memory_bytes"]:
            return "memory"
        return "processes" if tasks > self.job["processes"] else None

    def disk_usage(self, final):
        now = time.monotonic()
        if now < self.disk_due and not final:
            return None
        self.disk_due = now + 0.25
        used = entries = 0
        pending = [self.job["work"]]
        while pending:
            try:
                with os.scandir(pending.pop()) as listing:
                    for entry in listing:
                        entries += 1
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
                        else:
                            used += entry.stat(follow_symlinks=False).st_blocks * 512
            except OSError:
                continue
            if entries > 100_000 or used >= self.job["disk_bytes"]:
                return "disk"
        return None

    def peak_memory(self):
        return self.cgroup.peak_memory() if self.contained else self.peak or None
