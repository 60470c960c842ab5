"""The pool of ready sandboxes: used once, never stale, and no worse than none."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import pytest

import sandbox
from sandbox.backend import Claim, ReadySandbox
from sandbox.contract.waiting import WAIT
from sandbox.errors import InfrastructureError
from sandbox.job import Job, JobResult, Limits
from sandbox.ready import ReadyPool
from sandbox.subprocess_backend import SubprocessBackend
from sandbox.testing import output, python

CODE = WAIT + "open('{out}/out', 'w').write(open('{in}/late').read() + str(os.getppid()))"


@pytest.fixture
def backend() -> sandbox.Backend:
    return SubprocessBackend()


@pytest.fixture
def pool(backend: sandbox.Backend) -> Iterator[ReadyPool]:
    made = ReadyPool(backend)
    with contextlib.closing(made):
        yield made


class Counting:
    """A backend that counts how its jobs were started, and may lose what is ready."""

    name = "counting"
    is_boundary = False
    claims: frozenset[Claim] = frozenset()

    def __init__(self, inner: sandbox.Backend) -> None:
        self.inner = inner
        self.cold = self.made = 0
        self.lose = False

    def toolchain_digest(self) -> str:
        return self.inner.toolchain_digest()

    def check(self) -> None:
        self.inner.check()

    def run(self, job: Job) -> JobResult:
        self.cold += 1
        return self.inner.run(job)

    def ready(self, job: Job) -> ReadySandbox:
        self.made += 1
        found = self.inner.ready(job)
        if self.lose:
            found.close()
        return found


def test_a_job_like_the_last_finds_a_sandbox_ready(backend: sandbox.Backend) -> None:
    counting = Counting(backend)
    with contextlib.closing(ReadyPool(counting)) as pool:
        job = python(CODE)
        first = output(pool.run(job, {"late": b"a"}))
        assert (counting.cold, counting.made) == (1, 0)
        pool.replenish()
        assert pool.settle() == 1
        second = output(pool.run(job, {"late": b"b"}))
        third = output(pool.run(job, {"late": b"c"}))
        assert (counting.cold, counting.made) == (2, 1)
    assert [text[0] for text in (first, second, third)] == ["a", "b", "c"]
    assert len({first[1:], second[1:], third[1:]}) == 3


@pytest.mark.parametrize(
    "other",
    [
        python(CODE, environment={"A": "1"}),
        python(CODE, files={"early": b"1"}),
        python(CODE, limits=Limits(memory_bytes=1 << 30)),
        python(CODE + "\n"),
    ],
)
def test_another_kind_of_job_gets_none_of_it(backend: sandbox.Backend, other: Job) -> None:
    counting = Counting(backend)
    with contextlib.closing(ReadyPool(counting)) as pool:
        pool.run(python(CODE), {"late": b"a"})
        pool.replenish()
        assert pool.settle() == 1
        pool.run(other, {"late": b"a"})
        pool.run(python(CODE), {"late": b"a"}, "other mounts")
        assert counting.cold == 3
        pool.run(python(CODE, limits=Limits(wall_s=7.0)), {"late": b"a"})
        assert counting.cold == 3


def test_a_lost_sandbox_is_made_up_for(backend: sandbox.Backend) -> None:
    counting = Counting(backend)
    counting.lose = True
    with contextlib.closing(ReadyPool(counting)) as pool:
        job = python(CODE)
        pool.run(job, {"late": b"a"})
        pool.replenish()
        assert pool.settle() == 0
        assert output(pool.run(job, {"late": b"b"}))[0] == "b"
        assert counting.cold == 2
        counting.lose = False
        pool.replenish()
        assert pool.settle() == 1


def test_a_new_sandbox_that_fails_is_an_infrastructure_error(backend: sandbox.Backend) -> None:
    class Gone(Counting):
        def run(self, job: Job) -> JobResult:
            raise InfrastructureError("gone")

    with (
        contextlib.closing(ReadyPool(Gone(backend))) as pool,
        pytest.raises(InfrastructureError, match="gone"),
    ):
        pool.run(python(CODE), {"late": b""})


def test_nothing_gets_ready_while_it_is_held_up(backend: sandbox.Backend) -> None:
    quiet = threading.Lock()
    with contextlib.closing(ReadyPool(backend, lambda: quiet)) as pool:
        job = python(CODE)
        pool.run(job, {"late": b"a"})
        with quiet:
            pool.replenish()
            with pytest.raises(TimeoutError):
                pool.settle(0.3)
        assert pool.settle() == 1


def test_only_the_last_kinds_are_kept(backend: sandbox.Backend) -> None:
    counting = Counting(backend)
    with contextlib.closing(ReadyPool(counting, most=2)) as pool:
        for number in range(4):
            pool.run(python(CODE + f"\n# {number}"), {"late": b"a"})
        pool.replenish()
        pool.settle()
        assert counting.made == 2


def test_closing_leaves_nothing(pool: ReadyPool) -> None:
    job = python(CODE)
    pool.run(job, {"late": b"a"})
    pool.replenish()
    pool.settle()
    pool.close()
    pool.replenish()
    assert pool.settle() == 0


def test_closing_does_not_wait_for_one_in_the_making(backend: sandbox.Backend) -> None:
    pool = ReadyPool(backend)
    job = python("import os, time\nif os.fstat(0).st_rdev == 0: time.sleep(60)")
    pool.run(job, {})
    pool.replenish()
    with pytest.raises(TimeoutError):
        pool.settle(1.0)
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 10
