"""What the judge hands back. `evaluators.evaluator.Evaluator` is the front door:

outcome = Evaluator(backend, policy).judge(candidate, tier="screen")
outcome.verdict.status
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evaluators.programs import key_of_programs
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


def program_key(verdict: Verdict) -> str | None:
    """Identity of what a verdict judged: the lowered program of every cell.

    None where nothing was lowered, so that there is no program to know again.
    """
    programs = verdict.facts.get("programs")
    return key_of_programs(programs) if programs else None


INCUMBENT = "unchanged"
"""The key, among known programs, of the incumbent's own."""

__all__ = ["INCUMBENT", "Outcome", "Progress", "Tier", "program_key"]
