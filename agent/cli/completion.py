"""`kernelwright completion`: the script that makes a shell ask `offers` when Tab is pressed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from agent.cli import output
from agent.cli.options import Debug, Json


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    ctx: typer.Context,
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Print the script that completes for a shell.

    Put it where the shell reads it, for example
    `kernelwright completion bash > ~/.local/share/bash-completion/completions/kernelwright`.
    """
    from typer.completion import (
        get_completion_script,  # pyright: ignore[reportPrivateImportUsage]
    )

    program = ctx.find_root().info_name or "kernelwright"
    script = get_completion_script(
        prog_name=program, complete_var=f"_{program.upper()}_COMPLETE", shell=shell.value
    )
    if json:
        output.dump_json({"shell": shell.value, "script": script})
    else:
        typer.echo(script)
