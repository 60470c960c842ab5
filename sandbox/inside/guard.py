"""Keeps the command away from the shim, which has the same user and holds the channel."""

import ctypes
import platform
import signal
import struct

PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
CATCHABLE = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}

# machine: (audit architecture, number of prlimit64, numbers of other system call tables)
SYSTEM_CALLS = {
    "x86_64": (0xC000003E, 302, 0x40000000),
    "aarch64": (0xC00000B7, 261, 0xFFFFFFFF),
}
LOAD, JUMP_EQUAL, JUMP_NOT_BELOW, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001  # the second: EPERM


def prctl(option, *values):
    libc = ctypes.CDLL(None, use_errno=True)
    padded = (*values, 0, 0, 0, 0)[:4]
    if libc.prctl(option, *map(ctypes.c_ulong, padded)) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def protect_channel():
    """Make this process's descriptors and memory unreachable, and adopt every orphan below it."""
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    # The command may signal a process of its own user; only KILL and STOP cannot be ignored, and
    # a PID 1 is spared those by the kernel.
    for number in CATCHABLE:
        signal.signal(number, signal.SIG_IGN)


def confine():
    """In the command's process: default signals, and no limits set on a process but itself.

    ``prlimit`` is the one call by which a process may harm another of its user that is neither
    dumpable nor killable: a CPU limit of a second would end PID 1 as if from outside.
    """
    for number in CATCHABLE:
        signal.signal(number, signal.SIG_DFL)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if platform.machine() not in SYSTEM_CALLS:
        return
    architecture, prlimit, others = SYSTEM_CALLS[platform.machine()]
    program = (
        (LOAD, 0, 0, 4),  # the architecture of the call
        (JUMP_EQUAL, 0, 6, architecture),
        (LOAD, 0, 0, 0),  # its number
        (JUMP_NOT_BELOW, 4, 0, others),
        (JUMP_EQUAL, 0, 2, prlimit),
        (LOAD, 0, 0, 16),  # its first argument: the process, 0 for itself
        (JUMP_EQUAL, 0, 1, 0),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    )
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code)
    # struct sock_fprog: a count, padding, a pointer.
    header = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(buffer)))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(header))
