"""`kernelwright promote` and `rollback`: write a judged candidate into the library, or undo it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import offers, output, wiring
from agent.cli.events import ratio_text
from agent.cli.failures import CliError
from agent.cli.options import Backend, BackendName, Commit, Debug, Home, Json, Quiet, Reason
from agent.cli.progress import Progress

if TYPE_CHECKING:
    from runs.records import Promotion
    from runs.store import RunStore


def promote(
    what: Annotated[
        str,
        typer.Argument(
            metavar="VERDICT|CANDIDATE",
            help="A digest, or its beginning.",
            autocompletion=offers.promotable,
        ),
    ],
    reason: Reason = "",
    commit: Commit = True,
    backend: Backend = BackendName.DOCKER,
    home: Home = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a candidate into the library.

    It must have been judged faster; its evidence goes beside it. The patched checkout is lowered
    again in a second container that looks different, must give the
    very program that was judged, and must pass the op's contract suite.
    """
    store = wiring.store(home)
    digest = promotable_verdict(store, what)
    promotion = carry_out(store, digest, backend=backend, commit=commit, reason=reason, quiet=quiet)
    show_promotion(promotion, as_json=json)


def rollback(
    promotion: Annotated[
        str,
        typer.Argument(
            metavar="PROMOTION",
            help="A promotion's id, or its beginning.",
            autocompletion=offers.promotions,
        ),
    ],
    reason: Reason = "",
    commit: Commit = True,
    home: Home = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Undo a promotion.

    The text or the tuning entry that it replaced comes back.
    """
    from runs import rollback as runs_rollback

    store = wiring.store(home)
    promotion_id = store.resolve("promotion", promotion)
    with Progress(quiet=quiet, stage_lines=False).running(f"taking {promotion_id} back"):
        undone = runs_rollback.rollback(
            store,
            promotion_id,
            checkout=wiring.checkout(),
            reviewer=wiring.reviewer(),
            commit=commit,
            now=wiring.now(),
            reason=reason,
        )
    show_promotion(undone, as_json=json)


def carry_out(
    store: RunStore,
    verdict: str,
    *,
    backend: BackendName,
    commit: bool,
    reason: str,
    quiet: bool = False,
) -> Promotion:
    """Accept a verdict: lower again, compare, apply, run the contract suite, record."""
    from runs import review

    _refuse_unless_promotable(store, verdict)
    judge = wiring.evaluator(backend)
    with Progress(quiet=quiet).running(
        "lowering again, comparing programs, running the contract suite"
    ):
        return review.accept(
            store,
            verdict,
            checkout=wiring.checkout(),
            evaluator=judge,
            reviewer=wiring.reviewer(),
            commit=commit,
            now=wiring.now(),
            reason=reason,
        )


def promotable_verdict(store: RunStore, prefix: str) -> str:
    """The verdict that a digest of a verdict or of a candidate means."""
    from runs.errors import UnknownRecordError

    try:
        return store.resolve("verdict", prefix)
    except UnknownRecordError:
        pass
    try:
        candidate = store.resolve("candidate", prefix)
    except UnknownRecordError:
        raise CliError("not_found", f"no verdict or candidate begins with {prefix!r}") from None
    found = store.verdicts(candidate=candidate)
    # The newest word counts: judging again until one verdict is lucky must not help.
    newest = next((v for v in reversed(found) if v.tier == "promote"), None)
    if newest is not None and newest.promotable:
        return newest.digest
    last = (
        f"its last verdict is {found[-1].status} at tier {found[-1].tier}"
        if found
        else "it has no verdict"
    )
    raise CliError("refused", f"candidate {output.short(candidate)} cannot be promoted: {last}")


def _refuse_unless_promotable(store: RunStore, digest: str) -> None:
    """Say no before anything is opened for it; `runs.promotion` would say the same, minutes in."""
    from runs.errors import NotPromotableError

    verdict = store.verdict(digest)
    if not verdict.promotable:
        raise NotPromotableError(
            f"verdict {output.short(digest)} cannot be promoted: it is {verdict.status} at tier "
            f"{verdict.tier}, and only faster at tier promote can be"
        )


def show_promotion(promotion: Promotion, *, as_json: bool) -> None:
    if as_json:
        output.dump_json({"promotion": promotion})
        return
    where = f"commit {output.short(promotion.commit)}" if promotion.commit else "left uncommitted"
    if promotion.decision not in ("accepted", "rolled_back"):
        where = "the library is as it was"
    output.show(
        f"{promotion.decision.replace('_', ' ')}: {promotion.op}/{promotion.implementation} on "
        f"{promotion.target}{ratio_text(promotion.ratio, promotion.low, promotion.high)}; {where}"
    )
    if promotion.decision == "accepted":
        output.show(f"undo it:  kernelwright rollback {promotion.id}")
