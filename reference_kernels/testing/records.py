"""What an op's records promise: names, tags, costs, inputs, signatures, configs."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from typing import Any

import jax
import numpy as np
import pytest

from reference_kernels.errors import UnsupportedError
from reference_kernels.problem import TAGS, Case, EntryPoint, Tree, case_key
from reference_kernels.testing import trial
from reference_kernels.testing.base import Contract


class RecordsContract(Contract):
    """Checks that need no numerics."""

    def test_problem_is_whole(self):
        problem = self.problem
        assert problem.name == self.op
        assert all((problem.summary, problem.definition, problem.menu))
        assert problem.entries[0].name == "forward"
        assert problem.implementations[0].name == "plain", "plain's error is the yardstick"
        assert {e.name for e in problem.entries} == set(problem.implementations[0].entries)
        for what in (problem.cases, problem.entries, problem.implementations):
            names = [item.name for item in what]
            assert len(set(names)) == len(names), f"names repeat: {names}"
        assert len(set(problem.distributions)) == len(problem.distributions) >= 2

    def test_cases_are_named_tagged_and_alike(self):
        static = set(self.problem.cases[0].statics)
        for each in self.problem.cases:
            assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", each.name), each.name
            assert each.tags <= TAGS
            assert each.tags & {"smoke", "cpu", "device"}, f"{each.name} runs nowhere"
            assert not {"holdout", "primary"} <= each.tags, f"{each.name} is held out, yet steers"
            # Else the key of a case is not that of the public function's call.
            assert set(each.statics) == static, f"{each.name} has other static arguments"
        for tags in (("smoke",), ("smoke", "holdout"), ("cpu", "primary"), ("cpu", "holdout")):
            assert self.problem.tagged(*tags), f"no case is tagged {tags}"
        assert {each.dtype for each in self.problem.tagged("smoke")} >= {"float32", "bfloat16"}

    def test_keys_of_steering_cases_are_distinct(self, entry: EntryPoint):
        named: dict[str, str] = {}
        for each in self.problem.tagged("primary"):
            other = named.setdefault(case_key(self.problem, entry.name, each), each.name)
            assert other == each.name, f"{each.name} and {other} have one key"

    def test_cost_is_positive_and_grows_with_every_dim(self, entry: EntryPoint):
        for each in self.problem.cases:
            cost = _numbers(entry, each)
            assert all(number > 0 for number in cost), (each.name, cost)
            assert cost[1] <= _bytes(entry.arguments(each)), "arguments are read once"
            assert cost[2] <= _bytes(entry.results(each)), "results are written once"
            # A dim of 1 may be a flag.
            for name in (name for name, size in each.dims if size > 1):
                dims = tuple((n, s * 2 if n == name else s) for n, s in each.dims)
                larger = _numbers(entry, dataclasses.replace(each, dims=dims))
                assert all(b >= a for a, b in zip(cost, larger, strict=True)), (each.name, name)

    def test_inputs_are_as_specified_finite_and_reproducible(self, entry: EntryPoint, case: Case):
        for distribution in self.problem.distributions:
            drawn = entry.inputs(jax.random.key(7), case, distribution)
            assert list(drawn) == list(entry.arguments(case))
            assert trial.specification(drawn) == trial.specification(entry.arguments(case))
            for leaf in jax.tree.leaves(drawn):
                assert np.isfinite(np.asarray(leaf).astype(np.float64)).all(), distribution
            again = entry.inputs(jax.random.key(7), case, distribution)
            other = entry.inputs(jax.random.key(8), case, distribution)
            assert trial.same(drawn, again), f"{distribution}: one key, two draws"
            assert not trial.same(drawn, other), f"{distribution} ignores its key"

    def test_unknown_distribution_is_an_error(self, entry: EntryPoint, case: Case):
        with pytest.raises(ValueError, match="no-such-distribution"):
            entry.inputs(jax.random.key(0), case, "no-such-distribution")

    def test_signatures_are_the_contract(self):
        """Arrays and static arguments by keyword, under the names that the problem gives them."""
        for implementation in self.problem.implementations:
            for name in implementation.entries:
                function = getattr(self.module(implementation), name)
                parameters = inspect.signature(function).parameters
                if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
                    continue
                where = f"{implementation.name}.{name}"
                arrays = self.arguments(name)
                expected = arrays | set(self.problem.cases[0].statics) | {"config"}
                expected |= {"interpret"} if implementation.interpret else set()
                assert set(parameters) == expected, where
                assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values()), where
                for argument in arrays:
                    annotation = str(parameters[argument].annotation)
                    assert "[" in annotation, f"{where}: what shape is {argument}?"

    def test_configs_are_records_that_validate_themselves(self):
        for implementation in self.problem.implementations:
            config_type: Any = self.module(implementation).Config
            config = config_type()
            assert hash(config) == hash(config_type())
            for field in dataclasses.fields(config_type):
                with pytest.raises(dataclasses.FrozenInstanceError):
                    setattr(config, field.name, field.default)
                choices = field.metadata.get("choices")
                if choices is not None:
                    assert field.default in choices
                    assert len(set(choices)) == len(choices) > 1
                    self._refuses_nonsense(config_type, field)
            assert config_type(**json.loads(json.dumps(dataclasses.asdict(config)))) == config

    def _refuses_nonsense(self, config_type: Any, field: dataclasses.Field) -> None:
        nonsense = {str: "no-such-choice", int: -3}.get(type(field.default))
        if nonsense is not None:
            with pytest.raises(UnsupportedError):
                config_type(**{field.name: nonsense})


def _numbers(entry: EntryPoint, case: Case) -> tuple[int, int, int]:
    cost = entry.cost(case)
    return cost.operations, cost.bytes_read, cost.bytes_written


def _bytes(tree: Tree) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))
