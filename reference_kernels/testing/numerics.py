"""What an op's oracle, implementations and cases promise in numbers."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from reference_kernels.errors import UnsupportedError
from reference_kernels.problem import Case, EntryPoint, Implementation, Tree
from reference_kernels.testing import mutants, trial
from reference_kernels.testing.base import Contract


class NumericsContract(Contract):
    """Checks against the float64 oracle, and of it."""

    def test_oracle_results_are_as_specified(self, entry: EntryPoint, case: Case):
        found = trial.truth(self.op, entry.name, case, self.problem.distributions[0])
        expected = entry.results(case)
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert got.shape == want.shape
            floating = jax.numpy.issubdtype(want.dtype, np.floating)
            assert got.dtype == (np.float64 if floating else want.dtype)

    def test_oracle_gradients_are_its_finite_differences(self, case: Case):
        if "forward_with_grad" not in {entry.name for entry in self.problem.entries}:
            pytest.skip(f"{self.op} has no gradients")
        for distribution in self.smooth:
            drawn = trial.inputs(self.op, "forward_with_grad", case, distribution)
            arrays = {n: jax.tree.map(_float64, x) for n, x in drawn.items() if n != "cotangents"}
            cotangents = jax.tree.map(_float64, drawn["cotangents"])
            _, gradients = trial.truth(self.op, "forward_with_grad", case, distribution)
            rng = np.random.default_rng(0)
            for name, gradient in gradients.items():
                length = 1e-5 * np.sqrt(np.mean(arrays[name] ** 2))
                step = length * rng.standard_normal(gradient.shape)
                ahead, behind = (
                    trial.evaluate_oracle(self.op, "forward", case, {**arrays, name: moved})
                    for moved in (arrays[name] + step, arrays[name] - step)
                )
                found = (_dot(ahead, cotangents) - _dot(behind, cotangents)) / 2
                # Relative to how large the sum could be, since its terms may cancel.
                scale = np.linalg.norm(gradient) * np.linalg.norm(step)
                error = abs(found - np.sum(gradient * step))
                assert error <= 1e-5 * scale, f"{distribution}: d{name} is off by {error / scale}"

    def test_plain_is_a_fit_yardstick(self, entry: EntryPoint, case: Case):
        """A large error of its own would let anything pass."""
        for distribution in self.problem.distributions:
            plain = trial.yardstick(self.op, entry.name, case, distribution)
            exact = trial.truth(self.op, entry.name, case, distribution)
            for got, want in zip(jax.tree.leaves(plain), jax.tree.leaves(exact), strict=True):
                error = np.linalg.norm(_float64(got) - want)
                limit = self.yardstick_error[case.dtype] * np.linalg.norm(want)
                assert error <= limit, f"{distribution}: {error} > {limit}"

    def test_results_are_as_specified_on_every_case(
        self, implementation: Implementation, entry: EntryPoint
    ):
        for each in self.problem.cases:
            function = trial.compiled(self.op, implementation.name, entry.name, each)
            found = jax.eval_shape(function, **entry.arguments(each))
            expected = trial.specification(entry.results(each))
            assert trial.specification(found) == expected, each.name

    def test_results_agree_with_the_oracle(
        self, implementation: Implementation, entry: EntryPoint, case: Case
    ):
        function = trial.compiled(self.op, implementation.name, entry.name, case)
        bad = []
        for distribution in self.problem.distributions:
            arrays = trial.inputs(self.op, entry.name, case, distribution)
            before = jax.tree.map(np.array, arrays)
            result = function(**arrays)
            _assert_plain_containers(result)
            bad += trial.failures(self.op, entry.name, case, distribution, result)
            assert trial.same(result, function(**arrays)), f"{distribution}: not deterministic"
            assert trial.same(arrays, before), f"{distribution}: inputs were written to"
        assert not bad, "\n".join(bad)

    def test_every_declared_choice_is_right(
        self, implementation: Implementation, entry: EntryPoint, choice: tuple[str, Any]
    ):
        """What a tuner may choose is right, or raises `UnsupportedError`."""
        case, _ = self.simplest
        config = self.module(implementation).Config(**dict([choice]))
        function = trial.compiled(self.op, implementation.name, entry.name, case, config)
        bad = []
        for distribution in self.problem.distributions:
            try:
                result = function(**trial.inputs(self.op, entry.name, case, distribution))
            except UnsupportedError:
                continue
            bad += trial.failures(self.op, entry.name, case, distribution, result)
        assert not bad, "\n".join(bad)

    def test_wrong_results_are_caught(self, entry: EntryPoint, case: Case):
        self._admit(entry, case, self.problem.distributions)

    @pytest.mark.slow
    def test_wrong_results_are_caught_on_timed_cases(self, entry: EntryPoint):
        for each in self.problem.tagged("cpu"):
            self._admit(entry, each, self.problem.distributions[:1])

    def _admit(self, entry: EntryPoint, case: Case, distributions: tuple[str, ...]) -> None:
        """A case that lets a wrong result pass is broken."""
        escaped: dict[str, int] = {}
        for distribution in distributions:
            for name, wrong in mutants.wholesale(self.op, entry.name, case, distribution):
                caught = trial.failures(self.op, entry.name, case, distribution, wrong)
                assert caught, f"{case.name}, {distribution}: {name} pass for right"
            for name, wrong in mutants.subtle(self.op, entry.name, case, distribution):
                caught = trial.failures(self.op, entry.name, case, distribution, wrong)
                escaped[name] = escaped.get(name, 0) + (not caught)
        broken = [name for name, count in escaped.items() if count == len(distributions)]
        assert not broken, f"{case.name} cannot tell these from right: {broken}"


def _float64(leaf: Any) -> np.ndarray:
    return np.asarray(leaf).astype(np.float64)


def _dot(left: Tree, right: Tree) -> float:
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return float(sum(np.sum(a * b) for a, b in pairs))


def _assert_plain_containers(tree: Tree) -> None:
    if type(tree) in (tuple, list, dict):
        for item in tree.values() if isinstance(tree, dict) else tree:
            _assert_plain_containers(item)
    else:
        assert isinstance(tree, jax.Array), f"{type(tree)} is no plain container"
