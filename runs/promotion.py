"""Write a judged candidate into the library, with its evidence, or leave everything as it was."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Protocol

from evaluators.verdict import Effect, Verdict
from runs import git
from runs.contract import HasBackend, run_contract
from runs.diffs import CONFIG_FILE
from runs.edits import Edit, Plan, apply_edits, configs_of, plan_edits
from runs.errors import (
    AlreadyPromotedError,
    ChangedIncumbentError,
    DifferentProgramError,
    DirtyCheckoutError,
    NotPromotableError,
    StaleToolchainError,
    UsageError,
)
from runs.evidence import evidence_path, evidence_text
from runs.identity import iso, stamp
from runs.incumbent import incumbent_candidate, shipped_configs
from runs.landing import checkout_for_writing, land
from runs.queries import moved_packages, run_of_candidate
from runs.records import Promotion
from runs.store import RunStore
from sandbox.records import Candidate

CONTRACT_WALL_S = 1800.0


class Relower(HasBackend, Protocol):
    """The part of the judge that a promotion needs."""

    def program_digests(
        self, candidate: Candidate, *, library: Path, disguise: bool
    ) -> Mapping[str, str]:
        """Lower a candidate again: `"entry|case"` -> digest of the program without locations.

        Args:
            library: the checkout whose `reference_kernels` the candidate is lowered with.
            disguise: in a container that looks different: user, paths, environment, order.
        """
        ...


def promote(
    store: RunStore,
    verdict_digest: str,
    *,
    checkout: Path,
    evaluator: Relower,
    reviewer: str,
    commit: bool,
    now: datetime,
    reason: str = "",
    contract_wall_s: float = CONTRACT_WALL_S,
) -> Promotion:
    """Promote a `faster` verdict of the promotion tier.

    The checkout is written only after the patched copy of its last commit lowers to the judged
    programs in a container that looks different, and passes the op's contract suite. Whatever
    fails, the checkout stays as it was.

    Raises:
        NotPromotableError: one of its kinds, each of which says what to do.
        CheckoutError: `checkout` is no git checkout, git refuses, or another promotion is at work.
    """
    verdict = store.verdict(verdict_digest)
    candidate = store.candidate(verdict.candidate)
    incumbent = store.incumbent_of(verdict_digest)
    effect = _check_verdict(verdict, candidate, reviewer)
    _check_toolchain(verdict)
    with checkout_for_writing(store, checkout):
        plan = _plan(checkout, verdict, candidate, incumbent)
        promotion = Promotion(
            id=f"{stamp(now)}-{verdict_digest[:8]}",
            kind=plan.kind,
            run=run_of_candidate(store, candidate.digest),
            op=verdict.op,
            implementation=verdict.implementation,
            target=verdict.target,
            candidate=verdict.candidate,
            verdict=verdict_digest,
            incumbent=incumbent.digest,
            patch=plan.patch,
            ratio=effect.ratio,
            low=effect.low,
            high=effect.high,
            validity=verdict.validity,
            reviewer=reviewer,
            decision="accepted",
            reason=reason,
            decided_at=iso(now),
        )
        evidence = evidence_text(promotion, verdict, plan)
        edits = (*plan.edits, Edit(evidence_path(promotion), None, evidence))
        _check_clean(checkout, edits)
        base = git.head(checkout)
        with tempfile.TemporaryDirectory(prefix="kernelwright-promote-") as folder:
            scratch = Path(folder) / "checkout"
            git.export_head(checkout, scratch)
            apply_edits(scratch, edits)
            _check_programs(scratch, verdict, candidate, evaluator)
            run_contract(scratch, verdict.op, evaluator, wall_s=contract_wall_s)
        # Minutes have passed: what was checked must still hold.
        if git.head(checkout) != base or _plan(checkout, verdict, candidate, incumbent) != plan:
            raise ChangedIncumbentError("the checkout changed during the promotion: run it again")
        _check_clean(checkout, edits)
        return land(
            store,
            checkout,
            promotion,
            edits,
            message=_message(promotion) if commit else None,
            evidence=store.blobs.put(evidence.encode()),
        )


def _check_verdict(verdict: Verdict, candidate: Candidate, reviewer: str) -> Effect:
    if not reviewer.strip():
        raise UsageError("a promotion needs a reviewer: say who read the diff")
    if not verdict.promotable or verdict.effect is None:
        raise NotPromotableError(
            f"the verdict is {verdict.status} at the {verdict.tier} tier (trust:"
            f" {verdict.trust}); only `faster` at the promote tier is promoted: judge it there"
        )
    said = (verdict.op, verdict.implementation, verdict.target)
    if said != (candidate.op, candidate.implementation, candidate.target):
        raise NotPromotableError("the verdict names another op than its candidate: judge it again")
    if not verdict.facts.get("programs"):
        raise NotPromotableError("the verdict names no programs to compare with: judge it again")
    unproven = sorted(set(configs_of(candidate)) - set(verdict.validity))
    if unproven:
        raise NotPromotableError(
            f"the candidate has a config for a call it was not judged on ({unproven[0]}): judge it"
            " with cases of that shape, or leave that config out"
        )
    return verdict.effect


def _check_toolchain(verdict: Verdict) -> None:
    if verdict.environment is None:
        raise NotPromotableError("the verdict names no environment: judge it again")
    moved = moved_packages(verdict.environment.packages)
    if moved:
        raise StaleToolchainError(
            f"the verdict is stale: {'; '.join(moved)}. Judge the candidate again"
        )


def _plan(checkout: Path, verdict: Verdict, candidate: Candidate, incumbent: Candidate) -> Plan:
    """The edits, once it is sure that the checkout still holds what the candidate came from."""
    assert verdict.environment is not None
    kind = verdict.environment.device_kind
    here = incumbent_candidate(checkout, candidate.op, candidate.implementation, candidate.target)
    module = f"{candidate.implementation}.py"
    if here.files[module] == candidate.files[module] != incumbent.files[module]:
        raise AlreadyPromotedError(f"{module} in the checkout is this candidate's text already")
    if here.files[module] != incumbent.files[module]:
        raise ChangedIncumbentError(
            f"reference_kernels/{candidate.op}/{module} is not the text that this candidate was"
            " derived from and judged against: start from the present text, or judge it again"
        )
    shipped = shipped_configs(checkout, candidate.op, candidate.implementation, kind)
    known = configs_of(incumbent)
    wanted = configs_of(candidate)
    if wanted and all(shipped.get(key) == fields for key, fields in wanted.items()):
        raise AlreadyPromotedError(f"the checkout ships these configs for {kind} already")
    # A new text was judged with every shipped config, a config only beside its own predecessor.
    for key in wanted or sorted(shipped.keys() | known.keys()):
        if shipped.get(key) != known.get(key):
            raise ChangedIncumbentError(
                f"the config shipped for {key} on {kind} is not the one that this candidate was"
                " judged against: judge it again"
            )
    plan = plan_edits(checkout, candidate, device_kind=kind, verdict=verdict.digest)
    if not plan.edits:
        raise AlreadyPromotedError("the candidate is the incumbent: there is nothing to promote")
    return plan


def _check_clean(checkout: Path, edits: tuple[Edit, ...]) -> None:
    dirty = git.dirty(checkout, [edit.path for edit in edits])
    if dirty:
        raise DirtyCheckoutError(
            f"{', '.join(dirty)} has uncommitted changes: commit or stash them, then run again"
        )


def _check_programs(
    scratch: Path, verdict: Verdict, candidate: Candidate, evaluator: Relower
) -> None:
    """What the patched checkout holds lowers to what was judged."""
    patched = _read_back(scratch, verdict, candidate)
    judged = dict(verdict.facts["programs"])
    found = dict(evaluator.program_digests(patched, library=scratch, disguise=True))
    differ = sorted(
        key for key in judged.keys() | found.keys() if judged.get(key) != found.get(key)
    )
    if differ:
        raise DifferentProgramError(
            f"lowered in other surroundings, {len(differ)} of {len(judged)} programs are not those"
            f" that were judged ({', '.join(differ[:3])}): the source looks at where it runs, or"
            " tracing it is not deterministic; nothing was written"
        )


def _read_back(scratch: Path, verdict: Verdict, candidate: Candidate) -> Candidate:
    """The candidate as the patched checkout has it."""
    assert verdict.environment is not None
    wanted = configs_of(candidate)
    kind = verdict.environment.device_kind
    here = incumbent_candidate(scratch, candidate.op, candidate.implementation, candidate.target)
    shipped = shipped_configs(scratch, candidate.op, candidate.implementation, kind)
    files = dict(here.files)
    if wanted:
        if {key: shipped.get(key) for key in wanted} != wanted:
            raise DifferentProgramError("the tuning data does not read back as it was written")
        files[CONFIG_FILE] = candidate.files[CONFIG_FILE]
    patched = candidate.model_copy(update={"files": files})
    if patched.digest != candidate.digest:
        raise DifferentProgramError("the patched module does not read back as it was written")
    return patched


def _message(promotion: Promotion) -> str:
    return (
        f"Promote {promotion.op}/{promotion.implementation} on {promotion.target}:"
        f" {promotion.ratio:.3f}x ({promotion.low:.3f} to {promotion.high:.3f})\n\n"
        f"Kind: {promotion.kind}\nVerdict: {promotion.verdict}\n"
        f"Candidate: {promotion.candidate}\nPromotion: {promotion.id}\n"
        f"Reviewed-by: {promotion.reviewer}\n"
    )
