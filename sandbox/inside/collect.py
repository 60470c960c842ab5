"""What a command leaves behind: its log, and the files below ``out/``."""

import os
import re
import stat

COMPONENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=@,-]{0,199}\Z")
MAX_DEPTH = 8
SLACK = 1 << 20


class Refused(Exception):
    """What lies below ``out/`` cannot be returned: (outcome, reason)."""

    def __init__(self, outcome, reason):
        super().__init__(reason)
        self.outcome = outcome


def open_outputs(job):
    """Every regular file below ``out/`` as (name, fd, size); no link is followed on the way."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    found, total, entries = [], 0, 0
    pending: list = [("", None, os.path.join(job["work"], "out"))]
    while pending:
        prefix, parent, name = pending.pop()
        try:
            folder = os.open(name, flags | os.O_DIRECTORY, dir_fd=parent)
        except OSError as error:
            raise Refused("protocol", f"out/{prefix} cannot be opened") from error
        names = sorted(os.listdir(folder))
        for entry in names:
            entries += 1
            path = prefix + entry
            if entries > 4 * job["max_files"] or len(found) > job["max_files"]:
                raise Refused("output", f"more than {job['max_files']} output files")
            if not COMPONENT.match(entry) or path.count("/") >= MAX_DEPTH:
                raise Refused("protocol", f"output with a refused name: {path[:200]!r}")
            mode = os.stat(entry, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(mode.st_mode):
                pending.append((path + "/", folder, entry))
            elif not stat.S_ISREG(mode.st_mode) or not mode.st_mode & stat.S_IRUSR:
                raise Refused("protocol", f"output {path!r} is no readable regular file")
            else:
                total += mode.st_size
                if total > job["output_bytes"]:
                    raise Refused("output", f"more than {job['output_bytes']} bytes of output")
                found.append((path, folder, entry, mode.st_size))
    if len(found) > job["max_files"]:
        raise Refused("output", f"more than {job['max_files']} output files")
    return found


class Log:
    """Keeps the head and the tail of what the command prints; counts all of it."""

    def __init__(self, limit):
        self.limit = limit
        self.half = limit // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def add(self, data):
        self.total += len(data)
        room = self.limit - self.half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self.half + SLACK:
            del self.tail[: len(self.tail) - self.half]

    def drain(self, fd):
        """Take what is there. False at the end of the pipe."""
        while True:
            try:
                data = os.read(fd, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.add(data)
            if len(data) < 65536:
                return True

    def bytes(self):
        tail = bytes(self.tail[-self.half :]) if self.half else b""
        dropped = self.total - len(self.head) - len(tail)
        if dropped <= 0:
            return bytes(self.head) + tail, False
        note = f"\n[... {dropped} bytes of the log left out ...]\n"
        return bytes(self.head) + note.encode() + tail, True
