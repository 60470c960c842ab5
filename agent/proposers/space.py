"""The search space that a module declares: the fields of its `Config` that list their choices."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reference_kernels import catalog

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Space:
    """Choices by field, and the config class that knows which points are valid.

    Attributes:
        choices: field name -> values, in the order they were declared.
        config: the module's `Config`.
    """

    choices: dict[str, tuple[Any, ...]]
    config: type

    @property
    def size(self) -> int:
        return math.prod(len(values) for values in self.choices.values()) if self.choices else 0

    def points(self) -> Iterator[dict[str, Any]]:
        """Every point, valid or not, in order."""
        names = tuple(self.choices)
        for values in itertools.product(*self.choices.values()):
            yield dict(zip(names, values, strict=True))

    def key(self, point: Point) -> tuple[int, ...]:
        """A point as indices of its choices.

        Raises:
            ValueError: a value is none of the choices.
        """
        return tuple(values.index(point[name]) for name, values in self.choices.items())

    def valid(self, point: Point) -> bool:
        """Whether `Config` takes the point; it raises for combinations that make no sense."""
        try:
            self.config(**point)
        except (ValueError, TypeError, NotImplementedError, AssertionError):
            return False
        return True

    def default(self) -> dict[str, Any] | None:
        """The default point, None when a field has no default among its choices."""
        try:
            config = self.config()
            point = {name: getattr(config, name) for name in self.choices}
            self.key(point)
        except (TypeError, ValueError):
            return None
        return point


def space_of(config: type) -> Space:
    """Read the space from a `Config`'s field metadata."""
    choices = {
        field.name: tuple(field.metadata["choices"])
        for field in dataclasses.fields(config)
        if len(field.metadata.get("choices", ())) > 1
    }
    return Space(choices, config)


def shipped_space(op: str, implementation: str) -> Space:
    """The space of the library's own module: text that we wrote, so it is imported."""
    return space_of(catalog.module(op, implementation).Config)
