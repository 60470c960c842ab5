"""The verbs of the command line, found by walking it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# What is said anew on each call: decisions, files to read, ways out of a guard, forms of output.
SAID_EACH_TIME = frozenset(
    {
        *("accept", "reject", "defer", "reason", "show", "patch"),
        *("allow_unsafe", "config", "debug", "help", "json", "version"),
    }
)


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every verb below a command: its words and its command, in the order of the help."""
    children = getattr(command, "commands", None)
    if children is None:
        yield words, command
        return
    for name, child in children.items():
        yield from leaves(child, (*words, name))


def settings(command: Any) -> dict[str, Any]:
    """The options of a verb that a config file may set, by name."""
    return {
        parameter.name: parameter
        for parameter in command.params
        if parameter.param_type_name == "option"
        and parameter.name not in SAID_EACH_TIME
        and not parameter.hidden
    }
