"""`kernelwright review`: look at a run's candidates, best first, and decide."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import offers, output, verdicts, wiring
from agent.cli.evidence import cost_view, show_candidate
from agent.cli.failures import CliError
from agent.cli.options import (
    Backend,
    BackendName,
    Commit,
    Debug,
    Diff,
    DiffName,
    Home,
    Json,
    Quiet,
    Reason,
    RunId,
)
from agent.cli.promote import carry_out, show_promotion

if TYPE_CHECKING:
    from evaluators.api import Outcome
    from runs.ranking import Ranked
    from runs.records import Promotion
    from runs.store import RunStore
    from sandbox.records import Candidate

QUESTION = "[a]ccept, [r]eject, [d]efer, [s]kip, [p]age through it, [q]uit"


def _named(help_text: str) -> Any:
    return typer.Option(
        metavar="DIGEST", help=help_text, show_default=False, autocompletion=offers.candidates
    )


def review(
    run: RunId,
    show: Annotated[
        str | None,
        _named("Show this candidate alone, whatever its status."),
    ] = None,
    accept: Annotated[str | None, _named("Promote this candidate or verdict.")] = None,
    reject: Annotated[
        str | None, _named("Reject this candidate or verdict; needs --reason.")
    ] = None,
    defer: Annotated[str | None, _named("Leave this one for later.")] = None,
    diff: Diff = DiffName.AUTO,
    reason: Reason = "",
    commit: Commit = True,
    backend: Backend = BackendName.DOCKER,
    home: Home = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Look at a run's candidates and decide.

    Shows them ranked, with diff, verdict and numbers. On a terminal it asks for each one that may
    be promoted; the flags do the same without asking.
    """
    choices = [name for name, digest in _choices(accept, reject, defer) if digest is not None]
    if len(choices) > 1:
        raise CliError("usage", f"give one of --accept, --reject, --defer, not {len(choices)}")
    if choices and show is not None:
        raise CliError("usage", "--show only shows; give the decision by itself")
    if reject is not None and not reason.strip():
        raise CliError("usage", "--reject needs --reason: the record says why")
    from runs.ranking import ranked

    store = wiring.store(home)
    run_id = store.resolve("run", run)
    candidates = ranked(store, run_id)
    reviewer = Reviewer(store, backend=backend, commit=commit, diff=diff, quiet=quiet)
    for name, digest in _choices(accept, reject, defer):
        if digest is not None:
            promotion = reviewer.decide(name, _pick(candidates, digest), reason)
            close_if_decided(store, run_id)
            show_promotion(promotion, as_json=json)
            return
    chosen = [_pick(candidates, show)] if show is not None else list(candidates)
    if json:
        views = [verdicts.candidate_view(c) | {"cost": cost_view(store, c)} for c in chosen]
        output.dump_json({"run": run_id, "candidates": views})
        return
    output.show(verdicts.candidates_table(candidates))
    asking = on_a_terminal()
    for candidate in chosen:
        if show or candidate.promotable:
            show_candidate(store, candidate, diff)
            undecided = candidate.promotable and candidate.decision in (None, "deferred")
            if asking and undecided and not reviewer.ask(candidate):
                break
    close_if_decided(store, run_id)
    if not any(c.promotable for c in candidates):
        output.show("none of them may be promoted; --show DIGEST shows one in full")
    elif not asking and not show:
        output.show(f"decide:  kernelwright review {run_id} --accept|--reject|--defer DIGEST")


class Reviewer:
    """Carries out what a person decided."""

    def __init__(
        self,
        store: RunStore,
        *,
        backend: BackendName,
        commit: bool,
        diff: DiffName = DiffName.AUTO,
        quiet: bool = False,
    ) -> None:
        self._store = store
        self._diff = diff
        self._quiet = quiet
        self._backend = backend
        self._commit = commit

    def decide(self, decision: str, candidate: Ranked, reason: str) -> Promotion:
        from runs import review as decisions

        if candidate.verdict is None:
            short = output.short(candidate.candidate)
            raise CliError("refused", f"candidate {short} has no verdict to decide on")
        if decision == "accept":
            return carry_out(
                self._store,
                candidate.verdict,
                backend=self._backend,
                commit=self._commit,
                reason=reason,
                quiet=self._quiet,
            )
        act = decisions.reject if decision == "reject" else decisions.defer
        return act(
            self._store,
            candidate.verdict,
            reviewer=wiring.reviewer(),
            reason=reason,
            now=wiring.now(),
        )

    def ask(self, candidate: Ranked) -> bool:
        """Ask until there is an answer, and carry it out; False when it was to ask no more.

        A refused promotion says why and counts as an answer.
        """
        from runs.errors import NotPromotableError

        answers = {"a": "accept", "r": "reject", "d": "defer", "s": "", "q": ""}
        while True:
            answer = typer.prompt(QUESTION, default="s").strip()[:1].lower()
            if answer == "p":
                show_candidate(self._store, candidate, self._diff, paged=True)
            elif answer in answers:
                break
        decision = answers[answer]
        if not decision:
            return answer != "q"
        reason = typer.prompt("why", default=None if decision == "reject" else "")
        try:
            show_promotion(self.decide(decision, candidate, reason), as_json=False)
        except NotPromotableError as error:
            output.show(f"refused: {error}")
        return True


def close_if_decided(store: RunStore, run_id: str) -> None:
    """End a run that only waited for this review."""
    from runs.queries import run_summary
    from runs.ranking import ranked

    decided = {p.candidate for p in store.promotions(run=run_id) if p.decision != "deferred"}
    if any(c.promotable and c.candidate not in decided for c in ranked(store, run_id)):
        return
    from agent.run import AWAITING_REVIEW, resume

    summary = run_summary(store, run_id)
    if summary.state == "stopped" and summary.end_reason.endswith(AWAITING_REVIEW):
        resume(run_id, store, _NothingToJudge(), wiring.checkout())


class _NothingToJudge:
    """The judge of a run that only waits for a person."""

    def judge(self, candidate: Candidate, **asked: Any) -> Outcome:
        raise AssertionError("a run that waits for review judges nothing")


def on_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _choices(
    accept: str | None, reject: str | None, defer: str | None
) -> tuple[tuple[str, str | None], ...]:
    return (("accept", accept), ("reject", reject), ("defer", defer))


def _pick(candidates: Sequence[Ranked], prefix: str) -> Ranked:
    """The candidate of this run whose digest, or whose verdict's, begins so."""
    if not prefix:
        raise CliError("usage", "an empty digest names nothing")
    found = [
        c
        for c in candidates
        if c.candidate.startswith(prefix) or (c.verdict or "").startswith(prefix)
    ]
    if not found:
        raise CliError("not_found", f"this run has no candidate or verdict {prefix!r}")
    if len(found) > 1:
        raise CliError("usage", f"several candidates begin with {prefix!r}: give more of it")
    return found[0]
