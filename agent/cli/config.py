"""`kernelwright config`: every effective setting with where it comes from, and the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from agent.cli import config_file, output, tree
from agent.cli.config_file import COMMON, ConfigFile
from agent.cli.failures import CliError
from agent.cli.options import Debug, Json

# typer's own names for where a value came from.
FROM = {
    "COMMANDLINE": "flag",
    "ENVIRONMENT": "env",
    "DEFAULT_MAP": "file",
    "DEFAULT": "default",
    "PROMPT": "flag",
}


@dataclass(frozen=True)
class Setting:
    """One effective setting.

    Attributes:
        section: the verb, or `common` where all verbs that have it agree.
        source: flag, env, file or default.
        origin: the variable or the file that said so.
    """

    section: str
    name: str
    value: Any
    source: str
    origin: str = ""


def show_config(
    context: typer.Context,
    line: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[VERB] [FLAG]...",
            help="A verb, and flags that it would be called with. Default: all verbs.",
        ),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Print every effective setting and where it comes from.

    A flag wins over its variable, that over the config files, and those over the defaults.
    """
    files = _load(context)
    if line:
        words, flags = _verb(context.find_root().command, line)
        found = list(_settings(context, files, words, flags))
    else:
        found = effective(context, files)
    if json:
        views = [asdict(setting) for setting in found]
        output.dump_json({"files": [str(f.path) for f in files], "settings": views})
        return
    rows = [(s.section, s.name, _text(s.value), s.source, s.origin) for s in found]
    output.show(output.table(("section", "setting", "value", "from", "where"), rows))


def show_paths(context: typer.Context, json: Json = False, debug: Debug = False) -> None:
    """Print where config files are looked for, first come first served."""
    found = []
    for path in config_file.places(_named(context)):
        found.append({"path": str(path), "exists": path.exists()})
    if json:
        output.dump_json({"files": found})
        return
    for file in found:
        typer.echo(f"{file['path']}{'' if file['exists'] else '  (not there)'}")


def effective(context: typer.Context, files: Sequence[ConfigFile]) -> list[Setting]:
    """The settings of all verbs; one that is the same everywhere stands once, as `common`."""
    by_name: dict[str, list[Setting]] = {}
    for words, _ in tree.leaves(context.find_root().command):
        for setting in _settings(context, files, words, ()):
            by_name.setdefault(setting.name, []).append(setting)
    shared, own = [], []
    for name, settings in by_name.items():
        first = settings[0]
        same = {(repr(s.value), s.source, s.origin) for s in settings}
        if len(same) == 1 and name in config_file.IN_COMMON:
            shared.append(Setting(COMMON, name, first.value, first.source, first.origin))
        else:
            own += settings
    order = {".".join(words): i for i, (words, _) in enumerate(_verbs(context))}
    return shared + sorted(own, key=lambda setting: order[setting.section])


def _settings(
    context: typer.Context,
    files: Sequence[ConfigFile],
    words: tuple[str, ...],
    flags: Sequence[str],
) -> Iterator[Setting]:
    """What one verb would work with, as its own parser says."""
    root = context.find_root()
    parent: Any = typer.Context(root.command, info_name=root.info_name)
    parent.default_map = config_file.default_map(root.command, files, {})
    command: Any = root.command
    for word in words[:-1]:
        command = command.commands[word]
        parent = typer.Context(command, info_name=word, parent=parent)
    leaf = command.commands[words[-1]]
    parsed = leaf.make_context(words[-1], list(flags), parent=parent, resilient_parsing=True)
    for name, parameter in tree.settings(leaf).items():
        source = FROM[parsed.get_parameter_source(name).name]
        origin = ""
        if source == "env":
            origin = parameter.envvar
        elif source == "file":
            origin = next(str(f.path) for f in files if f.value(words, name) is not None)
        yield Setting(".".join(words), name, _plain(parsed.params[name]), source, origin)


def _verb(command: Any, line: Sequence[str]) -> tuple[tuple[str, ...], Sequence[str]]:
    for words, _ in tree.leaves(command):
        if tuple(line[: len(words)]) == words:
            return words, line[len(words) :]
    known = ", ".join(" ".join(words) for words, _ in tree.leaves(command))
    raise CliError("usage", f"no verb {line[0]!r}; there are: {known}")


def _verbs(context: typer.Context) -> list[tuple[tuple[str, ...], Any]]:
    return list(tree.leaves(context.find_root().command))


def _named(context: typer.Context) -> Path | None:
    return context.find_root().params.get("config")


def _load(context: typer.Context) -> tuple[ConfigFile, ...]:
    return config_file.load(context.find_root().command, _named(context))


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)


def _text(value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
