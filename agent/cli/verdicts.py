"""How a verdict and a run's candidates are shown to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agent.cli import output
from agent.cli.events import ratio_text
from agent.cli.failures import ExitCode

if TYPE_CHECKING:
    from evaluators.verdict import Verdict
    from runs.ranking import Ranked

# `unmeasured` found nothing wrong: there is no device of that kind here to say more.
GOOD = frozenset({"faster", "unmeasured"})


def exit_code(verdict: Verdict) -> ExitCode:
    return ExitCode.DONE if verdict.status.value in GOOD else ExitCode.NEGATIVE


def show_verdict(verdict: Verdict, digest: str) -> None:
    """Status, gates, the worst error of each case, times and stages."""
    about, numbers = parts(verdict)
    names = (f"verdict {digest}", f"candidate {verdict.candidate}")
    output.show(headline(verdict), *names, *about, *numbers)


def parts(verdict: Verdict) -> tuple[list[Any], list[Any]]:
    """What a verdict says in words, gates and log, and its tables of numbers."""
    gates = [(g.name, "pass" if g.passed else "FAIL", g.detail) for g in verdict.gates]
    about: list[Any] = [output.table(("gate", "outcome", "detail"), gates)]
    if verdict.stage_ns:
        stages = ", ".join(f"{name} {ns / 1e9:.2f} s" for name, ns in verdict.stage_ns.items())
        about.append(f"stages: {stages}")
    if verdict.log.strip():
        about += ["log of the sandbox (untrusted text):", _tail(output.printable(verdict.log))]
    numbers: list[Any] = []
    if verdict.errors:
        columns = ("entry", "case", "result", ">error/allowed", "worst on")
        numbers.append(output.table(columns, _errors(verdict)))
    if verdict.timings:
        numbers.append(output.table(_TIMING_COLUMNS, _timings(verdict)))
    return about, numbers


def headline(verdict: Verdict) -> str:
    kind = f"({verdict.tier} tier, trust: {verdict.trust})"
    return (
        f"{verdict.status.value}{effect_text(verdict)} {kind}: {output.printable(verdict.reason)}"
    )


def effect_text(verdict: Verdict) -> str:
    effect = verdict.effect
    return ratio_text(effect.ratio, effect.low, effect.high) if effect else ""


def _errors(verdict: Verdict) -> list[tuple[str, ...]]:
    """The worst cell of each entry, case and result: a verdict has hundreds."""
    worst: dict[tuple[str, str, str], tuple[float, str]] = {}
    for cell in verdict.errors:
        share = cell.error / cell.allowed if cell.allowed else float("inf") if cell.error else 0.0
        key = (cell.entry, cell.case, cell.leaf)
        where = " ".join((cell.distribution, cell.kind, cell.where)).strip()
        if key not in worst or not share <= worst[key][0]:
            worst[key] = (share, where)
    return [(*key, f"{share:.3f}", where) for key, (share, where) in worst.items()]


_TIMING_COLUMNS = (
    "entry",
    "case",
    "baseline",
    ">baseline ms",
    ">candidate ms",
    ">ratio, interval",
    ">A/A",
    ">of light",
)


def _timings(verdict: Verdict) -> list[tuple[str, ...]]:
    return [
        (
            t.entry,
            t.case if not t.process else f"{t.case} (confirmed)",
            t.baseline,
            output.milliseconds(t.baseline_median_ns),
            output.milliseconds(t.candidate_median_ns),
            f"x{t.ratio:.3f} [{t.low:.3f}, {t.high:.3f}]",
            output.percent(t.control_spread),
            output.percent(t.speed_of_light),
        )
        for t in verdict.timings
    ]


def _tail(text: str, lines: int = 20) -> str:
    return "\n".join(f"  | {line}" for line in text.strip().splitlines()[-lines:])


def candidates_table(candidates: Sequence[Ranked]) -> Any:
    columns = ["#", "candidate", "proposer", "status", "tier", ">ratio, interval"]
    rows = [
        [
            c.rank,
            output.short(c.candidate),
            c.proposer,
            c.status or "not judged",
            c.tier or "",
            ratio_text(c.ratio, c.low, c.high).strip(),
        ]
        for c in candidates
    ]
    if any(c.decision for c in candidates):
        columns.append("decision")
        rows = [[*row, c.decision or ""] for row, c in zip(rows, candidates, strict=True)]
    return output.table(columns, rows)


def candidate_view(candidate: Ranked) -> dict[str, Any]:
    """A `Ranked` as plain data."""
    names = (
        "rank candidate proposal proposer kind parent status tier promotable ratio low high "
        "confidence reason rationale verdict diff decision"
    )
    return {name: getattr(candidate, name) for name in names.split()}
