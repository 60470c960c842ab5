"""Repeat what was recorded: the same candidates, by the same numbers, and nobody is asked."""

from __future__ import annotations

from pydantic import ValidationError

from agent.errors import ExhaustedError, RecordingError
from agent.proposers import answers
from agent.proposers.protocol import Answer, Context
from agent.recording import RecordedProposal, Recording
from sandbox.records import Candidate


class ReplayProposer:
    """Gives for each number the recorded answer, made anew of the recorded reply."""

    name = "replay"

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._entries = {entry.number: entry for entry in recording.proposals}

    def propose(self, context: Context, *, number: int) -> Answer:
        """The recorded answer; a failure where it would be another one than was recorded."""
        entry = self._entries.get(number)
        if entry is None:
            raise ExhaustedError("the recording has no such proposal")
        try:
            if context.parent.digest != self._recording.parent_digest(entry):
                raise RecordingError(f"proposal {number} started from another text")
            return answer(self._recording, entry, context.parent_source)
        except RecordingError as error:
            return Answer(kind=entry.kind, failure=f"replay: {error}")


def answer(recording: Recording, entry: RecordedProposal, parent: str) -> Answer:
    """What a recorded proposal gives when its reply is read again.

    Args:
        parent: the text that it started from.

    Raises:
        RecordingError: it gives another candidate than it gave then.
    """
    if entry.candidate is None:
        return Answer(kind=entry.kind, rationale=entry.rationale, failure=entry.failure)
    files, rationale = entry.files, entry.rationale
    if entry.reply is not None:
        try:
            parsed = answers.parse(entry.reply, parent)
        except answers.AnswerError as error:
            raise RecordingError(f"proposal {entry.number} gives no module now: {error}") from None
        files, rationale = {recording.module_file: parsed.source}, parsed.rationale
    try:
        found = recording.make(files or {}).digest
    except ValidationError:
        raise RecordingError(f"proposal {entry.number} has no candidate's files") from None
    if found != entry.candidate:
        raise RecordingError(
            f"proposal {entry.number} gives candidate {found[:12]} now and gave"
            f" {entry.candidate[:12]} when it was recorded"
        )
    return Answer(files=files or {}, kind=entry.kind, rationale=rationale)


def rebuilt(recording: Recording) -> dict[int, Candidate]:
    """Every recorded candidate, made anew of its reply; numbers that failed are left out.

    Raises:
        RecordingError: one is not what was recorded.
    """
    texts = {recording.start.digest: recording.start}
    made: dict[int, Candidate] = {}
    for entry in recording.proposals:
        parent = texts.get(recording.parent_digest(entry))
        if parent is None:
            raise RecordingError(f"proposal {entry.number} starts from what failed to be made")
        given = answer(recording, entry, parent.files[recording.module_file])
        if given.files:
            made[entry.number] = recording.make(given.files)
            texts[made[entry.number].digest] = made[entry.number]
    return made
