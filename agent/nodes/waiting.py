"""Wait out what is nobody's fault: a lost daemon, a busy machine, a judge that failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.runtime import Patience
from evaluators.errors import JudgeFaultError, MachineBusyError
from sandbox.errors import InfrastructureError

Waiting = Callable[[str, float], None]
"""Told why a wait begins, and how long it is."""


@dataclass
class _Waited:
    """What one judgement has cost in patience."""

    faults: int = 0
    outage_s: float = 0.0
    outages: int = 0
    busy_s: float = 0.0


def patiently[T](attempt: Callable[[], T], patience: Patience, waiting: Waiting) -> T:
    """The result of `attempt`, tried again for as long as patience lasts.

    Raises:
        JudgeFaultError, InfrastructureError, MachineBusyError: patience ran out.
    """
    waited = _Waited()
    while True:
        try:
            return attempt()
        except (JudgeFaultError, MachineBusyError, InfrastructureError) as error:
            pause_s = _pause_s(error, waited, patience)
            if pause_s is None:
                raise
            waiting(str(error), pause_s)
        patience.sleep(pause_s)


def _pause_s(error: Exception, waited: _Waited, patience: Patience) -> float | None:
    """How long to wait before the next try; None when it has been enough."""
    if isinstance(error, JudgeFaultError):
        if waited.faults >= patience.faults:
            return None
        waited.faults += 1
        return patience.fault_pause_s * waited.faults
    if isinstance(error, MachineBusyError):
        if waited.busy_s >= patience.busy_s:
            return None
        waited.busy_s += patience.busy_pause_s
        return patience.busy_pause_s
    left_s = patience.outage_s - waited.outage_s
    if left_s <= 0:
        return None
    doubled_s = patience.outage_pause_s * 2 ** min(waited.outages, 30)
    pause_s = min(doubled_s, patience.longest_pause_s, left_s)
    waited.outages += 1
    waited.outage_s += pause_s
    return pause_s
