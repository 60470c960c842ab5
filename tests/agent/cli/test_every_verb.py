"""What holds for every verb, found by walking the command line itself."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from agent.cli import tree
from agent.cli.main import app

LEAVES = [words for words, _ in tree.leaves(typer.main.get_command(app))]
# Verbs that may take long, and so say what they are at.
WITH_PROGRESS = {"optimize", "resume", "evaluate", "review", "promote", "rollback"}


def _leaf(words: tuple[str, ...]) -> tuple[Any, Any]:
    """A fresh command line, and one verb of it."""
    root: Any = typer.main.get_command(app)
    leaf = root
    for word in words:
        leaf = leaf.commands[word]
    return root, leaf


def _line(words: tuple[str, ...]) -> list[str]:
    """The verb with something for whatever it cannot do without."""
    line = list(words)
    for parameter in _leaf(words)[1].params:
        if parameter.required and parameter.param_type_name == "option":
            line += [parameter.opts[0], "x"]
        elif parameter.required:
            line.append("bash" if parameter.name == "shell" else "x")
    return line


@pytest.fixture(autouse=True)
def no_config_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CONFIG", "/dev/null")


@pytest.fixture
def call_broken(capsys: pytest.CaptureFixture[str]) -> Any:
    """Call a verb that raises instead of doing its work: code, standard output and error."""

    def called(
        words: tuple[str, ...], raises: BaseException, before: Any = (), after: Any = ()
    ) -> tuple[Any, str, str]:
        root, leaf = _leaf(words)

        def broken(**named: Any) -> None:
            raise raises

        leaf.callback = broken
        line = [*before, *_line(words), *after]
        with pytest.raises(SystemExit) as ended:
            root.main(args=line)
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return called


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_has_the_common_flags(words: tuple[str, ...]) -> None:
    _, leaf = _leaf(words)
    flags = {flag for parameter in leaf.params for flag in parameter.opts}
    assert {"--json", "--debug"} <= flags
    if " ".join(words) in WITH_PROGRESS:
        assert {"--quiet", "-q"} <= flags


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_whatever_is_thrown_is_one_line(words: tuple[str, ...], call_broken: Any) -> None:
    code, out, err = call_broken(words, ZeroDivisionError("on\nthe \x1b[31mrocks"))
    assert code == 3
    assert out == ""
    assert err.splitlines() == [
        "kernelwright: unexpected ZeroDivisionError: on the [31mrocks (--debug shows the traceback)"
    ]


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_flags_before_the_verb_count(words: tuple[str, ...]) -> None:
    root, leaf = _leaf(words)
    seen: dict[str, Any] = {}
    leaf.callback = seen.update
    line = _line(words)
    with pytest.raises(SystemExit):
        root.main(args=["--json", "-q", "--debug", *line])
    assert (seen["json"], seen["debug"], seen.get("quiet", True)) == (True, True, True)
    with pytest.raises(SystemExit):
        root.main(args=line)
    assert (seen["json"], seen["debug"], seen.get("quiet", False)) == (False, False, False)


def test_a_failure_after_json_before_the_verb_is_an_envelope_too(call_broken: Any) -> None:
    code, out, err = call_broken(("runs", "list"), OSError(28, "full"), before=["--json"])
    assert (code, err) == (3, "")
    assert '"kind": "infrastructure"' in out


def test_debug_alone_shows_the_traceback(call_broken: Any) -> None:
    for before, after in ((["--debug"], []), ([], ["--debug"])):
        code, _, err = call_broken(("ops",), ZeroDivisionError("x"), before, after)
        assert code == 3
        assert "Traceback" in err


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_ctrl_c_is_one_line(words: tuple[str, ...], call_broken: Any) -> None:
    assert call_broken(words, KeyboardInterrupt()) == (130, "", "kernelwright: interrupted\n")
