"""Candidates and builds: identity is content, and only content."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sandbox.records import Artefact, Build, Candidate, canonical_json

DIGEST = "0" * 64


def candidate(**changes: Any) -> Candidate:
    plain: dict[str, Any] = {
        "op": "softmax",
        "implementation": "xla",
        "target": "cpu",
        "files": {"xla.py": "x = 1\n"},
    }
    return Candidate(**(plain | changes))


def artefact(**changes: Any) -> Artefact:
    plain: dict[str, Any] = {
        "entry": "forward",
        "case": "small",
        "platform": "cpu",
        "digest": DIGEST,
        "size_bytes": 1,
        "lower_duration_ns": 2,
    }
    return Artefact(**(plain | changes))


def build(**changes: Any) -> Build:
    plain: dict[str, Any] = {
        "candidate": DIGEST,
        "target": "cpu",
        "toolchain": DIGEST,
        "artefacts": (artefact(),),
        "status": "built",
    }
    return Build(**(plain | changes))


def test_the_digest_is_sha256_of_canonical_json() -> None:
    text = b'{"files":{"xla.py":"x = 1\\n"},"implementation":"xla","op":"softmax","target":"cpu"}'
    assert candidate().digest == hashlib.sha256(text).hexdigest()


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}\.py", fullmatch=True), st.text(), min_size=1))
def test_the_order_of_files_is_no_content(files: dict[str, str]) -> None:
    # Source text holds no lone surrogates: hypothesis draws none by default.
    backwards = dict(reversed(files.items()))
    assert candidate(files=files).digest == candidate(files=backwards).digest


def test_every_part_of_a_candidate_is_content() -> None:
    variants = [
        candidate(),
        candidate(op="other"),
        candidate(implementation="triton"),
        candidate(target="cuda:sm_90"),
        candidate(files={"xla.py": "x = 2\n"}),
        candidate(files={"other.py": "x = 1\n"}),
    ]
    assert len({variant.digest for variant in variants}) == len(variants)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"../xla.py": ""},
        {"/xla.py": ""},
        {"a/../b.py": ""},
        {"a\\b.py": ""},
        {"": ""},
        {"a b.py": ""},
        {".hidden.py": ""},
        {"xla.py": "x" * (1 << 20) + "x"},
        {"xla.py": "\ud800"},
    ],
)
def test_bad_files_are_refused(files: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        candidate(files=files)


def test_records_are_frozen_and_closed() -> None:
    with pytest.raises(ValidationError):
        candidate().op = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        candidate(author="somebody")


def test_times_log_and_facts_are_no_identity_of_a_build() -> None:
    same = build(
        log="other", duration_ns=9, facts={"flops": 3}, artefacts=(artefact(lower_duration_ns=7),)
    )
    assert same.digest == build().digest
    assert build(artefacts=(artefact(digest="1" * 64),)).digest != build().digest
    assert build(toolchain="1" * 64).digest != build().digest


def test_the_order_of_artefacts_is_no_identity() -> None:
    pair = (artefact(), artefact(case="large"))
    assert build(artefacts=pair).digest == build(artefacts=pair[::-1]).digest


@pytest.mark.parametrize(
    "changes",
    [
        {"artefacts": ()},
        {"status": "crashed"},
        {"artefacts": (artefact(), artefact(digest="1" * 64))},
        {"candidate": "short"},
        {"status": "fine"},
    ],
)
def test_a_build_that_contradicts_itself_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        build(**changes)


def test_records_survive_json() -> None:
    for record in (candidate(), build()):
        again = type(record).model_validate_json(record.model_dump_json())
        assert again == record
        assert again.digest == record.digest


def test_canonical_json_takes_no_nan() -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
