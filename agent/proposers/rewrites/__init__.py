"""Structural rewrites of JAX modules: one small class each, every one a known optimisation.

A rewrite may change rounding, and some are right for most inputs only: whether a result is correct
and faster is the judge's to say. What it must do is parse.
"""

from __future__ import annotations

from agent.proposers.rewrites.base import Rewrite, Rewritten
from agent.proposers.rewrites.casts import DropAstype
from agent.proposers.rewrites.checkpoint import CheckpointBody
from agent.proposers.rewrites.config_default import ConfigDefault
from agent.proposers.rewrites.cumsum import CumsumAsMatmul
from agent.proposers.rewrites.einsum import EinsumToMatmul, SwapEinsumOperands
from agent.proposers.rewrites.exponentials import JoinExponentials
from agent.proposers.rewrites.hoist import HoistInvariant
from agent.proposers.rewrites.loops import MapToVmap, UnrollLoop
from agent.proposers.rewrites.matmuls import JoinMatmuls
from agent.proposers.rewrites.precision import LowerPrecision
from agent.proposers.rewrites.reductions import SquareSumAsDot
from agent.proposers.rewrites.roots import ReciprocalRoot
from agent.proposers.rewrites.triangular import SolveAgainstIdentity

REWRITES: tuple[Rewrite, ...] = (
    UnrollLoop(),
    MapToVmap(),
    LowerPrecision(),
    SwapEinsumOperands(),
    EinsumToMatmul(),
    ConfigDefault(),
    HoistInvariant(),
    JoinExponentials(),
    CumsumAsMatmul(),
    JoinMatmuls(),
    SolveAgainstIdentity(),
    SquareSumAsDot(),
    ReciprocalRoot(),
    DropAstype(),
    CheckpointBody(),
)

__all__ = ["REWRITES", "Rewrite", "Rewritten"]
