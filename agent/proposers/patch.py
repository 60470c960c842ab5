"""Propose a person's file, as it is."""

from __future__ import annotations

from agent.errors import ExhaustedError, SettingsError
from agent.programs import program_digest
from agent.proposers.answers import AnswerError, valid
from agent.proposers.protocol import Answer, Context


class PatchProposer:
    """Hands over the given module texts, one a proposal.

    Args:
        texts: full texts of the module.

    Raises:
        SettingsError: a text is no Python module.
    """

    name = "patch"

    def __init__(self, texts: tuple[str, ...]) -> None:
        try:
            self._texts = tuple(dict.fromkeys(valid(text) for text in texts))
        except AnswerError as error:
            raise SettingsError(f"a given file is no module: {error}") from error

    def propose(self, context: Context, *, number: int) -> Answer:
        """The next text that the run has not tried."""
        unseen = []
        for text in self._texts:
            files = {context.module_file: text}
            candidate = context.incumbent.model_copy(update={"files": files})
            if program_digest(candidate) not in context.programs:
                unseen.append(files)
        if context.rank >= len(unseen):
            raise ExhaustedError("every given file was proposed")
        return Answer(files=unseen[context.rank], rationale="a person's file")
