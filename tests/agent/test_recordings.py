"""The recorded model runs that ship with the checkout still give what they gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent import prompting
from agent.exporting import refuse_secrets
from agent.proposers.replay import rebuilt
from agent.recording import Recording, read
from agent.target_facts import describe
from reference_kernels import catalog
from tests.agent.retelling import contexts

FOLDER = Path(__file__).parent / "recordings"
FILES = sorted(FOLDER.glob("*.json"))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def recording(request: pytest.FixtureRequest) -> Recording:
    return read(request.param)


def test_every_op_has_a_recorded_run() -> None:
    recorded = {json.loads(path.read_text())["op"] for path in FILES}
    missing = sorted(set(catalog.names()) - recorded)
    assert not missing, (
        f"no recorded run of a model for {', '.join(missing)}: run `kernelwright optimize OP"
        " --proposer llm --model MODEL`, then `kernelwright runs export RUN --out"
        " tests/agent/recordings/OP.json`"
    )


def test_every_reply_gives_its_candidate_again(recording: Recording) -> None:
    made = rebuilt(recording)
    assert made
    assert {n: c.digest for n, c in made.items()} == {
        p.number: p.candidate for p in recording.proposals if p.candidate
    }


def test_it_is_a_model_that_answered(recording: Recording) -> None:
    assert recording.models
    answered = [p for p in recording.proposals if p.reply is not None]
    assert answered
    for proposal in answered:
        assert [message.role for message in proposal.prompt][:1] == ["system"]
        assert proposal.prompt_digest


def test_it_gives_nothing_away(recording: Recording) -> None:
    refuse_secrets(recording)
    assert "base_url" not in recording.settings


def test_its_prompts_still_render(recording: Recording) -> None:
    describe(recording.target)
    rendered = [
        (number, prompting.render(context, number)) for number, context in contexts(recording)
    ]
    assert len(rendered) == len(recording.proposals)
    for _, messages in rendered:
        assert recording.op in "".join(message.content for message in messages)
