"""What the judge hands back. `evaluators.evaluator.Evaluator` is the front door:

outcome = Evaluator(backend, policy).judge(candidate, tier="screen")
outcome.verdict.status
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evaluators.verdict import Tier, Verdict
from sandbox.records import Build


@dataclass(frozen=True)
class Outcome:
    """A verdict and everything that it names.

    Attributes:
        verdict: the record.
        builds: the `Build` records that were judged.
        blobs: digest -> bytes of artefacts and traces named in them.
    """

    verdict: Verdict
    builds: tuple[Build, ...] = ()
    blobs: dict[str, bytes] = field(default_factory=dict)


Progress = Callable[[str], None]
"""Called with the name of each stage as it begins."""

__all__ = ["Outcome", "Progress", "Tier"]
