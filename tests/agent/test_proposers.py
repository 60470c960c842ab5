"""Every proposer against the contract suite, and what is particular to each."""

from __future__ import annotations

import dataclasses
import json

import pytest

from agent.errors import ExhaustedError, SettingsError
from agent.programs import normalised, program_digest
from agent.proposers.patch import PatchProposer
from agent.proposers.protocol import Answer, Context, Proposer
from agent.proposers.rewrite import RewriteProposer
from agent.proposers.testing import ProposerContract, as_tried
from agent.proposers.tune import TuneProposer
from reference_kernels.problem import case_key
from tests.agent import toy

OTHER = toy.SOURCE.replace("jnp.exp(w) * jnp.exp(w)", "jnp.exp(2 * w)")


class ToyContract(ProposerContract):
    held_out = (toy.HELD_OUT,)

    def context(self) -> Context:
        return toy.context()


class TestRewriteContract(ToyContract):
    def proposer(self) -> Proposer:
        return RewriteProposer()


class TestTuneContract(ToyContract):
    def proposer(self) -> Proposer:
        return TuneProposer(toy.small_space)


class TestWideTuneContract(ToyContract):
    def proposer(self) -> Proposer:
        return TuneProposer(toy.wide_space)


class TestPatchContract(ToyContract):
    def proposer(self) -> Proposer:
        return PatchProposer((OTHER, OTHER + "\n\nEXTRA = 1\n"))


def rounds(proposer: Proposer, context: Context, ratio: float | None = None) -> list[Answer]:
    """All answers until the proposer is exhausted."""
    answers: list[Answer] = []
    while True:
        try:
            answer = proposer.propose(context, number=len(answers))
        except ExhaustedError:
            return answers
        answers.append(answer)
        tried = as_tried(answer, context, len(answers) - 1, proposer.name)
        if ratio is not None:
            tried = dataclasses.replace(tried, judgement=toy.judged(ratio))
        context = dataclasses.replace(context, history=(*context.history, tried))


def test_tune_walks_a_small_space_without_default_and_invalid_points() -> None:
    answers = rounds(TuneProposer(toy.small_space), toy.context())
    key = case_key(toy.PROBLEM, "forward", toy.PROBLEM.case("steering"))
    points = {tuple(json.loads(a.files["config.json"])[key].values()) for a in answers}
    # 3 x 2 points, without the default (8, scan) and the invalid (16, map).
    assert points == {(4, "scan"), (16, "scan"), (4, "map"), (8, "map")}
    assert len(answers) == 4


def test_tune_orders_differ_by_seed() -> None:
    orders = {
        tuple(
            a.files["config.json"]
            for a in rounds(TuneProposer(toy.small_space), toy.context(seed=seed))
        )
        for seed in range(8)
    }
    assert len(orders) > 1


def test_tune_resumes_a_large_space_from_history() -> None:
    context = toy.context()
    whole = []
    proposer = TuneProposer(toy.wide_space)
    for number in range(12):
        # A new proposer each time, as after a crash: only history is kept.
        answer = proposer.propose(context, number=number)
        assert answer == TuneProposer(toy.wide_space).propose(context, number=number)
        whole.append(answer.files["config.json"])
        tried = dataclasses.replace(
            as_tried(answer, context, number, "tune"), judgement=toy.judged(1 + number / 100)
        )
        context = dataclasses.replace(context, history=(*context.history, tried))
    assert len(set(whole)) == 12


def test_tune_with_nothing_to_choose_is_exhausted() -> None:
    @dataclasses.dataclass(frozen=True)
    class Nothing:
        """Nothing to choose."""

    proposer = TuneProposer(lambda op, implementation: toy.space_of(Nothing))
    with pytest.raises(ExhaustedError):
        proposer.propose(toy.context(), number=0)


def test_rewrite_of_a_text_that_does_not_parse_is_exhausted() -> None:
    context = dataclasses.replace(toy.context(), parent=toy.module("def forward(:\n"))
    with pytest.raises(ExhaustedError):
        RewriteProposer().propose(context, number=0)


def test_rewrite_gives_one_of_each_kind_first() -> None:
    options = RewriteProposer().options(toy.SOURCE, 0)
    kinds = [option.rewrite.name for option in options]
    distinct = len(set(kinds))
    assert distinct >= 6
    assert len(set(kinds[:distinct])) == distinct


def test_patch_refuses_a_file_that_is_no_module() -> None:
    with pytest.raises(SettingsError, match="no module"):
        PatchProposer(("def forward(:\n",))


def test_patch_does_not_propose_the_incumbent() -> None:
    with pytest.raises(ExhaustedError):
        PatchProposer((f"# the same\n{toy.SOURCE}",)).propose(toy.context(), number=0)


def test_programs_are_equal_without_comments_layout_and_docstrings() -> None:
    commented = toy.SOURCE.replace('"""A toy module."""', '"""Another word."""  # so\n')
    assert commented != toy.SOURCE
    assert program_digest(toy.module(commented)) == program_digest(toy.module())
    assert program_digest(toy.module(OTHER)) != program_digest(toy.module())


def test_what_does_not_parse_is_its_own_normal_form() -> None:
    assert normalised("def (") == "def ("
