"""Every verb with bad input: the right code, one line, no traceback, and the store unharmed."""

from __future__ import annotations

import importlib
import inspect
import os
from pathlib import Path
from typing import Any

import pytest

from agent.cli import failures

OP = "rms_norm"

# Words of the command line, code, what the line must say. `{tmp}` is a folder with bad files.
BAD: list[tuple[str, int, str]] = [
    ("frobnicate", 2, "frobnicate"),
    ("--frobnicate", 2, "--frobnicate"),
    ("ops nope", 2, "rms_norm"),
    ("ops rms_norm extra", 2, "extra"),
    ("runs", 2, "command"),
    ("runs frobnicate", 2, "frobnicate"),
    ("runs show", 2, "RUN"),
    ("runs show nope", 2, "nope"),
    ("runs list --state asleep", 2, "finished"),
    ("runs list --sort size", 2, "proposals"),
    ("runs list --since yesterday", 2, "--since 'yesterday'"),
    ("runs list --limit 0", 2, "--limit"),
    ("runs list --best-over much", 2, "--best-over"),
    ("runs compare", 2, "RUN"),
    ("runs compare 2026", 2, "two runs"),
    ("runs compare 2026 nope", 2, "nope"),
    ("runs compare 2026 2026", 2, "once"),
    ("config frobnicate", 2, "frobnicate"),
    ("config show frobnicate", 2, "frobnicate"),
    ("completion", 2, "SHELL"),
    ("completion tcsh", 2, "fish"),
    ("--config {tmp}/missing.toml ops", 2, "missing.toml"),
    ("review 2026 --diff woven", 2, "unified"),
    ("bench frobnicate", 2, "frobnicate"),
    ("bench loop --op nope", 2, "rms_norm"),
    ("bench loop --repeats 0", 2, "--repeats"),
    ("bench interval --op rms_norm --case nope", 2, "qwen3-next-512"),
    ("optimize", 2, "OP"),
    ("optimize nope", 2, "rms_norm"),
    (f"optimize {OP} --target abacus", 2, "tpu"),
    (f"optimize {OP} --case nope", 2, "qwen3-next-512"),
    (f"optimize {OP} --case holdout-prime", 2, "held out"),
    (f"optimize {OP} --implementation nope", 2, "xla"),
    (f"optimize {OP} --proposer nope", 2, "rewrite"),
    (f"optimize {OP} --proposer rewrite:0", 2, "rewrite:0"),
    (f"optimize {OP} --proposer llm", 2, "model"),
    (f"optimize {OP} --proposer patch", 2, "file"),
    (f"optimize {OP} --proposer llm --model m --backend subprocess", 2, "--allow-unsafe"),
    (f"optimize {OP} --patch {{tmp}}/missing.py", 2, "missing.py"),
    (f"optimize {OP} --patch {{tmp}}/binary.py", 2, "UTF-8"),
    (f"optimize {OP} --price-in 1", 2, "price_out"),
    (f"optimize {OP} --width 0", 2, "--width"),
    (f"optimize {OP} --rounds many", 2, "--rounds"),
    (f"optimize {OP} --budget-dollars -1", 2, "--budget-dollars"),
    (f"optimize {OP} --budget-dollars nan", 2, "--budget-dollars"),
    (f"optimize {OP} --budget-wall-s inf", 2, "finite"),
    (f"optimize {OP} --budget-tokens 1.5", 2, "--budget-tokens"),
    (f"optimize {OP} --backend chroot", 2, "docker"),
    (f"optimize {OP}", 3, "Docker"),
    ("resume", 2, "RUN"),
    ("resume nope", 2, "nope"),
    ("resume 2026 --backend subprocess", 2, "--allow-unsafe"),
    ("resume 2026", 3, "Docker"),
    ("evaluate", 2, "FILE"),
    ("evaluate {tmp}/good.py", 2, "--op"),
    ("evaluate {tmp}/good.py --op nope", 2, "rms_norm"),
    (f"evaluate {{tmp}}/good.py --op {OP} --target abacus", 2, "cuda"),
    (f"evaluate {{tmp}}/good.py --op {OP} --implementation nope", 2, "xla"),
    (f"evaluate {{tmp}}/good.py --op {OP} --case nope", 2, "qwen3-next-512"),
    (f"evaluate {{tmp}}/good.py --op {OP} --tier best", 2, "promote"),
    (f"evaluate {{tmp}}/good.py --op {OP} --tier promote --case tiny", 2, "--tier screen"),
    (f"evaluate {{tmp}}/missing.py --op {OP}", 2, "missing.py"),
    (f"evaluate {{tmp}}/good.py/x --op {OP}", 2, "Not a directory"),
    (f"evaluate {{tmp}} --op {OP}", 2, "folder"),
    (f"evaluate {{tmp}}/binary.py --op {OP}", 2, "UTF-8"),
    (f"evaluate {{tmp}}/nul.py --op {OP}", 2, "binary"),
    (f"evaluate {{tmp}}/empty.py --op {OP}", 2, "empty"),
    (f"evaluate {{tmp}}/huge.py --op {OP}", 2, "1048576"),
    (f"evaluate /dev/zero --op {OP}", 2, "regular"),
    (f"evaluate {{tmp}}/fifo --op {OP}", 2, "regular"),
    (f"evaluate {{tmp}}/good.py --op {OP}", 3, "Docker"),
    ("review", 2, "RUN"),
    ("review nope", 2, "nope"),
    ("review 2026 --accept nope", 2, "nope"),
    ("review 2026 --show nope", 2, "nope"),
    ("review 2026 --reject {winner}", 2, "--reason"),
    ("review 2026 --accept {winner} --defer {winner}", 2, "--accept"),
    ("review 2026 --accept {winner} --show {winner}", 2, "--show"),
    ("review 2026 --reject {loser} --reason slow", 1, "nothing to decide"),
    ("review 2026 --accept {winner}", 3, "Docker"),
    ("promote", 2, "VERDICT"),
    ("promote nope", 2, "nope"),
    ("promote {loser}", 1, "wrong"),
    ("promote {losing}", 1, "cannot be promoted: it is wrong at tier promote"),
    ("promote {winner}", 3, "Docker"),
    ("rollback", 2, "PROMOTION"),
    ("rollback nope", 2, "nope"),
    ("trace", 2, "VERDICT"),
    ("trace {winning}", 2, "--out"),
    ("trace nope --out {tmp}/traces", 2, "nope"),
    ("trace {losing} --out {tmp}/traces", 2, "nothing was timed"),
    ("trace {winning} --out {tmp}/good.py", 2, "not a folder"),
]


