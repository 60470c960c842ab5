"""`OpContract`: what every op promises, whatever it computes."""

from __future__ import annotations

from reference_kernels.testing.calls import CallsContract
from reference_kernels.testing.numerics import NumericsContract
from reference_kernels.testing.records import RecordsContract


class OpContract(RecordsContract, NumericsContract, CallsContract):
    """Checks that every op passes. A subclass names the op, and in what it differs (`Contract`)."""
