"""What the agent raises. A proposer's failure is recorded, never raised past its node."""


class AgentError(Exception):
    """Anything that `agent` raises of its own."""


class SettingsError(AgentError):
    """The settings of a run do not fit together, or name what is not there: a usage error."""


class UnknownRunError(AgentError):
    """No run of that name in the store."""


class RecordingError(AgentError):
    """A recording that cannot be made, read or repeated."""


class RunBusyError(AgentError):
    """Another process is working on this run."""


class ExhaustedError(AgentError):
    """A proposer has nothing left to propose from this context."""


class ModelError(AgentError):
    """A model gave no usable reply.

    Attributes:
        kind: `auth`, `rate_limit`, `timeout`, `server`, `connection`, `refused`, `content_filter`,
            `too_long` (the prompt), `too_large` (the reply), `malformed`.
        billed: whether the provider may have charged for it all the same.
    """

    def __init__(self, kind: str, message: str, *, billed: bool) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.billed = billed