@pytest.fixture
def bad_files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "good.py").write_text("x = 1\n")
    (folder / "binary.py").write_bytes(b"\x7fELF\xff\xfe")
    (folder / "nul.py").write_bytes(b"x = 1\0")
    (folder / "empty.py").write_text(" \n")
    (folder / "huge.py").write_text("#" * ((1 << 20) + 1))
    os.mkfifo(folder / "fifo")
    return folder


def _words(line: str, bad_files: Path, filled: Any) -> list[str]:
    names = {
        "tmp": str(bad_files),
        "winner": filled.winner.digest,
        "loser": filled.loser.digest[:16],
        "winning": filled.winning,
        "losing": filled.losing[:16],
    }
    return [word.format(**names) for word in line.split()]


@pytest.mark.parametrize(("line", "code", "says"), BAD, ids=[line for line, _, _ in BAD])
def test_one_line_and_the_store_unharmed(
    line: str, code: int, says: str, call: Any, bad_files: Path, filled: Any, home: Path
) -> None:
    before = _contents(home)
    words = _words(line, bad_files, filled)
    call(*words).fails(code, says)
    assert _contents(home) == before


@pytest.mark.parametrize(("line", "code", "says"), BAD, ids=[line for line, _, _ in BAD])
def test_json_envelope(
    line: str, code: int, says: str, call: Any, bad_files: Path, filled: Any
) -> None:
    found = call(*_words(line, bad_files, filled), "--json")
    assert found.code == code
    assert found.stderr == ""
    error = found.json["error"]
    assert error["exit_code"] == code
    assert failures.EXIT_CODES[error["kind"]] == code
    assert says in error["message"] or "--json" in error["message"]


