"""Compare `gated_delta_rule` on one core with plain XLA and with transformers' torch code.

    taskset -c 1 python tests/bench/compare_gated_delta_rule.py [case ...]

Interleaved calls in random order; median and least, of wall clock and of processor time (which a
busy machine disturbs less). Figures for people: the judge's timer is the profiler.
"""

from __future__ import annotations

import inspect
import os
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import numpy as np
import torch

from reference_kernels.gated_delta_rule import plain, xla
from reference_kernels.gated_delta_rule.op import PROBLEM
from reference_kernels.problem import Case, Tree

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from transformers.models.qwen3_next import modeling_qwen3_next as qwen3_next

ROUNDS = 40
Call = Callable[[], object]


@dataclass
class Times:
    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)


def to_torch(array: jax.Array) -> torch.Tensor:
    wide = torch.from_numpy(np.array(array.astype("float32")))
    return wide.to(getattr(torch, str(array.dtype)))


def jax_call(module, entry: str, case: Case, arguments: dict[str, Tree], **config) -> Call:
    chosen = module.Config(**config)
    function = jax.jit(lambda given: getattr(module, entry)(**given, **case.statics, config=chosen))
    return lambda: jax.block_until_ready(function(arguments))


def torch_call(entry: str, case: Case, arguments: dict[str, Tree]) -> Call:
    """transformers' torch code: in chunks for `forward`, token by token for `decode`."""
    decode = entry == "decode"
    name = "torch_recurrent_gated_delta_rule" if decode else "torch_chunk_gated_delta_rule"
    # The decorated function calls fla's Triton kernel where fla is installed.
    function = inspect.unwrap(getattr(qwen3_next, name))
    tensors = {n: to_torch(x) for n, x in arguments.items() if n != "cotangents"}
    if decode:
        tensors = {n: x if n == "initial_state" else x[:, None] for n, x in tensors.items()}
    train = entry == "forward_with_grad"
    cotangents = [to_torch(c) for c in jax.tree.leaves(arguments.get("cotangents", ()))]
    for tensor in tensors.values():
        tensor.requires_grad_(train)
    renamed = {"query": tensors["q"], "key": tensors["k"], "value": tensors["v"]}
    rest = {n: x for n, x in tensors.items() if n not in ("q", "k", "v")}

    def call() -> object:
        results = function(
            **renamed,
            **rest,
            output_final_state=True,
            use_qk_l2norm_in_kernel=case.statics["use_qk_l2norm"],
        )
        return (
            torch.autograd.grad(results, list(tensors.values()), cotangents) if train else results
        )

    return call


def measure(calls: dict[str, Call]) -> dict[str, Times]:
    found = {name: Times() for name in calls}
    for call in calls.values():
        call()
        call()
    for _ in range(ROUNDS):
        for name in random.sample(list(calls), len(calls)):
            wall, processor = time.perf_counter_ns(), time.process_time_ns()
            calls[name]()
            found[name].cpu_ms.append((time.process_time_ns() - processor) / 1e6)
            found[name].wall_ms.append((time.perf_counter_ns() - wall) / 1e6)
    return found


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    print(f"jax {jax.__version__}, torch {torch.__version__}, cores {len(os.sched_getaffinity(0))}")
    print(
        f"{'case':22}{'entry':19}{'':14}{'wall ms':>9}{'least':>9}{'cpu ms':>9}{'least':>9}"
        f"{'x plain':>9}{'GFLOP/s':>9}"
    )
    for case in PROBLEM.tagged("cpu"):
        if names and case.name not in names:
            continue
        for entry in PROBLEM.entries:
            arguments = entry.inputs(jax.random.key(0), case, PROBLEM.distributions[0])
            calls = {
                "plain": jax_call(plain, entry.name, case, arguments),
                "xla": jax_call(xla, entry.name, case, arguments),
            }
            # transformers' functions know one scale only, and not value heads without a state.
            if case.statics["scale"] is None:
                calls["torch"] = torch_call(entry.name, case, arguments)
            found = measure(calls)
            for name, times in found.items():
                cpu_ms = statistics.median(times.cpu_ms)
                ratio = statistics.median(found["plain"].cpu_ms) / cpu_ms
                rate = entry.cost(case).operations / cpu_ms / 1e6
                print(
                    f"{case.name:22}{entry.name:19}{name:14}"
                    f"{statistics.median(times.wall_ms):9.3f}{min(times.wall_ms):9.3f}"
                    f"{cpu_ms:9.3f}{min(times.cpu_ms):9.3f}{ratio:9.2f}{rate:9.1f}"
                )


if __name__ == "__main__":
    main(sys.argv[1:])
