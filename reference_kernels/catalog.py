"""Find ops by their folders: adding one edits nothing outside its own."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from reference_kernels.errors import UnknownOpError
from reference_kernels.problem import Problem


@cache
def names() -> tuple[str, ...]:
    """Every op, sorted: each package below `reference_kernels` that has an `op.py`."""
    package = importlib.import_module("reference_kernels")
    found = []
    for module in pkgutil.iter_modules(package.__path__):
        if module.ispkg:
            spec = module.module_finder.find_spec(module.name, None)  # type: ignore[call-arg]
            locations = (spec.submodule_search_locations or []) if spec else []
            if any(m.name == "op" for m in pkgutil.iter_modules(list(locations))):
                found.append(module.name)
    return tuple(sorted(found))


@cache
def problem(name: str) -> Problem:
    """The `Problem` of an op.

    Raises:
        UnknownOpError: there is no folder of that name; the message lists those there are.
    """
    if name not in names():
        raise UnknownOpError(f"no op named {name!r}; there are: {', '.join(names())}")
    return importlib.import_module(f"reference_kernels.{name}.op").PROBLEM


def module(op: str, implementation: str) -> ModuleType:
    """Import one implementation module of an op."""
    problem(op).implementation(implementation)
    return importlib.import_module(f"reference_kernels.{op}.{implementation}")
