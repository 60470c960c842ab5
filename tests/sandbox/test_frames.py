"""The reader of results takes one well-formed result, and nothing that is not quite one."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.frames import (
    END_MAGIC,
    JOB_MAGIC,
    RESULT_MAGIC,
    FrameError,
    encode_job,
    read_result,
    reader,
)
from sandbox.inside import wire
from sandbox.job import JobResult, Limits

NONCE = bytes(range(16))
LIMITS = Limits(output_bytes=1000, log_bytes=100, files=5)


def header(**changes: Any) -> dict[str, Any]:
    plain = {
        "outcome": "exited",
        "exit_code": 0,
        "signal": None,
        "files": [["a", 3], ["b/c", 0]],
        "log_bytes": 4,
        "log_truncated": False,
        "duration_ns": 5,
        "peak_memory_bytes": None,
    }
    return plain | changes


def stream(header: object, body: bytes = b"log!abc", end: bytes = END_MAGIC + NONCE) -> bytes:
    text = json.dumps(header).encode()
    return RESULT_MAGIC + NONCE + struct.pack(">I", len(text)) + text + body + end


def parse(data: bytes) -> JobResult:
    return read_result(reader(data), NONCE, LIMITS)


def test_a_result_is_read() -> None:
    result = parse(stream(header()))
    assert result.files == {"a": b"abc", "b/c": b""}
    assert (result.log, result.exit_code, result.duration_ns) == ("log!", 0, 5)


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": "fine"},
        {"exit_code": None},
        {"exit_code": 256},
        {"exit_code": "0"},
        {"exit_code": True},
        {"outcome": "timeout"},
        {"outcome": "timeout", "exit_code": None},
        {"files": [["a", 3], ["a", 0]]},
        {"files": [["../a", 3]]},
        {"files": [["/a", 3]]},
        {"files": [["a//b", 3]]},
        {"files": [["a\u0000", 3]]},
        {"files": [["a\n", 3]]},
        {"files": [[".a", 3]]},
        {"files": [["a", -1]]},
        {"files": [["a", 3.0]]},
        {"files": [["a", 1 << 80]]},
        {"files": [["a", 2000]]},
        {"files": [[str(index), 0] for index in range(6)]},
        {"files": {"a": 3}},
        {"log_bytes": 10_000},
        {"log_bytes": -1},
        {"duration_ns": -5},
        {"duration_ns": 0.5},
        {"extra": 1},
    ],
)
def test_a_wrong_header_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(FrameError):
        parse(stream(header(**changes)))


@pytest.mark.parametrize("name", list(header()))
def test_every_field_is_required(name: str) -> None:
    partial = header()
    del partial[name]
    with pytest.raises(FrameError):
        parse(stream(partial))


@pytest.mark.parametrize("top", [None, [], "text", 1])
def test_a_header_is_an_object(top: object) -> None:
    with pytest.raises(FrameError):
        parse(stream(top))


def test_a_giant_header_is_refused_unread() -> None:
    data = RESULT_MAGIC + NONCE + struct.pack(">I", 0xFFFFFFFF)
    asked: list[int] = []
    read = reader(data)

    def watched(size: int) -> bytes:
        asked.append(size)
        return read(size)

    with pytest.raises(FrameError):
        read_result(watched, NONCE, LIMITS)
    assert max(asked) == 16


def test_another_nonce_is_refused() -> None:
    with pytest.raises(FrameError, match="nonce"):
        read_result(reader(stream(header())), bytes(16), LIMITS)


@given(st.binary(max_size=300))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(FrameError):
        parse(noise)
    with pytest.raises(FrameError):
        parse(RESULT_MAGIC + NONCE + noise)


GOOD = stream(header())


@given(st.integers(0, len(GOOD) - 1))
def test_a_cut_stream_is_refused(length: int) -> None:
    with pytest.raises(FrameError):
        parse(GOOD[:length])


@given(st.binary(min_size=1, max_size=20))
def test_anything_after_the_end_is_refused(tail: bytes) -> None:
    with pytest.raises(FrameError):
        parse(GOOD + tail)


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_a_changed_byte_is_refused_or_stays_in_bounds(position: int, change: int) -> None:
    data = bytearray(GOOD)
    data[position] ^= change
    try:
        result = parse(bytes(data))
    except FrameError:
        return
    assert sum(map(len, result.files.values())) == 3


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8))
def test_any_value_of_a_field_is_refused_or_taken(value: object) -> None:
    for name in header():
        try:
            parse(stream(header(**{name: value})))
        except FrameError:
            continue


def test_both_sides_speak_one_language() -> None:
    assert (wire.JOB_MAGIC, wire.RESULT_MAGIC, wire.END_MAGIC) == (
        JOB_MAGIC,
        RESULT_MAGIC,
        END_MAGIC,
    )
    data = b"".join(encode_job({"work": "/w"}, [("a", b"xyz")], NONCE))
    assert data[:24] == JOB_MAGIC + NONCE
    (size,) = struct.unpack(">I", data[24:28])
    assert json.loads(data[28 : 28 + size]) == {"work": "/w", "files": [["a", 3]]}
    assert data[28 + size :] == b"xyz"
