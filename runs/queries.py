"""Questions over the whole store: what ran, what it cost, what has gone stale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata

from evaluators.verdict import Tier, Verdict
from runs.records import Promotion, Run
from runs.run_rows import RunState
from runs.spending import Spent
from runs.store import RunStore

TOOLCHAIN = ("jax", "jaxlib", "libtpu", "triton")
_REQUIRED = frozenset({"jax", "jaxlib"})


@dataclass(frozen=True)
class RunSummary:
    """One line of `kernelwright runs list`.

    Attributes:
        statuses: how many candidates stand at each status, by their strongest verdict.
        best: the strongest `faster` verdict, by the lower bound of its effect.
    """

    run: Run
    state: RunState
    ended_at: str | None
    end_reason: str
    proposals: int
    failures: int
    statuses: dict[str, int]
    best: Verdict | None
    promotions: tuple[Promotion, ...]
    spent: Spent


def run_summaries(store: RunStore) -> tuple[RunSummary, ...]:
    """Every run, newest first."""
    with store.database.read() as connection:
        rows = connection.execute("SELECT id FROM runs ORDER BY started_at DESC, id DESC")
        ids = [row["id"] for row in rows]
    return tuple(run_summary(store, run_id) for run_id in ids)


def run_summary(store: RunStore, run_id: str) -> RunSummary:
    run = store.run(run_id)
    with store.database.read() as connection:
        row = connection.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
    proposals = store.proposals(run_id)
    strongest = strongest_verdicts(verdicts_of_run(store, run_id))
    winners = [verdict for verdict in strongest.values() if verdict.status == "faster"]
    return RunSummary(
        run=run,
        state=row["state"],
        ended_at=row["ended_at"],
        end_reason=row["end_reason"],
        proposals=len(proposals),
        failures=sum(proposal.candidate is None for proposal in proposals),
        statuses=dict(Counter(str(verdict.status) for verdict in strongest.values())),
        best=max(winners, key=_strength, default=None),
        promotions=store.promotions(run=run_id),
        spent=store.ledger.spent(run_id),
    )


def verdicts_of_run(
    store: RunStore, run_id: str, *, tier: Tier | None = None
) -> tuple[Verdict, ...]:
    """Verdicts that a run asked for, oldest first.

    Raises:
        UnknownRunError: no such run.
    """
    store.run(run_id)
    return store.verdicts(run=run_id, tier=tier)


def strongest_verdicts(verdicts: tuple[Verdict, ...]) -> dict[str, Verdict]:
    """Candidate -> its last verdict at the promote tier, else its last at the screen tier."""
    found: dict[str, Verdict] = {}
    for verdict in verdicts:
        known = found.get(verdict.candidate)
        if known is None or verdict.tier == "promote" or known.tier == "screen":
            found[verdict.candidate] = verdict
    return found


def _strength(verdict: Verdict) -> tuple[bool, float]:
    return verdict.tier == "promote", verdict.effect.low if verdict.effect else 0.0


def run_of_candidate(store: RunStore, candidate: str) -> str | None:
    """The last run that proposed a candidate; None when a person brought it."""
    with store.database.read() as connection:
        row = connection.execute(
            "SELECT run FROM proposals WHERE candidate = ? ORDER BY sequence DESC LIMIT 1",
            (candidate,),
        ).fetchone()
    return None if row is None else row["run"]


def installed_packages() -> dict[str, str]:
    """Versions of the toolchain's packages that are installed here."""
    found = {}
    for name in TOOLCHAIN:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def moved_packages(
    judged: Mapping[str, str], installed: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """How the toolchain of a verdict differs from the one here, in words; empty when it does not.

    jax and jaxlib must be named by both; libtpu and triton are compared where both have them.
    """
    here = installed_packages() if installed is None else installed
    moved = []
    for name in TOOLCHAIN:
        then, now = judged.get(name), here.get(name)
        if then != now and (name in _REQUIRED or (then and now)):
            moved.append(f"{name} was {then or 'not named'} and is {now or 'not installed'}")
    return tuple(moved)


def stale_promotions(
    store: RunStore, installed: Mapping[str, str] | None = None
) -> tuple[tuple[Promotion, tuple[str, ...]], ...]:
    """Accepted promotions whose toolchain has moved, each with what moved."""
    stale = []
    for promotion in store.promotions(decision="accepted"):
        environment = store.verdict(promotion.verdict).environment
        moved = moved_packages(environment.packages if environment else {}, installed)
        if moved:
            stale.append((promotion, moved))
    return tuple(stale)
