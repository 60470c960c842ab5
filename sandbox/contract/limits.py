"""Every limit is reported as its own outcome, in bounded time."""

import secrets
import time

import pytest

from sandbox.backend import Backend
from sandbox.contract.tools import (
    PROMPT_S,
    assert_honest_job_passes,
    needs,
    output,
    processes_with,
    python,
)
from sandbox.job import MIB, Limits


class LimitsContract:
    """Time, memory, processes, output and disk."""

    @needs("time")
    def test_time_is_limited(self, backend: Backend) -> None:
        code = """
            import signal
            for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            while True:
                pass
        """
        started = time.monotonic()
        result = backend.run(python(code, limits=Limits(wall_s=1.0)))
        assert (result.outcome, result.files) == ("timeout", {})
        assert time.monotonic() - started < 1.0 + PROMPT_S
        assert_honest_job_passes(backend)

    @needs("memory")
    def test_memory_is_limited(self, backend: Backend) -> None:
        code = """
            import time
            hoard = []
            for _ in range(64):
                hoard.append(b"x" * (16 << 20))
            time.sleep(30)
        """
        started = time.monotonic()
        limits = Limits(wall_s=60.0, memory_bytes=128 * MIB)
        assert backend.run(python(code, limits=limits)).outcome == "memory"
        assert time.monotonic() - started < PROMPT_S
        assert_honest_job_passes(backend)

    @needs("memory")
    def test_memory_of_a_child_counts(self, backend: Backend) -> None:
        code = """
            import os, time
            if os.fork() == 0:
                hoard = [b"x" * (16 << 20) for _ in range(64)]
                time.sleep(30)
            os.wait()
        """
        limits = Limits(wall_s=60.0, memory_bytes=128 * MIB)
        assert backend.run(python(code, limits=limits)).outcome == "memory"

    @needs("processes")
    def test_a_fork_bomb_is_bounded(self, backend: Backend) -> None:
        # Each level doubles, to 1024 at most: a bomb that burns out where nothing stops it.
        code = """
            import os, time
            for _ in range(10):
                try:
                    os.fork()
                except OSError:
                    pass
            time.sleep(10)
        """
        started = time.monotonic()
        limits = Limits(wall_s=30.0, processes=40)
        assert backend.run(python(code, limits=limits)).outcome == "processes"
        assert time.monotonic() - started < 10 + PROMPT_S
        assert_honest_job_passes(backend)

    @needs("output")
    @pytest.mark.parametrize(
        "code",
        [
            "open('{out}/out', 'wb').write(bytes(3 << 20))",
            "[open('{out}/%d' % i, 'wb').write(bytes(1 << 18)) for i in range(8)]",
            "open('{out}/sparse', 'wb').truncate(2 << 20)",
            "[open('{out}/%d' % i, 'wb').close() for i in range(51)]",
        ],
    )
    def test_output_is_limited(self, backend: Backend, code: str) -> None:
        limits = Limits(wall_s=60.0, output_bytes=MIB, files=50)
        result = backend.run(python(code, limits=limits))
        assert (result.outcome, result.files) == ("output", {}), result.log

    @needs("disk")
    def test_disk_is_limited(self, backend: Backend) -> None:
        code = """
            for index in range(64):
                with open(f"{work}/filler{index}", "wb") as file:
                    file.write(bytes(1 << 20))
        """
        limits = Limits(wall_s=60.0, disk_bytes=8 * MIB)
        assert backend.run(python(code, limits=limits)).outcome == "disk"
        assert_honest_job_passes(backend)

    @needs("disk")
    def test_one_large_file_is_limited(self, backend: Backend) -> None:
        code = "open('{work}/filler', 'wb').write(bytes(64 << 20))"
        limits = Limits(wall_s=60.0, disk_bytes=8 * MIB)
        assert backend.run(python(code, limits=limits)).outcome == "disk"

    @needs("no_orphans")
    def test_no_process_outlives_its_job(self, backend: Backend) -> None:
        marker = f"61.{secrets.randbelow(10**9):09d}"
        code = f"""
            import os, time
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.execvp("sleep", ["sleep", "{marker}"])
                os._exit(0)
            os.wait()
            time.sleep(0.3)
            open("{{out}}/out", "w").write("left a daemon")
        """
        started = time.monotonic()
        assert output(backend.run(python(code))) == "left a daemon"
        assert time.monotonic() - started < PROMPT_S
        assert not processes_with(marker)