@pytest.mark.parametrize(("line", "code", "says"), BAD[::7], ids=[line for line, _, _ in BAD[::7]])
def test_json_before_the_verb(
    line: str, code: int, says: str, call: Any, bad_files: Path, filled: Any
) -> None:
    found = call("--json", *_words(line, bad_files, filled))
    assert (found.code, found.stderr) == (code, "")
    assert says in found.json["error"]["message"]


@pytest.mark.parametrize("verb", ["evaluate {tmp}/good.py --op", "optimize", "bench loop --op"])
def test_a_wrong_case_names_no_held_out_one(verb: str, call: Any, bad_files: Path) -> None:
    from reference_kernels import catalog

    words = [word.format(tmp=bad_files) for word in verb.split()]
    found = call(*words, OP, "--case", "nosuch")
    found.fails(2, "qwen3-next-512")
    held_out = [case.name for case in catalog.problem(OP).tagged("holdout")]
    assert held_out
    assert not [name for name in held_out if name in found.stderr]


def _contents(home: Path) -> list[str]:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(home / "store.sqlite")) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize("verb", ["runs list", "runs show 2026", "review 2026", "promote abc"])
def test_a_home_that_cannot_be_one(verb: str, call: Any, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    call(*verb.split(), "--home", str(file)).fails(3)


def test_a_store_that_is_none(call: Any, home: Path) -> None:
    home.mkdir()
    (home / "store.sqlite").write_bytes(b"this is no database, whatever its name says" * 100)
    call("runs", "list").fails(3)


def test_an_ambiguous_id_asks_for_more(call: Any, filled: Any) -> None:
    filled.store.start_run(filled.store.run(filled.run).model_copy(update={"id": "20261130-13"}))
    call("runs", "show", "2026").fails(2, "several")


def test_an_empty_id_names_nothing(call: Any, filled: Any) -> None:
    call("runs", "show", "").fails(2)
    call("review", filled.run, "--show", "").fails(2)
    call("promote", "").fails(2)


@pytest.mark.parametrize("words", [["optimize", OP], ["doctor", "--json"]])
def test_no_docker_in_a_process_of_its_own(words: list[str], call_process: Any) -> None:
    found = call_process(*words)
    assert found.code == 3
    assert "Traceback" not in found.stderr + found.stdout
    if words[0] == "optimize":
        found.fails(3, "start the Docker daemon")
    else:
        docker = next(f for f in found.json["findings"] if f["name"] == "docker")
        assert docker["found"] is False
        assert "DOCKER_HOST" in docker["mend"]


def test_debug_shows_the_traceback(call: Any) -> None:
    found = call("ops", "nope", "--debug")
    assert found.code == 2
    assert "Traceback" in found.stderr
    assert found.stderr.splitlines()[-1].startswith("kernelwright: ")


FOLDERS = (
    "reference_kernels.errors",
    "sandbox.errors",
    "evaluators.errors",
    "runs.errors",
    "agent.errors",
)


@pytest.mark.parametrize("name", FOLDERS)
def test_every_typed_error_has_a_kind(name: str) -> None:
    module = importlib.import_module(name)
    for _, cls in inspect.getmembers(module, inspect.isclass):
        if cls.__module__ != name:
            continue
        failure = failures.describe(_made(cls))
        assert failure.kind != "internal", cls
        assert failure.exit_code == getattr(cls, "exit_code", failure.exit_code), cls


def _made(cls: type[BaseException]) -> BaseException:
    error = cls.__new__(cls)
    error.args = ("two\nlines \x1b[31m",)
    return error


def test_a_message_is_one_printable_line() -> None:
    failure = failures.describe(failures.CliError("input", "two\nlines \x1b[31mred\x07"))
    assert failure.message == "two lines [31mred"
    assert len(failures.describe(failures.CliError("input", "x" * 10_000)).message) <= 600


def test_what_nobody_foresaw_is_no_traceback_either() -> None:
    failure = failures.describe(ZeroDivisionError("division by zero"))
    assert failure.kind == "internal"
    assert failure.exit_code == failures.ExitCode.INFRASTRUCTURE
    assert "--debug" in failure.message
