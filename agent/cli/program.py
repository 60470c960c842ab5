"""The top-level command group: runs a verb, and turns any failure into one line and a code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from agent.cli import failures


class Program(TyperGroup):
    """`typer`'s group with our own handling of errors, the same for every verb."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # typer would end with 130 and without a word.
            raise failures.CliError("interrupted", "interrupted") from None

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        try:
            result = super().main(
                words, "kernelwright", complete_var, False, windows_expand_args, **extra
            )
            code = failures.ExitCode.DONE if result is None else result
        except BrokenPipeError:
            # The reader of our output went away (`| head`): nothing left to tell it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = failures.ExitCode.NEGATIVE
        except (Exception, KeyboardInterrupt) as error:
            code = failures.report(error, as_json="--json" in words, debug="--debug" in words)
        if standalone_mode:
            sys.exit(int(code))
        return code
