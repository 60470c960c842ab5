"""The contract of every op, as a test suite.

    class TestContract(OpContract):
        op = "rms_norm"

in `tests/reference_kernels/test_rms_norm.py` is all that an op writes to be held to it. It needs
pytest, runs on a CPU, and judges numerics on smoke-sized cases; implementations for other
platforms run where they can be interpreted, and are exported wherever lowering needs no device.
"""

from reference_kernels.testing.contract import OpContract
from reference_kernels.testing.trial import failures, inputs, truth, yardstick

__all__ = ["OpContract", "failures", "inputs", "truth", "yardstick"]
