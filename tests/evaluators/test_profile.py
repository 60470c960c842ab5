"""Device time is the union of intervals, and a profile must show exactly the calls made."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.inside.profile import ProfileMismatchError, runs, traced, union_ns

SPAN = st.tuples(st.integers(0, 300), st.integers(0, 60)).map(lambda s: (s[0], s[0] + s[1]))


@given(st.lists(SPAN, max_size=30))
def test_the_union_is_the_measure_of_the_covered_set(spans: list[tuple[int, int]]) -> None:
    covered = {instant for start, end in spans for instant in range(start, end)}
    assert union_ns([(float(a), float(b)) for a, b in spans]) == len(covered)


def test_nested_events_count_once() -> None:
    assert union_ns([(0, 100), (10, 20), (30, 90), (95, 120)]) == 120


def program(scale: float) -> Callable[[], None]:
    x = jax.random.normal(jax.random.key(0), (64, 64))
    compiled = (
        jax.jit(lambda a: jax.lax.fori_loop(0, 5, lambda _, c: jnp.tanh(c @ c) * scale, a))
        .lower(x)
        .compile()
    )
    return lambda: jax.block_until_ready(compiled(x))


def test_two_programs_of_one_name_are_told_apart_in_order() -> None:
    first, second = program(0.5), program(0.25)
    order = ["a", "b", "b", "a", "b"]
    calls = [(name, {"a": first, "b": second}[name]) for name in order]
    shown = traced(calls)
    found = runs(shown.trace)
    assert len(shown.durations_ns) == len(found) == 5
    assert all(duration > 0 for duration in shown.durations_ns)
    assert set(shown.programs.values()) == {run.program_id for run in found}
    ids = [run.program_id for run in found]
    assert [ids.index(i) for i in ids] == [0, 1, 1, 0, 1]


def test_a_call_that_runs_nothing_is_noticed() -> None:
    honest = program(0.5)
    with pytest.raises(ProfileMismatchError):
        traced([("a", honest), ("b", lambda: None)])


def test_a_second_program_under_one_label_is_noticed() -> None:
    first, second = program(0.5), program(0.25)
    with pytest.raises(ProfileMismatchError):
        traced([("a", first), ("a", second)])


def test_device_time_tracks_the_wall_clock() -> None:
    x = jax.random.normal(jax.random.key(1), (512, 512))
    compiled = jax.jit(lambda a: a @ a @ a).lower(x).compile()
    shown = traced([("a", lambda: jax.block_until_ready(compiled(x)))] * 20)
    assert 1e5 < np.median(shown.durations_ns) < 1e9
