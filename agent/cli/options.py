"""Options that several verbs share, written once. Those with a variable are the settings."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from agent.cli import offers


class BackendName(StrEnum):
    DOCKER = "docker"
    SUBPROCESS = "subprocess"


class TierName(StrEnum):
    SCREEN = "screen"
    PROMOTE = "promote"


class DiffName(StrEnum):
    AUTO = "auto"
    SIDE = "side"
    UNIFIED = "unified"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet/--no-quiet", "-q", help="Nothing on standard error but errors.", show_default=False
    ),
]
Op = Annotated[
    str,
    typer.Argument(
        metavar="OP",
        help="An op's name; `kernelwright ops` lists them.",
        autocompletion=offers.ops,
    ),
]
RunId = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run's id, or its beginning.", autocompletion=offers.runs),
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
Target = Annotated[
    str,
    typer.Option(
        help="Device that the kernel is for: cpu, tpu, cuda.", autocompletion=offers.targets
    ),
]
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
Diff = Annotated[
    DiffName,
    typer.Option(
        "--diff",
        help="Both texts side by side, or one unified diff. `auto`: side by side on a wide "
        "terminal.",
    ),
]
Reason = Annotated[str, typer.Option(help="Why, for the record.")]
