"""Make the recording of a run that is in the store, or refuse to give something away."""

from __future__ import annotations

import json

from agent.archive import LIBRARY, NOBODY
from agent.errors import RecordingError
from agent.models.secrets import without_keys
from agent.recording import RecordedMessage, RecordedProposal, Recording
from agent.replies import prompt_messages, reply_model, reply_text
from evaluators.verdict import Verdict
from reference_kernels import catalog
from runs.queries import verdicts_of_run
from runs.records import Proposal
from runs.search_rows import SearchRows
from runs.store import RunStore

UNSHARED = frozenset({LIBRARY, "base_url", "patches", "recording"})
"""Settings that a recording leaves out: an address, and texts that stand elsewhere in it."""


def record(store: RunStore, run_id: str) -> Recording:
    """The recording of a run.

    Raises:
        UnknownRunError: no such run.
        RecordingError: it would give away a key or a held-out case.
    """
    run = store.run(run_id)
    library = store.candidate(run.settings[LIBRARY])
    numbered = {int(p.id.rpartition("/")[2]): p for p in store.proposals(run_id)}
    # The last round may have had nobody left to ask; that is how the run ended, not a proposal.
    last = max((n for n, p in numbered.items() if p.proposer != NOBODY), default=-1)
    kept = {n: numbered[n] for n in sorted(numbered) if n <= last}
    module = f"{run.implementation}.py"
    start = library.model_copy(update={"files": {module: library.files[module]}})
    parents: dict[str, int | None] = {
        p.candidate: n for n, p in reversed(kept.items()) if p.candidate
    }
    parents[start.digest] = None
    verdicts = {v.candidate: v for v in verdicts_of_run(store, run_id, tier="screen")}
    repairs = SearchRows(store.database, run_id).repairs()
    proposals = tuple(
        _recorded(
            store,
            number,
            proposal,
            parent=parents[proposal.parent],
            repairs=repairs.get(number),
            verdict=verdicts.get(proposal.candidate or ""),
        )
        for number, proposal in kept.items()
    )
    recording = Recording(
        op=run.op,
        implementation=run.implementation,
        target=run.target,
        case=run.case,
        settings={k: v for k, v in run.settings.items() if k not in UNSHARED},
        incumbent=library.files,
        models=tuple(dict.fromkeys(p.model for p in proposals if p.model)),
        proposals=proposals,
    )
    refuse_secrets(recording)
    return recording


def _recorded(
    store: RunStore,
    number: int,
    proposal: Proposal,
    *,
    parent: int | None,
    repairs: int | None,
    verdict: Verdict | None,
) -> RecordedProposal:
    prompt: tuple[RecordedMessage, ...] = ()
    if proposal.prompt_digest is not None:
        prompt = tuple(
            RecordedMessage(role=role, content=content)
            for role, content in prompt_messages(store.blobs.get(proposal.prompt_digest))
        )
    reply = store.blobs.get(proposal.reply_digest) if proposal.reply_digest else None
    files = None
    if reply is None and proposal.candidate is not None:
        files = store.candidate(proposal.candidate).files
    return RecordedProposal(
        number=number,
        proposer=proposal.proposer,
        kind=proposal.kind,
        parent=parent,
        repairs=repairs,
        model=reply_model(reply) if reply else "",
        prompt_digest=proposal.prompt_digest,
        prompt=prompt,
        reply=reply_text(reply) if reply else None,
        tokens_in=proposal.tokens_in,
        tokens_out=proposal.tokens_out,
        dollars=proposal.dollars,
        rationale=proposal.rationale,
        failure=proposal.failure,
        files=files,
        candidate=proposal.candidate,
        status=verdict.status.value if verdict else None,
        ratio=verdict.effect.ratio if verdict and verdict.effect else None,
    )


def refuse_secrets(recording: Recording) -> None:
    """Make sure that a recording may be shared.

    Raises:
        RecordingError: it names a held-out case, or holds the value of a secret variable.
    """
    text = json.dumps(recording.model_dump(mode="json"), ensure_ascii=False)
    for case in catalog.problem(recording.op).cases:
        if "holdout" in case.tags and case.name in text:
            raise RecordingError(f"the run names the held-out case {case.name}: not exported")
    if without_keys(text) != text:
        raise RecordingError("the run holds the value of a secret variable: not exported")
