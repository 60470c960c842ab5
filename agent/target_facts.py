"""The public facts of each target that a proposer is told: what to optimise for."""

from __future__ import annotations

from agent.proposers.protocol import Target
from evaluators import targets

# Per device. Published peaks and sizes: dense, without sparsity.
_FACTS: dict[str, tuple[tuple[str, str], ...]] = {
    "cpu": (
        ("compiler", "XLA:CPU through jax.export; one pinned core, single-threaded"),
        ("lowering", "plain JAX, no Pallas; scan and while are loops over their body's kernels"),
        ("matrix products", "calls of a CPU library, or loops where they are small"),
        ("fusion", "elementwise operations and reductions are fused into LLVM loops"),
    ),
    "tpu": (
        ("compiler", "Mosaic (Pallas TPU) and XLA:TPU"),
        ("device", "TPU v6e: 918 TFLOP/s bfloat16, 1.6 TB/s HBM, 32 GB"),
        ("matrix unit", "256 x 256"),
        ("vector registers", "8 x 128 lanes of 32 bits; bfloat16 tiles are 16 x 128"),
        ("fast memory", "128 MiB VMEM, to be shared by double-buffered blocks"),
    ),
    "cuda": (
        ("compiler", "Triton (Pallas GPU or triton) and XLA:GPU"),
        ("device", "NVIDIA H200, sm_90: 989 TFLOP/s bfloat16, 4.8 TB/s HBM3e, 141 GB"),
        ("shared memory", "232,448 bytes a block at most, over which nothing launches"),
        ("registers", "65,536 a multiprocessor, 255 a thread; 132 multiprocessors"),
        ("matrix unit", "wgmma, 64-row tiles, four warps a group"),
    ),
}


def describe(name: str) -> Target:
    """A target by its name.

    Raises:
        UnknownTargetError: there is none of that name.
    """
    found = targets.target(name)
    facts = (("jax platform", found.platform), ("device kind", found.device_kind))
    if not found.measured_here:
        facts += (("timing", "no such device here: candidates are checked, not timed"),)
    return Target(name, facts + _FACTS.get(found.platform, ()))
