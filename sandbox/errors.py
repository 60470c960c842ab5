"""Errors of the sandbox: a fault of the machinery and a bad job are never a job's result."""


class SandboxError(Exception):
    """Base of every error that the sandbox raises."""


class InfrastructureError(SandboxError):
    """The machinery failed (daemon gone, disk full, image missing); the job is not to blame.

    The message is one line that says what to do. The caller retries; it never judges.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class PolicyError(SandboxError):
    """The job asks for something that no sandbox grants: mend the job, a retry cannot help."""
