"""Tuning data: files, keys, and what happens when they are broken."""

from __future__ import annotations

import dataclasses
import json

import jax
import pytest

from reference_kernels import catalog, dispatch, tuning
from reference_kernels.errors import TuningDataError
from reference_kernels.problem import case_key

KEY = "rms_norm|xla|forward|x:float32[3]"


@pytest.fixture
def folder(tmp_path):
    def write(kind: str, content: str):
        tuning.path_for(kind, tmp_path).write_text(content)
        return tmp_path

    return write


def test_file_is_named_after_the_device_kind():
    assert tuning.slug("TPU v5 lite") == "tpu_v5_lite"
    assert tuning.slug("NVIDIA H100 80GB HBM3") == "nvidia_h100_80gb_hbm3"
    assert tuning.slug("cpu") == "cpu"
    assert tuning.path_for("TPU v5 lite").name == "tpu_v5_lite.json"


def test_no_file_is_no_entries(tmp_path):
    assert tuning.load("cpu", tmp_path) == {}


def test_entries_are_config_fields(folder):
    written = {"entries": {KEY: {"config": {"block": 4}, "verdict": "abc"}}}
    assert tuning.load("cpu", folder("cpu", json.dumps(written))) == {KEY: {"block": 4}}


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "3", "{}", '{"entries": [1]}', '{"entries": {"k": {}}}',
     '{"entries": {"k": {"config": 3}}}', '{"entries": {"k": null}}'],
)  # fmt: skip
def test_broken_file_names_itself(folder, content):
    with pytest.raises(TuningDataError, match=r"cpu\.json is not tuning data"):
        tuning.load("cpu", folder("cpu", content))


def test_lookup_is_by_op_implementation_and_key(folder, monkeypatch):
    written = {"entries": {KEY: {"config": {"block": 4}}}}
    monkeypatch.setattr(tuning, "_shipped", lambda kind: tuning.load(kind, folder(kind, content)))
    content = json.dumps(written)
    assert tuning.lookup("cpu", "rms_norm", "xla", "forward|x:float32[3]") == {"block": 4}
    assert tuning.lookup("cpu", "rms_norm", "plain", "forward|x:float32[3]") is None
    assert tuning.lookup("cpu", "rms_norm", "xla", "forward|x:float32[4]") is None


def test_tuned_config_reaches_the_call(monkeypatch):
    problem = catalog.problem("gated_delta_rule")
    key = case_key(problem, "forward", problem.case("tiny"))
    entries = {tuning.entry_key("gated_delta_rule", "xla", key): {"chunk": 16, "unroll": 2}}
    monkeypatch.setattr(tuning, "_shipped", lambda _: entries)
    config = dispatch.shipped_config("gated_delta_rule", "xla", key)
    assert (config.chunk, config.unroll) == (16, 2)
    assert (
        dispatch.shipped_config("gated_delta_rule", "plain", key)
        == catalog.module("gated_delta_rule", "plain").Config()
    )


def test_shipped_data_fits_the_modules():
    """Each entry is of an op and an implementation that are there, and makes a `Config`."""
    for path in tuning.FOLDER.glob("*.json"):
        for key, entry in json.loads(path.read_text())["entries"].items():
            op, implementation, shape = key.split("|", 2)
            catalog.problem(op).entry(shape.split("|")[0])
            config = catalog.module(op, implementation).Config(**entry["config"])
            assert dataclasses.asdict(config).items() >= entry["config"].items(), key


def test_this_machines_file_if_any_is_read():
    kind = jax.devices()[0].device_kind
    assert isinstance(tuning.load(kind), dict)
