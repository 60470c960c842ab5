"""What one request may take, and what its attempts came to. `wire` keeps to it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

MOST_BYTES = 8 << 20
"""Of one reply's body. The longest module and its reasoning need a tenth of it."""


@dataclass
class Bounds:
    """What one request may take, and what its attempts came to.

    Attributes:
        attempt_s: time limit of one attempt, to the last byte.
        made: attempts that were sent, or meant to be.
        unbilled: those that never reached a server, or were turned down at once.
        status: HTTP status of the last attempt, 0 for no answer.
        whole: its body was read to the end.
        too_large: a body went over `most_bytes`; nothing is sent after that.
    """

    attempt_s: float
    most_bytes: int = MOST_BYTES
    made: int = 0
    unbilled: int = 0
    status: int = 0
    whole: bool = False
    too_large: bool = False

    @property
    def may_be_billed(self) -> bool:
        """Whether a request that gave no reply may be paid for; where nothing was counted, yes."""
        return self.made == 0 or self.made > self.unbilled


bounds_of_request: ContextVar[Bounds | None] = ContextVar("bounds_of_request", default=None)
