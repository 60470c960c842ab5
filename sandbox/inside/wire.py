"""The shim's side of the channel: one job in on descriptor 0, one result out on descriptor 1.

The format is described in ``sandbox/frames.py``, whose reader trusts none of it.
"""

import json
import os
import struct

JOB_MAGIC = b"KWJOB001"
READY_MAGIC = b"KWRDY001"
MORE_MAGIC = b"KWMOR001"
RESULT_MAGIC = b"KWRES001"
END_MAGIC = b"KWEND001"
CHUNK = 1 << 20


class HostGone(Exception):
    """The host closed the channel: nobody is left to answer."""


def read_exactly(size):
    parts = []
    while size:
        part = os.read(0, min(size, CHUNK))
        if not part:
            raise HostGone
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_all(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def read_job():
    if read_exactly(8) != JOB_MAGIC:
        raise SystemExit("shim: not a job")
    nonce = read_exactly(16)
    (size,) = struct.unpack(">I", read_exactly(4))
    return nonce, json.loads(read_exactly(size))


def send_ready(nonce):
    """Tell the host that the command waits for the rest of its files."""
    write_all(READY_MAGIC + nonce)


def read_more(nonce):
    """The header of the rest of a job."""
    if read_exactly(8) != MORE_MAGIC or read_exactly(16) != nonce:
        raise SystemExit("shim: not the rest of the job")
    (size,) = struct.unpack(">I", read_exactly(4))
    return json.loads(read_exactly(size))


def send(nonce, header, log, files):
    text = json.dumps(header).encode()
    write_all(RESULT_MAGIC + nonce + struct.pack(">I", len(text)) + text + log)
    for _, folder, entry, size in files:
        fd = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
        while size:
            part = os.read(fd, min(size, CHUNK))
            if not part:
                raise SystemExit("shim: an output shrank")
            write_all(part)
            size -= len(part)
        os.close(fd)
    write_all(END_MAGIC + nonce)
