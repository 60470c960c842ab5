"""What the parts of `OpContract` share: the op, and how its tests are multiplied out."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import pytest

from reference_kernels import catalog
from reference_kernels.problem import Case, Implementation, Problem
from reference_kernels.testing import trial


class Contract:
    """An op under test.

    Attributes:
        op: the op's folder.
        public: entry point -> function that the op's package exports; by default `forward` -> `op`
            and `decode` -> `op_decode`.
        exports: platforms whose lowering needs no device.
        smooth: distributions on which the oracle has a derivative wherever inputs are drawn.
        yardstick_error: relative error that the plain version may have, by the case's dtype: a
            larger one would excuse anything.
    """

    op: ClassVar[str]
    public: ClassVar[dict[str, str]] = {}
    exports: ClassVar[tuple[str, ...]] = ("cpu", "tpu", "cuda")
    smooth: ClassVar[tuple[str, ...]] = ("typical",)
    yardstick_error: ClassVar[dict[str, float]] = {"float32": 1e-5, "bfloat16": 1e-2}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test for all entries, implementations and so on that it takes as arguments."""
        offered = ("entry", "implementation", "case", "choice")
        names = [name for name in offered if name in metafunc.fixturenames]
        if not names:
            return
        rows = []
        for entry in self.problem.entries:
            for implementation in self.problem.implementations:
                if entry.name not in implementation.entries or not trial.runs_here(implementation):
                    continue
                for case in self.problem.tagged("smoke"):
                    for choice in self.choices(implementation) if "choice" in names else (None,):
                        full = {"entry": entry, "implementation": implementation, "case": case}
                        rows.append(tuple({**full, "choice": choice}[name] for name in names))
        unique = list(dict.fromkeys(rows))
        metafunc.parametrize(names, unique, ids=["-".join(map(_label, row)) for row in unique])

    @property
    def problem(self) -> Problem:
        return catalog.problem(self.op)

    @property
    def simplest(self) -> tuple[Case, str]:
        """The case and the distribution for what need not be tried on all."""
        return self.problem.tagged("smoke")[0], self.problem.distributions[0]

    def module(self, implementation: Implementation) -> Any:
        return catalog.module(self.op, implementation.name)

    def arguments(self, entry: str) -> set[str]:
        """Arrays that some case hands to an entry point."""
        return {name for c in self.problem.cases for name in self.problem.entry(entry).arguments(c)}

    def choices(self, implementation: Implementation) -> list[tuple[str, Any]]:
        """What fields of `Config` declare beside their defaults."""
        return [
            (field.name, value)
            for field in dataclasses.fields(self.module(implementation).Config)
            for value in field.metadata.get("choices", ())
            if value != field.default
        ]


def _label(value: Any) -> str:
    return "=".join(map(str, value)) if isinstance(value, tuple) else value.name
