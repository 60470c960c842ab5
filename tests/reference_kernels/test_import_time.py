"""`import reference_kernels` costs what `import jax` does, and brings nothing else in."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

EVERYTHING = (
    "import reference_kernels, reference_kernels.dispatch; "
    "from reference_kernels import catalog; "
    "[catalog.problem(name) for name in catalog.names()]"
)
# What annotations are checked with where it is installed; the library does without.
OPTIONAL = {"jaxtyping", "wadler_lindig"}
LIMIT_S = 0.2


def run(code: str) -> dict:
    """Import jax, then run the code; what it took and which top-level modules it added."""
    script = (
        "import json, sys, time; import jax, jax.numpy, jax.experimental\n"
        "before = set(sys.modules); started = time.process_time()\n"
        f"{code}\n"
        "took = time.process_time() - started\n"
        "added = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(json.dumps({'took_s': took, 'added': sorted(added)}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("code", ["import reference_kernels", EVERYTHING], ids=["package", "ops"])
def test_adds_little_time_and_no_module(code):
    found = run(code)
    foreign = {
        name
        for name in found["added"]
        if name not in sys.stdlib_module_names and name not in OPTIONAL
    }
    assert foreign <= {"reference_kernels", "jax", "jaxlib", "numpy"}
    # Processor time, the least of three: other work on the machine does not count.
    took_s = min(found["took_s"], run(code)["took_s"], run(code)["took_s"])
    assert took_s <= LIMIT_S


def test_works_without_jaxtyping():
    code = (
        "import sys; sys.modules['jaxtyping'] = None\n"
        "import jax.numpy as jnp\n"
        "from reference_kernels.rms_norm import rms_norm\n"
        "assert rms_norm(jnp.ones((2, 8)), jnp.ones(8)).shape == (2, 8)"
    )
    run(code)
