"""What the judge raises. A verdict is never raised, and a fault of ours is never a verdict."""


class EvaluatorError(Exception):
    """Anything that `evaluators` raises of its own."""


class JudgeFaultError(EvaluatorError):
    """The judging itself failed: the baseline canary died too. Retried, never a verdict."""


class MachineBusyError(EvaluatorError):
    """Another promotion-tier timing owns this machine."""


class UnknownTargetError(EvaluatorError):
    """No target of that name."""


class DeadlineError(EvaluatorError):
    """The caller's time ran out within a judgement, so there is no verdict.

    Attributes:
        device_ns: how long the judging process had held the device by then.
    """

    def __init__(self, device_ns: int = 0) -> None:
        super().__init__("the time that was left ran out within a judgement")
        self.device_ns = device_ns


class KnownProgramError(EvaluatorError):
    """The candidate lowers to a program that was judged before, so it is not judged again.

    Attributes:
        of: digest of the candidate that was judged with that program.
    """

    def __init__(self, of: str) -> None:
        super().__init__(f"it lowers to the program of candidate {of[:12]}")
        self.of = of
