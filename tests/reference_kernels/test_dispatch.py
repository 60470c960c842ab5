"""The dispatcher: which implementation and which config a call gets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from reference_kernels import catalog, dispatch, tuning
from reference_kernels.errors import UnsupportedError
from reference_kernels.problem import Implementation, Problem


@dataclasses.dataclass(frozen=True)
class Config:
    block: int = 8


def implementation(name: str, **other) -> Implementation:
    return Implementation(**{"name": name, "platforms": ("cpu",), "entries": ("forward",), **other})


@pytest.fixture
def op(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list]:
    """Install an op named `toy`; each call to an implementation is noted in the list returned."""

    def install(*implementations: Implementation, declines: tuple[str, ...] = ()) -> list:
        calls: list = []

        def module(_: str, name: str) -> ModuleType | SimpleNamespace:
            def forward(*, x, config, **rest):
                if name in declines:
                    raise UnsupportedError(f"{name} takes no {x.dtype}")
                calls.append((name, config, rest))
                return x

            return SimpleNamespace(Config=Config, forward=forward)

        problem = Problem("toy", "", "", (), (), (), implementations)
        monkeypatch.setattr(catalog, "problem", lambda name: {"toy": problem}[name])
        monkeypatch.setattr(catalog, "module", module)
        monkeypatch.setattr(tuning, "lookup", lambda *_: None)
        return calls

    return install


def call(**options):
    return dispatch.call("toy", "forward", {"x": jnp.ones(3)}, {"eps": 1e-6}, **options)


class TestPreference:
    def test_last_listed_comes_first(self, op):
        calls = op(implementation("plain"), implementation("xla"))
        call()
        assert calls == [("xla", Config(), {"eps": 1e-6})]

    def test_other_platforms_entries_and_process_trust_are_passed_over(self, op):
        calls = op(
            implementation("plain"),
            implementation("pallas_tpu", platforms=("tpu",)),
            implementation("decoder", entries=("decode",)),
            implementation("triton", trust="process"),
        )
        call()
        assert [name for name, *_ in calls] == ["plain"]

    def test_gpu_backend_is_cuda(self, op, monkeypatch):
        calls = op(implementation("plain"), implementation("fast", platforms=("cuda",)))
        monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
        call()
        assert [name for name, *_ in calls] == ["fast"]

    def test_who_declines_is_passed_over(self, op):
        calls = op(implementation("plain"), implementation("xla"), declines=("xla",))
        call()
        assert [name for name, *_ in calls] == ["plain"]

    def test_when_all_decline_each_says_why(self, op):
        op(
            implementation("plain"),
            implementation("xla"),
            implementation("pallas_tpu", platforms=("tpu",)),
            declines=("plain", "xla"),
        )
        with pytest.raises(ExceptionGroup, match=r"toy.forward") as caught:
            call()
        said = " / ".join(map(str, caught.value.exceptions))
        assert (
            said == "pallas_tpu: no forward on cpu / xla takes no float32 / plain takes no float32"
        )

    def test_other_errors_are_not_swallowed(self, op, monkeypatch):
        op(implementation("plain"), implementation("xla"))

        def broken(**_):
            raise ZeroDivisionError

        module = SimpleNamespace(Config=Config, forward=broken)
        monkeypatch.setattr(catalog, "module", lambda *_: module)
        with pytest.raises(ZeroDivisionError):
            call()


class TestByName:
    def test_named_one_runs_with_its_config(self, op):
        calls = op(implementation("plain"), implementation("xla"))
        call(implementation="plain", config=Config(block=2))
        assert calls == [("plain", Config(2), {"eps": 1e-6})]

    def test_unknown_name_lists_those_there_are(self, op):
        op(implementation("plain"), implementation("xla"))
        with pytest.raises(UnsupportedError, match=r"'cuda'.*plain, xla"):
            call(implementation="cuda")

    def test_entry_that_it_lacks(self, op):
        op(implementation("plain"), implementation("xla", entries=("decode",)))
        with pytest.raises(UnsupportedError, match="xla has no forward"):
            call(implementation="xla")

    def test_named_one_that_declines_says_so(self, op):
        op(implementation("plain"), implementation("xla"), declines=("xla",))
        with pytest.raises(UnsupportedError, match="xla takes no float32"):
            call(implementation="xla")

    def test_config_without_a_name_is_refused(self, op):
        op(implementation("plain"))
        with pytest.raises(UnsupportedError, match="belongs to one implementation"):
            call(config=Config())


class TestConfig:
    def test_shipped_tuning_data_is_looked_up_by_the_call(self, op, monkeypatch):
        calls = op(implementation("plain"))
        asked = []

        def lookup(*key):
            asked.append(key)
            return {"block": 4}

        monkeypatch.setattr(tuning, "lookup", lookup)
        call()
        kind = jax.devices()[0].device_kind
        assert asked == [(kind, "toy", "plain", "forward|x:float32[3]|eps=1e-06")]
        assert calls[0][1] == Config(4)

    def test_is_the_same_under_jit(self, op):
        calls = op(implementation("plain"))
        jax.jit(lambda x: dispatch.call("toy", "forward", {"x": x}, {}))(jnp.ones(3))
        assert calls == [("plain", Config(), {})]

    def test_absent_optional_arguments_are_left_out(self, op):
        calls = op(implementation("plain"))
        dispatch.call("toy", "forward", {"x": jnp.ones(3), "residual": None}, {})
        assert calls == [("plain", Config(), {})]

    def test_device_kind_can_be_another(self, op, monkeypatch):
        op(implementation("plain"))
        monkeypatch.setattr(tuning, "lookup", lambda kind, *_: {"block": len(kind)})
        assert dispatch.shipped_config("toy", "plain", "key", "TPU v5 lite") == Config(11)
