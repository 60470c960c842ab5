"""Options that several verbs share, written once. Those with a variable are the settings."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class BackendName(StrEnum):
    DOCKER = "docker"
    SUBPROCESS = "subprocess"


class TierName(StrEnum):
    SCREEN = "screen"
    PROMOTE = "promote"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")]
Op = Annotated[
    str, typer.Argument(metavar="OP", help="An op's name; `kernelwright ops` lists them.")
]
Backend = Annotated[
    BackendName,
    typer.Option(
        "--backend",
        envvar="KERNELWRIGHT_BACKEND",
        help="Where candidates are built and judged. `subprocess` is no security boundary.",
    ),
]
Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        envvar="KERNELWRIGHT_HOME",
        help="Folder of the run store. Default: `runs/archive` in the checkout.",
        show_default=False,
    ),
]
Target = Annotated[str, typer.Option(help="Device that the kernel is for: cpu, tpu, cuda.")]
AllowUnsafe = Annotated[
    bool,
    typer.Option("--allow-unsafe", help="Let model-written code run with `--backend subprocess`."),
]


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("a cap is a finite number")
    return value


def _cap(text: str) -> Any:
    return typer.Option(min=0, help=f"Hard cap on {text}.", show_default=False, callback=_finite)


BudgetDollars = Annotated[float | None, _cap("dollars")]
BudgetTokens = Annotated[int | None, _cap("tokens, both ways")]
BudgetDeviceS = Annotated[float | None, _cap("device seconds")]
BudgetWallS = Annotated[float | None, _cap("wall seconds")]
BudgetCandidates = Annotated[int | None, _cap("candidates judged")]
Commit = Annotated[
    bool,
    typer.Option("--commit/--no-commit", help="Commit what is written, or leave it in the tree."),
]
Reason = Annotated[str, typer.Option(help="Why, for the record.")]
