"""Prompts and replies as the run store keeps them, read back without any model's library."""

from __future__ import annotations

import json


def prompt_messages(data: bytes) -> tuple[tuple[str, str], ...]:
    """(role, content) of each message of a stored prompt."""
    return tuple((message["role"], message["content"]) for message in json.loads(data))


def reply_text(data: bytes) -> str:
    """What the model said in a stored reply."""
    return str(json.loads(data)["text"])


def reply_model(data: bytes) -> str:
    """Which model gave a stored reply; empty where the reply does not say."""
    return str(json.loads(data).get("model", ""))
