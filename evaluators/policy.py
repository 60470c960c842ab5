"""The judge's own knobs. A candidate cannot reach any of them."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Policy(BaseModel):
    """How much evidence each tier asks for.

    Attributes:
        minimum_gain: least relative gain that counts, 0.03 = 3 %.
        non_inferiority: the most that any one cell may be slower.
        confidence: two-sided level of intervals before correction.
        screen_pairs, promote_pairs: timed pairs a cell.
        seeds_per_distribution: fresh inputs for numerics, (screen, promote).
        verified_samples: timed outputs that are compared with the oracle, a cell.
        build_wall_s, screen_wall_s, judge_wall_s: time limits of a build and of a judge, by tier.
        artefact_bytes, constant_bytes: caps on a program and on all constants in it.
        pinned_core: CPU core that times; None leaves it to the judge (the last one).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    minimum_gain: float = 0.03
    non_inferiority: float = 0.03
    confidence: float = 0.95
    screen_pairs: int = 30
    promote_pairs: int = 60
    seeds_per_distribution: tuple[int, int] = (1, 3)
    verified_samples: int = 3
    build_wall_s: float = 120.0
    screen_wall_s: float = 180.0
    judge_wall_s: float = 900.0
    artefact_bytes: int = 8 << 20
    constant_bytes: int = 1 << 20
    pinned_core: int | None = None
    keep_traces: bool = True


def repository_root() -> Path:
    """The checkout that this package runs from."""
    return Path(__file__).resolve().parents[1]
