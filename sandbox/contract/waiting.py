"""Sandboxes that get ready beforehand: fresh, used once, and held to the same limits."""

import os
import textwrap
import time

import pytest

from sandbox.backend import Backend
from sandbox.contract.tools import assert_honest_job_passes, output, processes_with, python
from sandbox.errors import InfrastructureError, PolicyError
from sandbox.job import Job, Limits

# What a command that waits does first; its input is empty where nothing is waited for.
WAIT = """
import contextlib, os, time
began = time.monotonic()
with contextlib.suppress(OSError):
    os.write(0, b"\\n")
while os.read(0, 64):
    pass
"""


def waiting(code: str, **options: object) -> Job:
    return python(WAIT + code, **options)


class WaitingContract:
    """Checks of `Backend.ready`."""

    def test_the_rest_comes_later(self, backend: Backend) -> None:
        job = waiting(
            "print(sorted(os.listdir('{in}')), open('{in}/b/late').read(),"
            " time.monotonic() - began > 0.5, file=open('{out}/out', 'w'))",
            files={"early": b"1"},
        )
        sandbox = backend.ready(job)
        sandbox.settle(60.0)
        time.sleep(0.6)
        result = sandbox.run({"b/late": b"2"}, 60.0)
        assert output(result) == "['b', 'early'] 2 True\n"
        assert result.duration_ns < 0.6e9

    def test_without_a_wait_it_goes_straight_on(self, backend: Backend) -> None:
        job = waiting("open('{out}/out', 'w').write(str(time.monotonic() - began < 5))")
        assert output(backend.run(job)) == "True"

    def test_its_time_begins_with_the_rest(self, backend: Backend) -> None:
        sandbox = backend.ready(waiting("time.sleep(60)", limits=Limits(wall_s=600.0)))
        sandbox.settle(60.0)
        started = time.monotonic()
        result = sandbox.run({}, 1.0)
        assert result.outcome == "timeout"
        assert time.monotonic() - started < 30

    def test_an_end_before_the_rest_is_reported(self, backend: Backend) -> None:
        sandbox = backend.ready(python("raise SystemExit(7)"))
        sandbox.settle(60.0)
        result = sandbox.run({"late": b""}, 30.0)
        assert (result.outcome, result.exit_code) == ("exited", 7)

    def test_it_is_good_for_one_use(self, backend: Backend) -> None:
        sandbox = backend.ready(waiting("open('{out}/out', 'w').write('once')"))
        assert output(sandbox.run({}, 30.0)) == "once"
        with pytest.raises(InfrastructureError):
            sandbox.run({}, 30.0)
        sandbox.close()

    def test_closed_unused_nothing_is_left(self, backend: Backend) -> None:
        marker = "kernelwright-waiting-marker"
        sandbox = backend.ready(waiting(f"marker = {marker!r}"))
        sandbox.settle(60.0)
        assert processes_with(marker)
        sandbox.close()
        sandbox.close()
        assert not processes_with(marker)
        assert_honest_job_passes(backend)

    @pytest.mark.parametrize("name", ["early", "../up", "early/below"])
    def test_strange_later_files_are_refused(self, backend: Backend, name: str) -> None:
        sandbox = backend.ready(waiting("", files={"early": b"1"}))
        try:
            with pytest.raises(PolicyError):
                sandbox.run({name: b""}, 30.0)
        finally:
            sandbox.close()

    def test_it_gets_ready_on_other_cpus(self, backend: Backend) -> None:
        cpus = sorted(os.sched_getaffinity(0))
        code = """
        print(before, set().union(*(
            os.sched_getaffinity(int(thread)) for thread in os.listdir('/proc/self/task')
        )), file=open('{out}/out', 'w'))
        """
        before = "import os, threading\nbefore = os.sched_getaffinity(0)\n"
        # A thread that exists by then is moved as well.
        before += "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        limits = Limits(cpu_set=str(cpus[-1]), ready_cpu_set=str(cpus[0]))
        job = python(before + WAIT + textwrap.dedent(code), limits=limits)
        result = backend.ready(job).run({}, 60.0)
        assert output(result) == f"{{{cpus[0]}}} {{{cpus[-1]}}}\n"
        assert output(backend.run(job)) == f"{{{cpus[-1]}}} {{{cpus[-1]}}}\n"
