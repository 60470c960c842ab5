"""`kernelwright doctor`: what this machine has, and for each lack the command that mends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import typer

from agent.cli import config, config_file, machine, output
from agent.cli.failures import CliError, ExitCode
from agent.cli.machine import Finding
from agent.cli.options import Debug, Home, Json


def doctor(
    context: typer.Context, home: Home = None, json: Json = False, debug: Debug = False
) -> int:
    """Look at what this machine has.

    0 when all is there, 3 when something needed is missing; each lack with what mends it.
    """
    settings, told = _settings(context)
    chosen = {setting.name: setting.value for setting in settings if setting.value is not None}
    needs_docker = chosen.get("backend", "docker") == "docker"
    store = str(home or chosen.get("home") or "")
    findings = [
        machine.python(),
        machine.jax(),
        *machine.packages(),
        machine.git(),
        machine.docker(needed=needs_docker),
        machine.image(),
        machine.cores(),
        machine.memory(),
        machine.store(store),
        machine.scratch(),
        told,
        machine.keys(),
        machine.models(_names(chosen, "model", "fallback"), chosen.get("base_url")),
    ]
    if json:
        output.dump_json({"findings": [asdict(finding) for finding in findings]})
    else:
        rows = [
            (f.name, "yes" if f.found else "NO" if f.needed else "no", f.detail, f.mend)
            for f in findings
        ]
        output.show(output.table(("what", "there", "detail", "mend it with"), rows))
    lacking = any(f.needed and not f.found for f in findings)
    return ExitCode.INFRASTRUCTURE if lacking else ExitCode.DONE


def _names(chosen: Mapping[str, Any], *settings: str) -> list[str]:
    """Model strings of lists, or of a variable with commas."""
    said = [text for setting in settings for text in chosen.get(setting) or ()]
    return [name.strip() for text in said for name in text.split(",") if name.strip()]


def _settings(context: typer.Context) -> tuple[list[config.Setting], Finding]:
    """The settings in use, and what there is to say about the config files."""
    named = context.find_root().params.get("config")
    try:
        files = config_file.load(context.find_root().command, named)
    except CliError as error:
        broken = Finding("config", False, str(error), "mend that file: docs/configuration.md")
        return config.effective(context, ()), broken
    if files:
        detail = ", ".join(str(file.path) for file in files)
    else:
        detail = f"no file; {config_file.places(named)[0]} would be read"
    return config.effective(context, files), Finding("config", True, detail)
