"""The config files: what neither a flag nor a variable says, they say.

`kernelwright.toml` in the checkout comes before `config.toml` in the user's config folder. Both
are checked whole whenever they are read: a misspelt key is found before a run is left overnight.
"""

from __future__ import annotations

import re
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from agent.cli import tree
from agent.cli.failures import CliError

VARIABLE = "KERNELWRIGHT_CONFIG"
COMMON = "common"
IN_COMMON = ("backend", "base_url", "commit", "home", "model", "quiet")
"""What `[common]` may hold: settings that mean the same to every verb that has them."""

# `budget_tokens` is no key; `api_key`, `OPENAI_API_KEY` and `hf-token` are.
_SECRET_NAME = re.compile(r"(^|_)(key|keys|token|secret|password|credentials?)$", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"^(sk|pk|rk)-\w|^(gsk|xai|hf|ghp|github_pat)[_-]\w|^AIza\w{20}|^Bearer\s|://[^/\s]*:[^/\s]*@"
)

Sections = dict[tuple[str, ...], dict[str, Any]]


@dataclass(frozen=True)
class ConfigFile:
    """One file that was read: `sections` holds its values by verb, `("common",)` for all."""

    path: Path
    sections: Sections

    def value(self, words: tuple[str, ...], name: str) -> Any:
        """What it says of a verb's setting, None for nothing."""
        for section in (words, (COMMON,)):
            if name in self.sections.get(section, {}):
                return self.sections[section][name]
        return None


def places(named: Path | None = None) -> tuple[Path, ...]:
    """Where config files are looked for, first come first served; `named` is read alone."""
    if named is not None:
        return (named.expanduser(),)
    checkout = Path(__file__).resolve().parents[2]
    folder = Path(typer.get_app_dir("kernelwright"))
    return checkout / "kernelwright.toml", folder / "config.toml"


def load(command: Any, named: Path | None = None) -> tuple[ConfigFile, ...]:
    """Read and check the config files that there are.

    Raises:
        CliError: a file cannot be read, or says what no verb understands.
    """
    found = []
    for path in places(named):
        if named is None and not path.exists():
            continue
        found.append(ConfigFile(path, _checked(path, _read(path), command)))
    return tuple(found)


