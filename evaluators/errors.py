"""What the judge raises. A verdict is never raised, and a fault of ours is never a verdict."""


class EvaluatorError(Exception):
    """Anything that `evaluators` raises of its own."""


class JudgeFaultError(EvaluatorError):
    """The judging itself failed: the baseline canary died too. Retried, never a verdict."""


class MachineBusyError(EvaluatorError):
    """Another promotion-tier timing owns this machine."""


class UnknownTargetError(EvaluatorError):
    """No target of that name."""
