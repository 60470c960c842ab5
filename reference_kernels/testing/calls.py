"""How an op can be called: by its public functions, jitted, mapped, and as an artefact."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import jax
import pytest

from reference_kernels import dispatch
from reference_kernels.errors import UnsupportedError
from reference_kernels.problem import EntryPoint, Implementation, Tree, case_key, shape_key
from reference_kernels.testing import trial
from reference_kernels.testing.base import Contract


class CallsContract(Contract):
    """Checks of every way in."""

    def test_call_without_jit_agrees_with_the_oracle(
        self, implementation: Implementation, entry: EntryPoint
    ):
        case, distribution = self.simplest
        extra = {"interpret": True} if trial.needs_interpreter(implementation) else {}
        function = trial.bound(self.op, implementation.name, entry.name, case, **extra)
        result = function(**trial.inputs(self.op, entry.name, case, distribution))
        assert not trial.failures(self.op, entry.name, case, distribution, result)

    def test_vmap_agrees_with_single_calls(self, implementation: Implementation, entry: EntryPoint):
        case, distribution = self.simplest
        drawn = [trial.inputs(self.op, entry.name, case, distribution, seed) for seed in (0, 1)]
        stacked = jax.tree.map(lambda *leaves: jax.numpy.stack(leaves), *drawn)
        function = trial.compiled(self.op, implementation.name, entry.name, case)
        results = jax.jit(jax.vmap(lambda arrays: function(**arrays)))(stacked)
        for seed in (0, 1):
            one = jax.tree.map(lambda leaf, seed=seed: leaf[seed], results)
            bad = trial.failures(self.op, entry.name, case, distribution, one, seed)
            assert not bad, "\n".join(bad)

    def test_exports_for_its_platforms(self):
        """As the sandbox does: each entry point by itself, to bytes and back."""
        for implementation in self.problem.implementations:
            if implementation.trust == "artefact":
                for platform in set(implementation.platforms) & set(self.exports):
                    for name in implementation.entries:
                        self._export(implementation, self.problem.entry(name), platform)

    def _export(self, implementation: Implementation, entry: EntryPoint, platform: str) -> None:
        case, distribution = self.simplest
        function = jax.jit(trial.bound(self.op, implementation.name, entry.name, case))
        artefact = jax.export.export(function, platforms=[platform])(**entry.arguments(case))
        again = jax.export.deserialize(artefact.serialize())
        expected = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(entry.results(case))]
        assert [(leaf.shape, leaf.dtype) for leaf in again.out_avals] == expected
        if platform == trial.platform():
            result = again.call(**trial.inputs(self.op, entry.name, case, distribution))
            assert not trial.failures(self.op, entry.name, case, distribution, result)

    def _public(self) -> dict[str, Callable[..., Tree]]:
        package = importlib.import_module(f"reference_kernels.{self.op}")
        names = {"forward": self.op, "decode": f"{self.op}_decode", **self.public}
        offered = {entry.name for entry in self.problem.entries}
        return {e: getattr(package, name) for e, name in names.items() if e in offered}

    def test_public_functions_dispatch(self, monkeypatch: pytest.MonkeyPatch):
        case, distribution = self.simplest
        keys: list[str] = []
        honest = dispatch.shipped_config

        def spy(op: str, implementation: str, key: str, device_kind: str | None = None) -> Any:
            keys.append(key)
            return honest(op, implementation, key, device_kind)

        monkeypatch.setattr(dispatch, "shipped_config", spy)
        for entry, function in self._public().items():
            arrays = trial.inputs(self.op, entry, case, distribution)
            result = function(**arrays, **case.statics)
            assert not trial.failures(self.op, entry, case, distribution, result)
            # Else what was tuned for the case is not what the call looks up.
            assert keys[-1] == case_key(self.problem, entry, case)
            assert keys[-1] == shape_key(entry, arrays, case.statics)

    def test_public_functions_take_an_implementation_and_a_config(self):
        case, distribution = self.simplest
        for entry, function in self._public().items():
            arrays = trial.inputs(self.op, entry, case, distribution)
            for implementation in self.problem.implementations:
                here = trial.runs_here(implementation)
                if not here or trial.needs_interpreter(implementation):
                    continue
                if entry not in implementation.entries:
                    continue
                for config in (None, self.module(implementation).Config()):
                    named = {"implementation": implementation.name, "config": config}
                    result = function(**arrays, **case.statics, **named)
                    assert not trial.failures(self.op, entry, case, distribution, result)
            with pytest.raises(UnsupportedError, match=r"no-such-one.*plain"):
                function(**arrays, **case.statics, implementation="no-such-one")
            with pytest.raises(UnsupportedError, match="config"):
                function(**arrays, **case.statics, config=object())

    def test_public_functions_say_what_they_take(self):
        for entry, function in self._public().items():
            text = inspect.getdoc(function) or ""
            for name in (*self.arguments(entry), *self.problem.cases[0].statics):
                assert f"{name}:" in text, f"{function.__name__} says nothing of {name}"
            assert re.search(r"Returns:.*\[.*\]", text, re.DOTALL), f"{function.__name__}: shapes?"
