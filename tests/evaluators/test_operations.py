"""Self times share a run out among its operations: nothing twice, nothing lost."""

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.inside.operations import (
    Operation,
    Span,
    largest,
    self_times_ns,
    top_operations,
)
from evaluators.inside.profile import runs, traced, union_ns

STEPS = 5
SPAN = st.tuples(st.integers(0, 300), st.integers(0, 60)).map(lambda s: (s[0], s[0] + s[1]))


def spans(*events: tuple[str, float, float]) -> list[Span]:
    return [Span(*event) for event in events]


def test_a_loop_keeps_what_its_body_leaves() -> None:
    nested = spans(("while", 0, 100), ("dot", 10, 40), ("inner", 15, 20), ("tanh", 50, 80))
    assert self_times_ns(nested) == [40, 25, 5, 30]


def test_a_body_that_begins_and_ends_with_its_loop_is_inside_it() -> None:
    assert self_times_ns(spans(("dot", 0, 100), ("while", 0, 120))) == [100, 20]
    assert self_times_ns(spans(("while", 0, 100), ("dot", 60, 100))) == [60, 40]


def test_time_between_operations_is_nobodys() -> None:
    assert self_times_ns(spans(("a", 0, 10), ("b", 20, 30))) == [10, 10]


def test_threads_that_overlap_are_not_counted_twice() -> None:
    assert self_times_ns(spans(("a", 0, 10), ("b", 5, 20))) == [5, 15]


@given(st.lists(SPAN, max_size=30))
def test_self_times_add_up_to_the_union(edges: list[tuple[int, int]]) -> None:
    events = [Span("op", float(start), float(end)) for start, end in edges]
    own = self_times_ns(events)
    assert all(time >= 0 for time in own)
    assert sum(own) == union_ns([(float(start), float(end)) for start, end in edges])


def test_operations_are_ranked_over_all_runs() -> None:
    run = spans(("while", 0, 100), ("dot", 10, 40), ("dot", 50, 80), ("copy", 100, 110))
    assert largest([run, run, run]) == (
        Operation("dot", 60 / 110, 60, 2),
        Operation("while", 40 / 110, 40, 1),
        Operation("copy", 10 / 110, 10, 1),
    )
    assert largest([run], count=1)[0].name == "dot"
    assert largest([]) == largest([[]]) == ()


def test_one_interrupted_run_changes_nothing() -> None:
    quiet = spans(("dot", 0, 60), ("copy", 60, 100))
    interrupted = spans(("dot", 0, 60), ("copy", 60, 100_000))
    assert largest([quiet, interrupted, quiet]) == largest([quiet])


def test_a_line_says_name_share_time_and_calls() -> None:
    line = str(Operation("dot.1", 0.456, 1_234_567, 3))
    assert line == "dot.1: 45.6 % of the run, 1,234.6 us of its own, 3 x a run"
    assert len(str(Operation("x" * 500, 0.5, 10, 1))) < 150


@pytest.fixture(scope="module")
def trace() -> bytes:
    """Two programs of one name, `a` three times and `b` twice."""
    x = jax.random.normal(jax.random.key(0), (256, 256))

    def matmuls(a: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, STEPS, lambda _, c: jnp.tanh(c @ c), a)

    def sorts(a: jax.Array) -> jax.Array:
        return jnp.sort(a.reshape(-1))

    calls = {}
    for name, function in (("a", matmuls), ("b", sorts)):
        program = jax.jit(jax.export.export(jax.jit(function))(x).call).lower(x).compile()
        jax.block_until_ready(program(x))
        calls[name] = lambda program=program: jax.block_until_ready(program(x))
    return traced([(name, calls[name]) for name in "abbaa"]).trace


def test_programs_of_one_trace_are_told_apart(trace: bytes) -> None:
    first, second = (runs(trace)[position].program_id for position in (0, 1))
    loop, sort = top_operations(trace, first), top_operations(trace, second)
    assert {operation.name for operation in loop}.isdisjoint(o.name for o in sort)
    assert sort[0].name.startswith("sort")
    assert sort[0].share > 0.5
    assert loop[0].calls == STEPS, "the body's matmul, not the loop that contains it"
    assert next(o for o in loop if o.name.startswith("while")).share < 0.5


def test_shares_of_a_real_program_add_up(trace: bytes) -> None:
    for program_id in {run.program_id for run in runs(trace)}:
        found = top_operations(trace, program_id)
        assert 0 < len(found) <= 12
        assert [o.self_ns for o in found] == sorted((o.self_ns for o in found), reverse=True)
        assert sum(o.share for o in found) == pytest.approx(1, abs=0.35)


def test_a_program_that_did_not_run_has_no_operations(trace: bytes) -> None:
    assert top_operations(trace, 987_654) == ()
