"""The contract of every sandbox backend, as a test suite.

Subclass `BackendContract` in a test module and give it a ``backend`` fixture. A check marked
with `needs` applies to backends that claim it, and says so when it is skipped; the others apply
to all. Every attack here is bounded by itself, so a backend that fails a check does no harm.
"""

import pytest

from sandbox.backend import Backend
from sandbox.contract.channel import ChannelContract
from sandbox.contract.files import FilesContract
from sandbox.contract.isolation import IsolationContract
from sandbox.contract.limits import LimitsContract
from sandbox.contract.tools import assert_honest_job_passes, needs, output, python
from sandbox.contract.waiting import WaitingContract

__all__ = ["BackendContract", "assert_honest_job_passes", "needs", "output", "python"]


class BackendContract(
    FilesContract, ChannelContract, LimitsContract, IsolationContract, WaitingContract
):
    """Checks that every backend passes; subclasses provide the ``backend`` fixture."""

    @pytest.fixture
    def backend(self) -> Backend:
        """The backend under test."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _only_what_is_claimed(self, request: pytest.FixtureRequest, backend: Backend) -> None:
        needed = getattr(request.function, "needed_claims", frozenset())
        missing = sorted(needed - backend.claims)
        if missing:
            pytest.skip(f"{backend.name} does not claim {', '.join(missing)}")
