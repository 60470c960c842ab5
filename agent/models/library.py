"""litellm, imported so that it stays off the network, quiet, and within bounds."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from types import ModuleType

_READ_ONLY = r"Items? .* on TypedDict class .* using the `ReadOnly` qualifier"
# A server may send content of any type, and pydantic quotes it when it warns.
_ODD_CONTENT = r"Pydantic serializer warnings"
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai", "httpx", "httpcore", "aiohttp")

_lock = threading.Lock()


def load() -> ModuleType:
    """The litellm module; the first call takes seconds."""
    with _lock:
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        os.environ["LITELLM_OFFLINE_MODE"] = "true"
        # It would use another HTTP client, which nothing bounds.
        os.environ["DISABLE_AIOHTTP_TRANSPORT"] = "False"
        os.environ.pop("LITELLM_HTTP2", None)
        # litellm builds many of its classes at the first request, and pydantic warns about them
        # then.
        warnings.filterwarnings("ignore", message=_READ_ONLY, category=UserWarning)
        warnings.filterwarnings("ignore", message=_ODD_CONTENT, category=UserWarning)
        import litellm

        litellm.suppress_debug_info = True
        litellm.disable_hf_tokenizer_download = True
        _silence()
        from agent.models import wire

        wire.install()
        return litellm


def _silence() -> None:
    """No word of litellm's: its messages quote requests and replies. Errors are raised to us."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False
        logger.setLevel(logging.CRITICAL + 1)