def default_map(
    command: Any, files: Sequence[ConfigFile], flags: Mapping[str, bool]
) -> dict[str, Any]:
    """What the parser takes for an option that was not given, by verb; `flags` stood before it."""
    made: dict[str, Any] = {}
    for words, leaf in tree.leaves(command):
        known = {parameter.name for parameter in leaf.params}
        values: dict[str, Any] = {n: flag for n, flag in flags.items() if n in known}
        for name in tree.settings(leaf):
            said = (file.value(words, name) for file in files)
            value = next((v for v in said if v is not None), None)
            if value is not None:
                values.setdefault(name, value)
        inner = made
        for word in words:
            inner = inner.setdefault(word, {})
        inner.update(values)
    return made


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise CliError("input", f"config file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CliError("input", f"config file {path} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise CliError("input", f"config file {path} is not TOML: {error}") from None


def _checked(path: Path, data: dict[str, Any], command: Any) -> Sections:
    verbs = dict(tree.leaves(command))
    sections: Sections = {}
    for words, values in _tables(path, data, verbs):
        section = f"{path}: [{'.'.join(words)}]"
        kept: dict[str, Any] = {}
        for key, value in values.items():
            name = key.replace("-", "_")
            _refuse_secret(f"{section} {key}", name, value)
            if name in kept:
                raise CliError("input", f"{section} says {name} twice")
            owner = _owner(section, words, name, key, verbs)
            kept[name] = _value(f"{section} {key}", path, owner, name, value)
        sections[words] = kept
    return sections


def _tables(
    path: Path, data: dict[str, Any], verbs: Mapping[tuple[str, ...], Any]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """The tables of a file, each with the verb that it is for."""
    groups = {words[:1] for words in verbs if len(words) > 1}
    for name, table in data.items():
        if not isinstance(table, dict):
            _refuse_secret(f"{path}: {name}", name, table)
            raise CliError(
                "input", f"{path}: {name} stands in no section: put it below [{COMMON}] or a verb"
            )
        if (name,) in groups:
            for inner, values in table.items():
                if (name, inner) not in verbs or not isinstance(values, dict):
                    choices = ", ".join(f"[{'.'.join(w)}]" for w in verbs if w[0] == name)
                    raise CliError(
                        "input", f"{path}: [{name}] has no {inner!r}; there are {choices}"
                    )
                yield (name, inner), values
        elif (name,) in verbs or name == COMMON:
            yield (name,), table
        else:
            known = ", ".join((COMMON, *dict.fromkeys(words[0] for words in verbs)))
            raise CliError("input", f"{path}: no verb [{name}]; sections are: {known}")


def _owner(
    section: str, words: tuple[str, ...], name: str, key: str, verbs: Mapping[tuple[str, ...], Any]
) -> Any:
    """A verb that has this setting."""
    if words == (COMMON,):
        holders = [leaf for leaf in verbs.values() if name in tree.settings(leaf)]
        if name in IN_COMMON and holders:
            return holders[0]
        known: Sequence[str] = IN_COMMON
    else:
        if name in tree.settings(verbs[words]):
            return verbs[words]
        known = sorted(tree.settings(verbs[words]))
    if name in tree.SAID_EACH_TIME:
        raise CliError("input", f"{section} {key} is said on the command line, each time anew")
    raise CliError("input", f"{section} has no key {key!r}; it has: {', '.join(known) or 'none'}")


def _refuse_secret(where: str, name: str, value: Any) -> None:
    """Keep keys out of files that are copied, shown and committed; the value is not repeated."""
    values = value if isinstance(value, list) else [value]
    in_value = any(isinstance(v, str) and _SECRET_VALUE.search(v) for v in values)
    if in_value or _SECRET_NAME.search(name.replace("-", "_")):
        raise CliError(
            "input",
            f"{where} looks like a key: keys belong in the environment alone, for example "
            "export OPENAI_API_KEY=...",
        )


def _value(where: str, path: Path, owner: Any, name: str, said: Any) -> Any:
    kind, value = _kind(owner, name), said
    if typing.get_origin(kind) is list and not isinstance(said, list):
        # One of what may be several needs no brackets.
        value = [said]
    if not _fits(kind, value):
        raise CliError("input", f"{where} needs {_word(kind)}, not {_named(said)}")
    if kind is Path:
        # As the file has it, wherever the command runs.
        value = str(path.parent / Path(str(said)).expanduser())
    parameter = tree.settings(owner)[name]
    try:
        parameter.process_value(typer.Context(owner, resilient_parsing=True), value)
    except typer.BadParameter as error:
        raise CliError("input", f"{where}: {error.message}") from None
    return value


def _kind(command: Any, name: str) -> Any:
    """The Python type of a setting, without `| None`."""
    kind = typing.get_type_hints(command.callback)[name]
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        kind = next(part for part in typing.get_args(kind) if part is not type(None))
    return kind


def _fits(kind: Any, value: Any) -> bool:
    if typing.get_origin(kind) is list:
        (inner,) = typing.get_args(kind)
        return isinstance(value, list) and all(_fits(inner, item) for item in value)
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is float:
        return isinstance(value, int | float)
    return isinstance(value, int if kind is int else str)


def _word(kind: Any) -> str:
    if typing.get_origin(kind) is list:
        return f"{_word(typing.get_args(kind)[0])}, or a list of such"
    names = {bool: "true or false", int: "a whole number", float: "a number"}
    return names.get(kind, "a string")


def _named(value: Any) -> str:
    """What a TOML value is, without repeating it."""
    if isinstance(value, list):
        return f"a list with {_named(value[0])}" if value else "an empty list"
    return "a table" if isinstance(value, dict) else _word(type(value))
