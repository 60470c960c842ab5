"""The contexts in which a recording's proposals were made, as far as it tells."""

from __future__ import annotations

from collections.abc import Iterator

from agent.context import visible
from agent.programs import program_digest
from agent.proposers.protocol import Context, Judgement, Tried
from agent.proposers.replay import rebuilt
from agent.recording import RecordedProposal, Recording
from agent.target_facts import describe
from reference_kernels import catalog
from sandbox.records import Candidate


def contexts(recording: Recording) -> Iterator[tuple[int, Context]]:
    """(number, context) of each recorded proposal, with its verdict's status and ratio alone."""
    problem, made = catalog.problem(recording.op), rebuilt(recording)
    by_digest = {candidate.digest: candidate for candidate in made.values()}
    by_digest[recording.start.digest] = recording.start
    history: list[Tried] = []
    for entry in recording.proposals:
        repaired = [tried for tried in history if tried.number == entry.repairs]
        yield (
            entry.number,
            Context(
                problem=visible(problem),
                implementation=recording.implementation,
                target=describe(recording.target),
                case=problem.case(recording.case),
                incumbent=recording.start,
                parent=by_digest[recording.parent_digest(entry)],
                parent_judgement=None,
                history=tuple(history),
                seed=0,
                repair=repaired[0] if repaired else None,
            ),
        )
        history.append(_tried(recording, entry, made.get(entry.number)))


def _tried(recording: Recording, entry: RecordedProposal, candidate: Candidate | None) -> Tried:
    judgement = None
    if entry.status is not None:
        judgement = Judgement(
            entry.status, entry.status, ratio=entry.ratio, low=entry.ratio, high=entry.ratio
        )
    return Tried(
        number=entry.number,
        proposer=entry.proposer,
        kind=entry.kind,
        parent=recording.parent_digest(entry),
        candidate=candidate,
        program=program_digest(candidate) if candidate else None,
        rationale=entry.rationale,
        failure=entry.failure,
        judgement=judgement,
    )
