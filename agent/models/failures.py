"""What an exception of litellm's means: a kind, and whether it may be billed."""

from __future__ import annotations

from agent.errors import ModelError
from agent.models.bounds import Bounds
from agent.models.secrets import scrubbed

_KINDS = {400: "refused", 401: "auth", 402: "auth", 403: "auth", 404: "refused", 408: "timeout",
          413: "too_long", 422: "refused", 429: "rate_limit"}  # fmt: skip
_BY_NAME = (
    ("Timeout", "timeout"),
    ("ContextWindowExceeded", "too_long"),
    ("ContentPolicyViolation", "content_filter"),
)
_UNBILLED = frozenset({"auth", "refused", "rate_limit", "too_long", "content_filter"})


def model_error(error: Exception, bounds: Bounds) -> ModelError:
    """The typed failure of a request.

    Args:
        bounds: what its attempts came to. Where they were counted, they decide what may be billed.
    """
    kind = _kind(error, bounds)
    billed = kind not in _UNBILLED if bounds.made == 0 else bounds.may_be_billed
    return ModelError(
        kind, scrubbed(_first_part(str(error)) or type(error).__name__), billed=billed
    )


def _kind(error: Exception, bounds: Bounds) -> str:
    if bounds.too_large:
        return "too_large"
    name = type(error).__name__
    for part, kind in _BY_NAME:
        if part in name:
            return kind
    status = getattr(error, "status_code", None)
    if status in _KINDS:
        return _KINDS[status]
    if bounds.made and bounds.status >= 500:
        return "server"
    if bounds.whole:
        # A success that litellm could make nothing of: it calls that an error of the server's.
        return "malformed"
    return "connection" if bounds.made or "Connection" in name else "server"


def _first_part(text: str) -> str:
    """The message without the traceback and the remarks that litellm's router adds."""
    for mark in (
        "Traceback (most recent call last)",
        "\n\nLiteLLM:",
        "\n\nDeployment Info",
        " LiteLLM Retried",
    ):
        text = text.partition(mark)[0]
    return text
