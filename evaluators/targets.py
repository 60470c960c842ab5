"""The targets that a candidate can be for, and what this machine can do with each."""

from __future__ import annotations

from dataclasses import dataclass

from evaluators.errors import UnknownTargetError


@dataclass(frozen=True)
class Target:
    """One kind of device.

    Attributes:
        name: as the command line has it.
        platform: the jax platform to lower for.
        device_kind: `jax.Device.device_kind` that tuning data is filed under.
        measured_here: whether the judge can time it on this machine.
        judge_platform: where numerics are judged; on `cpu`, through the interpreter's artefact.
    """

    name: str
    platform: str
    device_kind: str
    measured_here: bool
    judge_platform: str


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("cpu", "cpu", "cpu", True, "cpu"),
        Target("tpu", "tpu", "TPU v6 lite", False, "cpu"),
        Target("cuda", "cuda", "NVIDIA H200", False, "cpu"),
    )
}


def target(name: str) -> Target:
    """Look a target up.

    Raises:
        UnknownTargetError: the message lists those there are.
    """
    if name not in TARGETS:
        raise UnknownTargetError(f"no target {name!r}; there are: {', '.join(TARGETS)}")
    return TARGETS[name]
