"""`kernelwright ops`: what there is to optimise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import offers, output
from agent.cli.options import Debug, Json

if TYPE_CHECKING:
    from reference_kernels.problem import Problem


def ops(
    op: Annotated[
        str | None,
        typer.Argument(metavar="[OP]", help="Show one op in full.", autocompletion=offers.ops),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """List the ops, or show one in full.

    With its cases, entry points and implementations.
    """
    from reference_kernels import catalog

    problems = [catalog.problem(name) for name in ([op] if op else catalog.names())]
    if json:
        output.dump_json({"ops": [view(problem) for problem in problems]})
    elif op:
        _show_one(problems[0])
    else:
        rows = [
            (p.name, len(p.cases), _words(e.name for e in p.entries), p.summary) for p in problems
        ]
        output.show(output.table(("op", ">cases", "entry points", "summary"), rows))


def view(problem: Problem) -> dict[str, Any]:
    """A `Problem` as plain data."""
    return {
        "name": problem.name,
        "summary": problem.summary,
        "definition": problem.definition,
        "entries": [entry.name for entry in problem.entries],
        "distributions": list(problem.distributions),
        "cases": [
            {
                "name": case.name,
                "dims": dict(case.dims),
                "dtype": case.dtype,
                "tags": sorted(case.tags),
                "static": case.statics,
                "source": case.source,
            }
            for case in problem.cases
        ],
        "implementations": [
            {
                "name": implementation.name,
                "platforms": list(implementation.platforms),
                "entries": list(implementation.entries),
                "interpret": implementation.interpret,
                "trust": implementation.trust,
            }
            for implementation in problem.implementations
        ],
        "menu": list(problem.menu),
    }


def _show_one(problem: Problem) -> None:
    cases = [
        (c.name, c.dtype, _words(f"{k}={v}" for k, v in c.dims), _words(sorted(c.tags)), c.source)
        for c in problem.cases
    ]
    shipped = [
        (i.name, _words(i.platforms), _words(i.entries), i.trust) for i in problem.implementations
    ]
    output.show(
        f"{problem.name}: {problem.summary}",
        "",
        problem.definition.strip(),
        output.table(("case", "dtype", "dims", "tags", "source"), cases),
        output.table(("implementation", "platforms", "entry points", "trust"), shipped),
    )


def _words(items: Any) -> str:
    return " ".join(str(item) for item in items)
