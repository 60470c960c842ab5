"""The records of an op, and how calls are named."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import pytest

from reference_kernels import catalog
from reference_kernels.errors import KernelError, UnknownOpError, UnsupportedError
from reference_kernels.gradients import with_grad
from reference_kernels.problem import Case, Cost, case, case_key, shape_key


class TestCase:
    def test_dims_are_looked_up_by_name(self):
        each = case("tiny", "smoke", seq=8, dim=16)
        assert (each["seq"], each.get("dim"), each.get("heads"), each.get("heads", 3)) == (
            8, 16, 0, 3,
        )  # fmt: skip
        with pytest.raises(KeyError):
            each["heads"]

    def test_equal_content_is_equal_and_hashable(self):
        a, b = (case("tiny", "cpu", "smoke", seq=8, static={"eps": 1e-6}) for _ in range(2))
        assert a == b
        assert {a: 1}[b] == 1
        assert a.statics == {"eps": 1e-6}

    def test_unknown_tag_is_refused(self):
        with pytest.raises(ValueError, match="gpu"):
            Case("tiny", (), "float32", frozenset({"gpu"}))

    def test_is_immutable(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            case("tiny", "smoke").name = "other"  # type: ignore[misc]


class TestProblem:
    def test_tagged_takes_all_tags(self):
        problem = catalog.problem("gated_delta_rule")
        for each in problem.tagged("cpu", "primary"):
            assert {"cpu", "primary"} <= each.tags
        assert set(problem.tagged()) == set(problem.cases)

    @pytest.mark.parametrize("what", ["entry", "case", "implementation"])
    def test_unknown_names_are_named(self, what):
        with pytest.raises(KeyError, match=r"gated_delta_rule.*nothing"):
            getattr(catalog.problem("gated_delta_rule"), what)("nothing")

    def test_with_cases_keeps_the_rest(self):
        problem = catalog.problem("gated_delta_rule")
        other = problem.with_cases(case("one", "smoke"))
        assert [c.name for c in other.cases] == ["one"]
        assert other.entries == problem.entries

    def test_cost_adds_bytes_up(self):
        assert Cost(1, 20, 3).bytes_moved == 23


class TestKeys:
    def test_arrays_and_their_shapes_have_one_key(self):
        arrays = {"x": jnp.ones((2, 3)), "tree": [jnp.ones(4, "int32")]}
        shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), arrays)
        static = {"eps": 1e-6}
        assert shape_key("forward", arrays, static) == shape_key("forward", shapes, static)

    def test_order_of_arguments_does_not_matter(self):
        a, b = jnp.ones(2), jnp.ones(3)
        one = shape_key("forward", {"a": a, "b": b}, {"x": 1, "y": 2})
        assert one == shape_key("forward", {"b": b, "a": a}, {"y": 2, "x": 1})

    @pytest.mark.parametrize(
        ("entry", "array", "static"),
        [
            ("decode", jnp.ones(2), {"eps": 1.0}),
            ("forward", jnp.ones(3), {"eps": 1.0}),
            ("forward", jnp.ones(2, "bfloat16"), {"eps": 1.0}),
            ("forward", jnp.ones(2), {"eps": 2.0}),
            ("forward", jnp.ones(2), {"eps": None}),
        ],
    )
    def test_whatever_tuning_depends_on_changes_it(self, entry, array, static):
        base = shape_key("forward", {"x": jnp.ones(2)}, {"eps": 1.0})
        assert shape_key(entry, {"x": array}, static) != base

    def test_is_a_stable_text(self):
        """Shipped tuning data is keyed by it."""
        problem = catalog.problem("gated_delta_rule")
        key = case_key(problem, "decode", problem.case("tiny-one-token"))
        assert key == (
            "decode|beta:float32[3,4]|g:float32[3,4]|initial_state:float32[3,4,16,16]"
            "|k:float32[3,2,16]|q:float32[3,2,16]|v:float32[3,4,16]"
            "|scale=None|use_qk_l2norm=False"
        )


class TestCatalog:
    def test_finds_ops_by_their_folders(self):
        assert {"gated_delta_rule", "rms_norm"} <= set(catalog.names())
        assert list(catalog.names()) == sorted(catalog.names())
        assert not {"testing", "tuned", "torch"} & set(catalog.names())

    def test_each_problem_is_named_after_its_folder(self):
        assert all(catalog.problem(name).name == name for name in catalog.names())

    def test_unknown_op_lists_those_there_are(self):
        with pytest.raises(UnknownOpError, match="gated_delta_rule"):
            catalog.problem("no_such_op")

    def test_module_is_the_implementation(self):
        module = catalog.module("gated_delta_rule", "xla")
        assert module.__name__ == "reference_kernels.gated_delta_rule.xla"
        with pytest.raises(KeyError):
            catalog.module("gated_delta_rule", "op")


def test_errors_share_a_base():
    assert issubclass(UnknownOpError, KernelError)
    assert issubclass(UnsupportedError, KernelError)
    assert issubclass(UnsupportedError, NotImplementedError)


def test_with_grad_differentiates_what_is_present():
    def forward(*, x, weight, bias=None, power):
        y = weight * x**power
        return {"y": y if bias is None else y + bias}

    function = with_grad(forward, ("x", "bias"))
    x = jnp.asarray([1.0, 2.0])
    results, gradients = function(cotangents={"y": jnp.ones(2)}, x=x, weight=3 * x, power=2)
    assert set(gradients) == {"x"}
    assert (results["y"] == 3 * x**3).all()
    assert (gradients["x"] == 6 * x**2).all()
    _, gradients = function(
        cotangents={"y": jnp.ones(2)}, x=x, weight=x, bias=jnp.zeros(2), power=2
    )
    assert set(gradients) == {"x", "bias"}
