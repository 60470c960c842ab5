"""The walk refuses what may not be judged, and sees what depends on what."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import export

from evaluators.inside.program import Program, RefusedProgramError, walk

S = jax.ShapeDtypeStruct((8, 8), jnp.float32)
CAPS = {"artefact_bytes": 1 << 20, "constant_bytes": 4096}


def serialise(function, *arguments, platform: str = "cpu", **how) -> bytes:
    exported = export.export(jax.jit(function), platforms=[platform], **how)(*arguments)
    return bytes(exported.serialize())


def walked(function, *arguments) -> Program:
    return walk(serialise(function, *arguments), "cpu", **CAPS)


def refused(data: bytes, platform: str = "cpu", **caps: int) -> RefusedProgramError:
    with pytest.raises(RefusedProgramError) as caught:
        walk(data, platform, **{**CAPS, **caps})
    return caught.value


def test_an_honest_program_passes() -> None:
    program = walked(lambda a, b: (jnp.tanh(a @ b), a.sum()), S, S)
    assert program.depends == (frozenset({0, 1}), frozenset({0}))
    assert program.custom_calls == ()
    assert program.operations["stablehlo.dot_general"] == 1


def test_lapack_is_on_the_list() -> None:
    program = walked(lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), S, S)
    assert program.custom_calls == ("lapack_strsm_ffi",)


def test_a_baked_array_is_over_the_cap() -> None:
    table = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    assert walked(lambda a: a + table[:8, :8], S).constant_bytes == 256
    assert refused(serialise(lambda a: (a, jnp.asarray(table)), S)).rule == "constants"


def test_a_program_over_its_size_is_refused() -> None:
    assert refused(serialise(jnp.tanh, S), artefact_bytes=100).rule == "size"


def test_another_platform_is_refused() -> None:
    assert refused(serialise(jnp.tanh, S, platform="tpu")).rule == "platform"


def test_a_callback_forced_through_the_exporter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src.export import _export

    monkeypatch.setattr(_export, "_check_lowering", lambda lowering: None)
    checks = [export.DisabledSafetyCheck.custom_call("xla_ffi_python_cpu_callback")]
    data = serialise(
        lambda a: jax.pure_callback(lambda x: np.asarray(x), S, a), S, disabled_checks=checks
    )
    found = refused(data)
    assert found.rule == "custom_call"
    assert "callback" in found.detail


def test_an_unknown_target_is_refused() -> None:
    def odd(a: jax.Array) -> jax.Array:
        return jax.ffi.ffi_call("anything_at_all", S)(a)

    checks = [export.DisabledSafetyCheck.custom_call("anything_at_all")]
    assert refused(serialise(odd, S, disabled_checks=checks)).rule == "custom_call"


def test_its_own_random_numbers_are_refused() -> None:
    def draw(a: jax.Array) -> jax.Array:
        return a + jax.lax.rng_uniform(jnp.float32(0), jnp.float32(1), (8, 8))

    assert refused(serialise(draw, S)).rule == "operation"


def test_a_constant_result_depends_on_nothing() -> None:
    assert walked(lambda a: jnp.ones((8, 8)), S).depends == (frozenset(),)


def test_a_passed_carry_borrows_nothing_from_the_others() -> None:
    def loop(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.lax.fori_loop(0, 3, lambda _, c: (c[0] @ c[0], c[1]), (a, b))

    assert walked(loop, S, S).depends == (frozenset({0}), frozenset({1}))


def test_dependence_goes_round_a_loop_and_through_branches() -> None:
    def loop(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.lax.fori_loop(0, 3, lambda _, c: (c[1], c[0]), (a, b))

    assert walked(loop, S, S).depends == (frozenset({0, 1}), frozenset({0, 1}))

    def branch(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
        return jax.lax.cond(a.sum() > 0, lambda: b, lambda: c)

    assert walked(branch, S, S, S).depends == (frozenset({0, 1, 2}),)


def test_an_unused_argument_keeps_the_others_in_place() -> None:
    assert walked(lambda a, b, c: c * 2, S, S, S).depends == (frozenset({2}),)


def test_the_digest_is_blind_to_names_and_places_and_sees_arithmetic() -> None:
    def one(a: jax.Array) -> jax.Array:
        return jnp.tanh(a) * 2

    def another(renamed: jax.Array) -> jax.Array:

        return jnp.tanh(renamed) * 2

    assert walked(one, S).digest == walked(another, S).digest
    assert walked(one, S).digest != walked(lambda a: jnp.tanh(a) * 3, S).digest


def test_an_attribute_cannot_hide_operations_from_the_digest() -> None:
    from jax.experimental.xla_metadata import set_xla_metadata

    def noted(function):
        def inner(a: jax.Array) -> jax.Array:
            with set_xla_metadata(note="jax.result_info = "):
                a = a + 1
            a = function(a)
            with set_xla_metadata(note='"'):
                return a * 2

        return inner

    first = walked(noted(jnp.sin), S).digest
    assert first == walked(noted(jnp.sin), S).digest
    assert first != walked(noted(lambda a: jnp.cos(jnp.cos(a))), S).digest


WHOLE = serialise(jnp.tanh, S)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=4),
    st.integers(0, len(WHOLE)),
)
def test_damaged_artefacts_are_refused_or_read(edits: list[tuple[int, int]], cut: int) -> None:
    damaged = bytearray(WHOLE)
    for position, value in edits:
        damaged[position] = value
    with contextlib.suppress(RefusedProgramError):
        walk(bytes(damaged[:cut]), "cpu", **CAPS)
