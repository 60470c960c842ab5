"""The channel between host and shim: how a job is written, how a result is read.

A job:    magic (8 bytes), nonce (16), header length (4, big-endian), header (JSON), file bodies.
A result: magic (8), nonce (16), header length (4), header (JSON), log, file bodies,
          end magic (8), nonce (16), end of stream.

A job that waits gets its files in two parts. Once its command is ready the shim says so, magic (8)
and nonce (16); the host sends the rest: magic (8), nonce (16), header length (4), header, bodies.

The reader trusts nothing: every length is capped before a byte of it is read, the header has a
closed schema, names are checked again, and anything before, between or after is a `FrameError`.
The nonce is known to host and shim alone, so a stream that something else wrote does not pass.
"""

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.errors import PolicyError
from sandbox.job import JobResult, Limits, Outcome, check_name
from sandbox.logs import clean_log

JOB_MAGIC = b"KWJOB001"
READY_MAGIC = b"KWRDY001"
MORE_MAGIC = b"KWMOR001"
RESULT_MAGIC = b"KWRES001"
END_MAGIC = b"KWEND001"
NONCE_BYTES = 16
# The shim's note about what it left out of the log comes on top of the log's own cap.
LOG_SLACK_BYTES = 4096
_HEADER_BASE_BYTES = 4096
_HEADER_BYTES_A_FILE = 2048

Read = Callable[[int], bytes]
_Count = Annotated[int, Field(ge=0, lt=1 << 62)]


class FrameError(Exception):
    """The stream is not exactly one well-formed result."""


class EndOfStream(FrameError):
    """The stream ended before the result was complete."""


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    outcome: Outcome
    exit_code: Annotated[int, Field(ge=0, le=255)] | None
    signal: Annotated[int, Field(ge=1, le=127)] | None
    files: list[tuple[str, _Count]]
    log_bytes: _Count
    log_truncated: bool
    duration_ns: _Count
    peak_memory_bytes: _Count | None


def encode_job(
    header: Mapping[str, Any], files: Iterable[tuple[str, bytes]], nonce: bytes
) -> Iterable[bytes]:
    """The bytes of a job; ``header`` is completed with the names and sizes of ``files``."""
    return _encode(JOB_MAGIC, header, files, nonce)


def encode_rest(files: Iterable[tuple[str, bytes]], wall_s: float, nonce: bytes) -> Iterable[bytes]:
    """Yield the bytes of the second part of a job that waits."""
    return _encode(MORE_MAGIC, {"wall_s": wall_s}, files, nonce)


def _encode(
    magic: bytes, header: Mapping[str, Any], files: Iterable[tuple[str, bytes]], nonce: bytes
) -> Iterable[bytes]:
    bodies = list(files)
    sizes = [(name, len(body)) for name, body in bodies]
    text = json.dumps({**header, "files": sizes}).encode()
    yield magic + nonce + struct.pack(">I", len(text)) + text
    for _, body in bodies:
        yield body


def read_ready(read: Read, nonce: bytes) -> None:
    """Read the shim's word that its command waits; raises `FrameError` for anything else."""
    _expect(read, READY_MAGIC + nonce, "word that the command is ready")


def _expect(read: Read, expected: bytes, what: str) -> None:
    if read(len(expected)) != expected:
        raise FrameError(f"wrong {what}")


def _read_header(read: Read, limits: Limits) -> _Header:
    (size,) = struct.unpack(">I", read(4))
    if size > _HEADER_BASE_BYTES + _HEADER_BYTES_A_FILE * limits.files:
        raise FrameError("header too long")
    text = read(size)
    try:
        # Strict mode takes no list for a tuple from Python objects, but does from JSON.
        header = _Header.model_validate_json(text)
    except ValidationError as error:
        raise FrameError(f"header breaks its schema ({error.error_count()} errors)") from error
    names = [name for name, _ in header.files]
    if len(names) > limits.files or len(set(names)) != len(names):
        raise FrameError("too many files, or one twice")
    if sum(size for _, size in header.files) > limits.output_bytes:
        raise FrameError("files too long")
    if header.log_bytes > limits.log_bytes + LOG_SLACK_BYTES:
        raise FrameError("log too long")
    for name in names:
        try:
            check_name(name)
        except PolicyError as error:
            raise FrameError("refused file name") from error
    return header


def read_result(read: Read, nonce: bytes, limits: Limits) -> JobResult:
    """Read one result. ``read(n)`` returns exactly n bytes or raises `EndOfStream`.

    Raises `FrameError` for anything but one well-formed result that keeps to ``limits``.
    """
    _expect(read, RESULT_MAGIC, "magic")
    _expect(read, nonce, "nonce")
    header = _read_header(read, limits)
    log = read(header.log_bytes)
    files = {name: read(size) for name, size in header.files}
    _expect(read, END_MAGIC + nonce, "end")
    try:
        read(1)
    except EndOfStream:
        pass
    else:
        raise FrameError("bytes after the end")
    try:
        return JobResult(
            outcome=header.outcome,
            exit_code=header.exit_code,
            signal=header.signal,
            files=files,
            log=clean_log(log),
            log_truncated=header.log_truncated,
            duration_ns=header.duration_ns,
            peak_memory_bytes=header.peak_memory_bytes,
        )
    except ValidationError as error:
        raise FrameError("header contradicts itself") from error


def reader(data: bytes) -> Read:
    """A ``read`` for `read_result` over bytes in memory."""
    position = 0

    def read(size: int) -> bytes:
        nonlocal position
        if position + size > len(data):
            raise EndOfStream("stream too short")
        position += size
        return data[position - size : position]

    return read
