"""The evidence file that lies beside a promoted kernel: why anyone should believe it is faster."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from evaluators.verdict import Environment, TimingCell, Verdict
from runs.edits import Edit, Plan
from runs.incumbent import LIBRARY
from runs.records import Promotion


def evidence_path(promotion: Promotion) -> str:
    return f"{LIBRARY}/{promotion.op}/evidence/{promotion.id}.json"


def evidence_text(promotion: Promotion, verdict: Verdict, plan: Plan) -> str:
    """Deterministic JSON: the same promotion gives the same bytes, on any machine."""
    evidence = {
        "promotion": promotion.id,
        "kind": promotion.kind,
        "op": promotion.op,
        "implementation": promotion.implementation,
        "target": promotion.target,
        "decided_at": promotion.decided_at,
        "reviewer": promotion.reviewer,
        "reason": promotion.reason,
        "effect": verdict.effect.model_dump(mode="json") if verdict.effect else None,
        "verdict": {
            "digest": verdict.digest,
            "status": str(verdict.status),
            "tier": verdict.tier,
            "trust": verdict.trust,
            "judged_at": verdict.judged_at,
            "gates": [
                {"name": gate.name, "passed": gate.passed, "numbers": gate.numbers}
                for gate in verdict.gates
            ],
        },
        "cells": [_cell(cell) for cell in verdict.timings],
        "environment": _environment(verdict.environment),
        "validity": sorted(promotion.validity),
        "digests": {
            "candidate": promotion.candidate,
            "incumbent": promotion.incumbent,
            "builds": list(verdict.builds),
            "programs": verdict.facts.get("programs", {}),
        },
        "source": _source(plan.source),
        "tuning": _tuning(plan),
    }
    return json.dumps(evidence, indent=2, sort_keys=True) + "\n"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _cell(cell: TimingCell) -> dict[str, Any]:
    samples = {"pairs_ns", "control_pairs_ns", "wall_pairs_ns"}
    return {**cell.model_dump(mode="json", exclude=samples), "pairs": len(cell.pairs_ns)}


def _environment(environment: Environment | None) -> dict[str, Any] | None:
    """The environment without what names one machine: its name, and flags that hold paths."""
    if environment is None:
        return None
    flags = [flag for flag in environment.xla_flags.split() if "/" not in flag]
    kept = environment.model_dump(mode="json", exclude={"machine", "pinned_core"})
    return {**kept, "xla_flags": " ".join(flags)}


def _source(edit: Edit | None) -> dict[str, str | None] | None:
    if edit is None:
        return None
    return {
        "file": edit.path,
        "before_sha256": None if edit.before is None else sha256(edit.before),
        "after_sha256": sha256(edit.after or ""),
    }


def _tuning(plan: Plan) -> dict[str, Any] | None:
    if plan.tuned is None:
        return None
    return {
        "file": plan.tuned.path,
        "new_file": plan.tuned.before is None,
        "before": plan.before,
        "after": plan.after,
    }
