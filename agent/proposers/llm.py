"""Ask a language model. The intent is stored before it is sent, the reply before it is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from agent import prompting
from agent.budget import OverBudgetError, StopReason
from agent.errors import ModelError
from agent.models import ChatModel, Message, Reply
from agent.proposers import answers
from agent.proposers.protocol import Answer, Context, Usage
from runs.errors import BudgetExceededError, UnknownRecordError
from runs.identity import utc_now
from runs.ledger import Intent
from runs.records import Run
from runs.store import RunStore

LOST = "lost: the run was killed while the request was in flight; its worst case is booked"
CUT_OFF = "the reply ended at the cap on its tokens"


class LlmProposer:
    """One request a proposal, to the models in turn.

    Args:
        wall_left_s: seconds of the run's time budget that are left, None without a cap.
    """

    name = "llm"

    def __init__(
        self,
        models: Sequence[ChatModel],
        store: RunStore,
        run: Run,
        wall_left_s: Callable[[], float | None] = lambda: None,
    ) -> None:
        if not models:
            raise ValueError("no model to ask")
        self._models = tuple(models)
        self._store = store
        self._run = run
        self.wall_left_s = wall_left_s

    def propose(self, context: Context, *, number: int) -> Answer:
        """Send the request, or use the reply that an earlier process stored.

        Raises:
            OverBudgetError: its worst case does not fit what is left.
        """
        intent_id = f"{self._run.id}/{number}"
        ledger = self._store.ledger
        try:
            intent = ledger.intent(intent_id)
        except UnknownRecordError:
            return self._send(context, intent_id, number)
        if intent.reply_digest is None:
            # It may have been billed, so it is not sent again.
            ledger.abandon_intent(intent_id, at=utc_now(), reason=LOST)
            return Answer(
                failure=LOST,
                usage=Usage(prompt_digest=intent.prompt_digest, dollars=intent.worst_dollars),
            )
        return self._read(context, intent, intent.reply_digest)

    def model_for(self, context: Context) -> ChatModel:
        """Whose turn it is.

        Counted in this proposer's own requests: with another proposer beside it, its numbers may
        all be even.
        """
        asked = sum(t.proposer == self.name for t in context.history) + context.rank
        return self._models[asked % len(self._models)]

    def _send(self, context: Context, intent_id: str, number: int) -> Answer:
        model = self.model_for(context)
        try:
            messages = prompting.render(
                context, number, room_tokens=model.room_tokens(), count=model.count_tokens
            )
        except prompting.PromptTooLongError as error:
            return Answer(failure=f"model: too_long: {error}")
        worst = model.worst_case(messages)
        ledger = self._store.ledger
        try:
            intent = ledger.log_intent(
                intent_id,
                self._run.id,
                purpose=f"propose with {model.name}"
                + ("" if worst.dollars is not None else " (price unknown)"),
                prompt=_prompt_bytes(messages),
                worst_dollars=worst.dollars or 0.0,
                worst_tokens=worst.tokens,
                at=utc_now(),
            )
        except BudgetExceededError as error:
            raise OverBudgetError(self._scarce(worst.tokens)) from error
        try:
            reply = model.complete(messages, timeout_s=self.wall_left_s())
        except ModelError as error:
            return self._failed(intent, error)
        digest = ledger.store_reply(intent_id, _reply_bytes(reply), at=utc_now())
        return self._read(context, intent, digest)

    def _scarce(self, worst_tokens: int) -> StopReason:
        spent, cap = self._store.ledger.spent(self._run.id), self._run.budget.tokens
        if cap is not None and spent.tokens + spent.reserved_tokens + worst_tokens > cap:
            return StopReason.TOKENS
        return StopReason.DOLLARS

    def _failed(self, intent: Intent, error: ModelError) -> Answer:
        if error.billed:
            self._store.ledger.abandon_intent(intent.id, at=utc_now(), reason=error.kind)
            dollars = intent.worst_dollars
        else:
            self._store.ledger.settle_intent(
                intent.id, dollars=0.0, tokens_in=0, tokens_out=0, at=utc_now()
            )
            dollars = 0.0
        return Answer(
            failure=f"model: {error}",
            usage=Usage(prompt_digest=intent.prompt_digest, dollars=dollars),
        )

    def _read(self, context: Context, intent: Intent, reply_digest: str) -> Answer:
        """Book a stored reply, then make of it what it gives."""
        reply = Reply(**json.loads(self._store.blobs.get(reply_digest)))
        dollars = (reply.dollars or 0.0) + reply.lost_dollars
        self._store.ledger.settle_intent(
            intent.id,
            dollars=dollars,
            tokens_in=reply.tokens_in + reply.lost_tokens,
            tokens_out=reply.tokens_out,
            at=utc_now(),
        )
        usage = Usage(
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            dollars=dollars,
            prompt_digest=intent.prompt_digest,
            reply_digest=reply_digest,
        )
        try:
            parsed = _module(reply, context)
        except answers.AnswerError as error:
            return Answer(failure=str(error), usage=usage)
        return Answer(
            files={context.module_file: parsed.source}, rationale=parsed.rationale, usage=usage
        )


def _module(reply: Reply, context: Context) -> answers.Parsed:
    """The module that a reply gives.

    Raises:
        AnswerError: it gives none.
    """
    if reply.refusal:
        raise answers.RefusedAnswerError(reply.refusal)
    if reply.cut_off:
        # Also where what there is can be read: the edits that are missing may be half of a change.
        raise answers.TruncatedAnswerError(CUT_OFF)
    entries = context.problem.implementation(context.implementation).entries
    had = answers.defined(context.incumbent_source)
    names = [name for name in ("Config", *entries) if name in had]
    return answers.parse(reply.text, context.parent_source, names)


def _prompt_bytes(messages: tuple[Message, ...]) -> bytes:
    said = [vars(m) for m in messages]
    return json.dumps(said, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def _reply_bytes(reply: Reply) -> bytes:
    return json.dumps(vars(reply), ensure_ascii=False, indent=1).encode("utf-8", "replace")
