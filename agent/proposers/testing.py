"""The contract that every proposer must meet, as a test suite.

Subclass `ProposerContract` and give it a proposer and a context:

    class TestMine(ProposerContract):
        def proposer(self): return Mine()
        def context(self): return some_context
"""

from __future__ import annotations

import ast
import dataclasses
import json
import time

from agent.errors import ExhaustedError
from agent.programs import program_digest
from agent.proposers.protocol import Answer, Context, Proposer, Tried
from sandbox.records import Candidate

MOST_ROUNDS = 40


class ProposerContract:
    """What holds for every proposer.

    Attributes:
        most_s: seconds that one answer may take.
        repeats: the proposer may offer again what was tried (a model can); the run drops those.
        held_out: names of the op's held-out cases, which no answer may know.
    """

    most_s: float = 30.0
    repeats: bool = False
    held_out: tuple[str, ...] = ()

    def proposer(self) -> Proposer:
        """A fresh proposer, as a new process would make it."""
        raise NotImplementedError

    def context(self) -> Context:
        """A context in which the proposer has something to say."""
        raise NotImplementedError

    def test_is_a_proposer(self) -> None:
        proposer = self.proposer()
        assert isinstance(proposer, Proposer)
        assert proposer.name.isidentifier()

    def test_first_answer_is_a_candidate(self) -> None:
        context = self.context()
        answer = self.proposer().propose(context, number=0)
        assert not answer.failure
        candidate_of(answer, context)

    def test_same_context_and_number_give_the_same_answer(self) -> None:
        first = self.proposer().propose(self.context(), number=0)
        second = self.proposer().propose(self.context(), number=0)
        assert first == second

    def test_answers_in_bounded_time(self) -> None:
        began = time.monotonic()
        self.proposer().propose(self.context(), number=0)
        assert time.monotonic() - began < self.most_s

    def test_context_is_left_as_it_was(self) -> None:
        context, same = self.context(), self.context()
        self.proposer().propose(context, number=0)
        assert context == same

    def test_ranks_of_a_round_differ(self) -> None:
        proposer, context = self.proposer(), self.context()
        programs = []
        for rank in range(3):
            try:
                answer = proposer.propose(dataclasses.replace(context, rank=rank), number=rank)
            except ExhaustedError:
                break
            if answer.files:
                programs.append(program_digest(candidate_of(answer, context)))
        assert programs
        assert self.repeats or len(set(programs)) == len(programs)

    def test_answers_in_every_round_or_says_that_it_is_exhausted(self) -> None:
        proposer, context = self.proposer(), self.context()
        known = set(context.programs)
        for number in range(MOST_ROUNDS):
            try:
                answer = proposer.propose(context, number=number)
            except ExhaustedError:
                assert number > 0
                return
            tried = as_tried(answer, context, number, proposer.name)
            if tried.program is not None:
                assert self.repeats or tried.program not in known
                known.add(tried.program)
            context = dataclasses.replace(context, history=(*context.history, tried))

    def test_knows_no_held_out_case(self) -> None:
        context = self.context()
        assert not [c for c in context.problem.cases if "holdout" in c.tags]
        answer = self.proposer().propose(context, number=0)
        said = " ".join([answer.rationale, answer.failure, *answer.files.values()])
        assert not [name for name in self.held_out if name in said]


def candidate_of(answer: Answer, context: Context) -> Candidate:
    """The answer as a valid candidate of the context's module."""
    candidate = Candidate(
        op=context.problem.name,
        implementation=context.implementation,
        target=context.target.name,
        files=answer.files,
    )
    ast.parse(answer.files[context.module_file])
    if answer.kind == "source":
        assert set(answer.files) == {context.module_file}
    else:
        assert set(answer.files) == {context.module_file, "config.json"}
        assert answer.files[context.module_file] == context.incumbent_source
        configs = json.loads(answer.files["config.json"])
        assert configs
        assert all(isinstance(fields, dict) for fields in configs.values())
    return candidate


def as_tried(answer: Answer, context: Context, number: int, proposer: str) -> Tried:
    """The answer as history, not judged."""
    candidate = candidate_of(answer, context) if answer.files else None
    return Tried(
        number=number,
        proposer=proposer,
        kind=answer.kind,
        parent=context.parent.digest,
        candidate=candidate,
        program=program_digest(candidate) if candidate else None,
        rationale=answer.rationale,
        failure=answer.failure,
        judgement=None,
    )


__all__ = ["ProposerContract", "as_tried", "candidate_of"]
