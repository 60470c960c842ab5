"""A run with the `llm` proposer: real prompts, real HTTP, real sandbox, real judge."""

from pathlib import Path

import pytest

from evaluators.verdict import CORRECT
from reference_kernels import catalog
from runs.store import RunStore
from tests.agent.openai_server import serving, text
from tests.end_to_end.conftest import Workbench

pytestmark = pytest.mark.docker

CANDIDATES = Path(__file__).parents[1] / "exploits" / "candidates"
KEY = "sk-a-key-that-must-stay-secret"


def fenced(name: str) -> str:
    return f"Here is the module.\n\n```python\n{(CANDIDATES / name).read_text()}```\n"


def test_a_good_a_wrong_and_an_unparsable_answer(workbench: Workbench) -> None:
    answers = [
        text(fenced("honest_two_halves.py"), tokens_in=3000, tokens_out=500),
        text(fenced("h45_zeros.py"), tokens_in=3000, tokens_out=200),
        text("I would rather talk about the weather.", tokens_in=3000, tokens_out=10),
    ]
    with serving(answers) as server:
        ran = workbench.run(
            *("optimize", "rms_norm", "--case", "ragged", "--proposer", "llm"),
            *("--model", "openai/scripted", "--base-url", server.base_url),
            *("--price-in", "1", "--price-out", "10", "--budget-dollars", "5"),
            *("--rounds", "3", "--width", "1", "--patience", "9", "--confirm", "0"),
            OPENAI_API_KEY=KEY,
        )
    assert ran.code in (0, 1), ran.stderr
    found = ran.json()
    store = RunStore(workbench.home)
    proposals = store.proposals(found["run"])
    assert [proposal.candidate is not None for proposal in proposals] == [True, True, False]
    assert proposals[2].failure
    verdicts = {v.candidate: v for v in store.verdicts(run=found["run"])}
    good, wrong = (verdicts[proposal.candidate] for proposal in proposals[:2])
    assert good.status in CORRECT
    assert wrong.status == "wrong"
    # What it cost, and what was said, is kept.
    assert len(server.requests) == 3
    assert sum(p.dollars for p in proposals) == pytest.approx(3 * 3000e-6 + 710e-5)
    for proposal, answer in zip(proposals, answers, strict=True):
        assert proposal.reply_digest is not None
        said = answer.body["choices"][0]["message"]["content"]
        assert said.splitlines()[0].encode() in store.blobs.get(proposal.reply_digest)
    # The second prompt tells what became of the first answer, and none tells a held-out case.
    prompts = [str(request["messages"]) for request in server.requests]
    assert "honest" in prompts[1] or good.status.value in prompts[1]
    for case in catalog.problem("rms_norm").tagged("holdout"):
        assert all(case.name not in prompt for prompt in prompts)
    assert server.keys == [f"Bearer {KEY}"] * 3
    everything = b"".join(p.read_bytes() for p in workbench.home.rglob("*") if p.is_file())
    assert KEY.encode() not in everything
    assert KEY not in ran.stdout + ran.stderr
