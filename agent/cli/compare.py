"""`kernelwright runs compare`: runs of one op side by side."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import offers, output, verdicts, wiring
from agent.cli.options import Debug, Home, Json
from agent.cli.panel import duration
from agent.cli.runs import summary_view

if TYPE_CHECKING:
    from runs.comparison import Compared


def compare_runs(
    run: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN...",
            help="Two runs or more, of one op; beginnings of ids will do.",
            autocompletion=offers.runs,
        ),
    ],
    home: Home = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare runs of one op.

    What was set differently, the best of each, and what it cost.
    """
    from runs.comparison import compare

    store = wiring.store(home)
    found = compare(store, [store.resolve("run", prefix) for prefix in run])
    if json:
        views = [{**summary_view(each.summary), **_numbers(each)} for each in found.runs]
        output.dump_json(
            {
                "op": found.op,
                "runs": views,
                "settings": found.settings,
                "caveats": list(found.caveats),
            }
        )
        return
    columns = ("", *(f">{each.summary.run.id}" for each in found.runs))
    results = [_column(each) for each in found.runs]
    rows = [(name, *(column[name] for column in results)) for name in results[0]]
    output.show(f"{found.op}: what came of it", output.table(columns, rows))
    settings = [(name, *map(_text, values)) for name, values in found.settings.items()]
    if settings:
        output.show("what was set differently", output.table(columns, settings))
    for caveat in found.caveats:
        output.show(f"mind that {caveat}")


def _numbers(each: Compared) -> dict[str, Any]:
    return {
        field.name: getattr(each, field.name)
        for field in dataclasses.fields(each)
        if field.name != "summary"
    }


def _column(each: Compared) -> dict[str, str]:
    summary = each.summary
    spent, best = summary.spent, summary.best
    proposed = " ".join(f"{name}:{count}" for name, count in each.proposed.items())
    statuses = " ".join(f"{name}:{count}" for name, count in sorted(summary.statuses.items()))
    return {
        "state": summary.state,
        "ended by": output.printable(summary.end_reason) or "-",
        "proposals": str(summary.proposals),
        "by proposer": proposed or "-",
        "verdicts": statuses or "-",
        "best": verdicts.effect_text(best).strip() if best else "nothing faster",
        "tier": best.tier if best else "-",
        "candidate": output.short(best.candidate) if best else "-",
        "speed of light": _or_dash(each.speed_of_light, output.percent),
        "dollars": f"${spent.dollars:.2f}",
        "tokens": f"{spent.tokens:,}",
        "device": duration(spent.device_ns / 1e9),
        "wall": duration(spent.wall_ns / 1e9),
        "candidates judged": str(spent.candidates),
        "dollars per % gained": _or_dash(each.dollars_per_percent, lambda n: f"${n:.2f}"),
        "device s per % gained": _or_dash(each.device_s_per_percent, lambda n: f"{n:.1f}"),
    }


def _or_dash(value: float | None, text: Any) -> str:
    return "-" if value is None else text(value)


def _text(value: Any) -> str:
    return "-" if value is None or value == "" else str(value)
