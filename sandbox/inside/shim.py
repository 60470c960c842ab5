"""The first process inside a sandbox: takes one job on stdin, runs it, answers on stdout.

In a container it is PID 1; in the subprocess backend it leads a session. Its source is passed by
``python -c``, so it needs no file in the sandbox and always matches the host that speaks to it.
Stdin and stdout are the channel. The command gets neither: /dev/null and a log pipe instead, and
this process is made non-dumpable so that the command cannot reach them through /proc.

Stdlib only, here and in the modules beside it.
"""

import contextlib
import errno
import os
import resource
import select
import signal
import socket
import sys
import time

from sandbox.inside.collect import Log, Refused, open_outputs
from sandbox.inside.guard import confine, protect_channel
from sandbox.inside.watch import Watch, descendants
from sandbox.inside.wire import (
    CHUNK,
    HostGone,
    read_exactly,
    read_job,
    read_more,
    send,
    send_ready,
)

KILL_WAIT_S = 10.0


def prepare(job):
    """Make the directories and write the input files in the order in which the host sent them."""
    work = job["work"]
    for name in ("in", "out", "home", "tmp"):
        os.makedirs(os.path.join(work, name), mode=0o755, exist_ok=True)
    receive(work, job["files"])
    os.chdir(work)


def receive(work, files):
    """Write input files as their bodies come in."""
    for name, size in files:
        path = os.path.join(work, "in", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            while size:
                part = read_exactly(min(size, CHUNK))
                file.write(part)
                size -= len(part)


def set_limits(job):
    """Limits that the command inherits; set here, after the inputs, to keep fork and exec plain."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (job["disk_bytes"],) * 2)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    cpus = job["ready_cpus"] if job["waits"] else job["cpus"]
    if cpus:
        os.sched_setaffinity(0, cpus)


def spawn(command, environment, log_fd, input_fd):
    """Start the command in its own session. Returns (pid, None) or (None, errno).

    Every descriptor that Python makes is closed by exec, so the command holds 0, 1 and 2 only.
    """
    fail_read, fail_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            confine()
            os.dup2(input_fd, 0)
            os.dup2(log_fd, 1)
            os.dup2(log_fd, 2)
            os.execvpe(command[0], command, environment)
        except OSError as error:
            os.write(fail_write, str(error.errno or errno.EIO).encode())
        finally:
            os._exit(127)
    os.close(fail_write)
    failure = os.read(fail_read, 16)
    os.close(fail_read)
    if failure:
        os.waitpid(pid, 0)
        return None, int(failure)
    try:
        # When memory runs out the kernel shall take the command, never this process.
        with open(f"/proc/{pid}/oom_score_adj", "w") as file:
            file.write("500")
    except OSError:
        pass
    return pid, None


def reap(main_pid, status):
    """Collect every child that has ended. Returns the status of the main one once known."""
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, False
        if pid == 0:
            return status, True
        if pid == main_pid:
            status = ended


def kill_all(contained, main_pid, status):
    """Kill every descendant until none is left; orphans come to this process, a subreaper."""
    deadline = time.monotonic() + KILL_WAIT_S
    alive = True
    while alive and time.monotonic() < deadline:
        if contained:
            # PID 1 spares itself; one call reaches all, and a fork under way is restarted to die.
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            for pid in descendants():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        status, alive = reap(main_pid, status)
        if alive:
            time.sleep(0.002)
    return status


def supervise(job, pid, log, log_fd, watch):
    """Wait for the command, a limit, or the loss of the host. Returns (status, limit)."""
    deadline = time.monotonic() + job["wall_s"]
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    poll = select.poll()
    for fd in (0, log_fd, wake_read):
        poll.register(fd, select.POLLIN)
    status, _ = reap(pid, None)
    limit, look_due = None, time.monotonic()
    while status is None and limit is None:
        now = time.monotonic()
        if now >= deadline:
            limit = "timeout"
            break
        if now >= look_due:
            limit = watch.look()
            look_due = time.monotonic() + watch.interval
        wait_ms = 1000 * (min(deadline, look_due) - time.monotonic())
        for fd, _ in poll.poll(max(1, int(wait_ms))):
            if fd == 0:
                # The host sends nothing after the job: anything here is the end of the channel.
                kill_all(job["contained"], pid, status)
                raise HostGone
            if fd == log_fd:
                if not log.drain(log_fd):
                    poll.unregister(log_fd)
            else:
                os.read(wake_read, 4096)
        status, _ = reap(pid, status)
    signal.set_wakeup_fd(-1)
    return status, limit


def await_rest(job, nonce, pid, line):
    """Let the command get ready, then take the rest of its files and tell it to go on.

    It says that it is ready by a byte on its standard input, a socket here, and goes on when that
    input ends. Its time begins then.
    """
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(line, select.POLLIN)
    poll.poll()
    try:
        send_ready(nonce)
        rest = read_more(nonce)
        receive(job["work"], rest["files"])
    except (HostGone, BrokenPipeError):
        kill_all(job["contained"], pid, None)
        raise
    job["wall_s"] = rest["wall_s"]
    if job["cpus"]:
        pin(pid, job["cpus"])
    # Not closed: with a byte unread that would be an error at the other end.
    line.shutdown(socket.SHUT_WR)


def pin(pid, cpus):
    """Move every thread of the command, and this process, to ``cpus``."""
    os.sched_setaffinity(0, cpus)
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), cpus)


def run(job, nonce):
    """Run the command. Returns the header of the result, the log and the files to send."""
    set_limits(job)
    log = Log(job["log_bytes"])
    log_read, log_write = os.pipe()
    os.set_blocking(log_read, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    watch = Watch(job)
    line, far_line = socket.socketpair()
    input_fd = far_line.fileno() if job["waits"] else os.open("/dev/null", os.O_RDONLY)
    started = time.monotonic_ns()
    pid, failure = spawn(job["command"], job["environment"], log_write, input_fd)
    far_line.close()
    os.close(log_write)
    if job["waits"]:
        await_rest(job, nonce, pid, line)
        started = time.monotonic_ns()
    if failure is not None:
        log.add(f"cannot start {job['command'][0]!r}: {os.strerror(failure)}\n".encode())
        status, limit = (127 if failure == errno.ENOENT else 126) << 8, None
    else:
        status, limit = supervise(job, pid, log, log_read, watch)
    duration = time.monotonic_ns() - started
    limit = limit or watch.look(final=True)
    status = kill_all(job["contained"], pid, status) or 0
    log.drain(log_read)
    outcome, code, number, files = limit, None, None, []
    if limit is None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        outcome = "disk" if number == signal.SIGXFSZ else "signalled"
    elif limit is None:
        outcome, code = "exited", os.WEXITSTATUS(status)
    if outcome in ("exited", "signalled"):
        try:
            files = open_outputs(job)
        except Refused as refusal:
            outcome, code, number = refusal.outcome, None, None
            log.add(f"\nsandbox: {refusal}\n".encode("utf-8", "replace"))
    text, truncated = log.bytes()
    header = {
        "outcome": outcome,
        "exit_code": code,
        "signal": number,
        "files": [[name, size] for name, _, _, size in files],
        "log_bytes": len(text),
        "log_truncated": truncated,
        "duration_ns": duration,
        "peak_memory_bytes": watch.peak_memory(),
    }
    return header, text, files


def main():
    protect_channel()
    try:
        nonce, job = read_job()
        prepare(job)
        header, log, files = run(job, nonce)
        send(nonce, header, log, files)
    except (HostGone, BrokenPipeError):
        sys.exit(3)
