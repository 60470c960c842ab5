"""Parents, the best, and who is confirmed."""

from __future__ import annotations

import pytest

from agent.errors import SettingsError
from agent.search import Greedy, best, shortlist, speed_of_light
from agent.settings import Settings, Share
from runs.records import Proposal
from sandbox.records import Candidate
from tests.agent import toy
from tests.agent.judge import verdict

MODULES = [toy.module(f"{toy.SOURCE}\nX = {n}\n") for n in range(4)]


def proposal(candidate: Candidate, kind: str = "source") -> Proposal:
    return Proposal(
        id="r/0", run="r", proposer="rewrite", kind=kind, parent="p", candidate=candidate.digest,  # type: ignore[arg-type]
        proposed_at="2026-11-30T23:15:00+00:00",
    )  # fmt: skip


def test_greedy_takes_the_fastest_that_is_surely_faster() -> None:
    ratios = (1.01, 1.2, 1.1, None)
    verdicts = {m.digest: verdict(m, r) for m, r in zip(MODULES, ratios, strict=True)}
    proposals = [proposal(m) for m in MODULES]
    assert Greedy().parent("incumbent", proposals, verdicts) == MODULES[1].digest
    assert Greedy().parent("incumbent", proposals[:1], verdicts) == "incumbent"
    assert Greedy().parent("incumbent", [], {}) == "incumbent"


def test_greedy_builds_on_no_tuned_candidate() -> None:
    verdicts = {MODULES[0].digest: verdict(MODULES[0], 1.3)}
    assert Greedy().parent("incumbent", [proposal(MODULES[0], "tuned")], verdicts) == "incumbent"


def test_best_and_shortlist() -> None:
    verdicts = [verdict(m, r) for m, r in zip(MODULES, (1.08, None, 1.3, 0.9), strict=True)]
    found = best(verdicts)
    assert found is not None
    assert found.candidate == MODULES[2].digest
    assert shortlist(verdicts, 5) == (MODULES[2].digest, MODULES[0].digest)
    assert shortlist(verdicts, 1) == (MODULES[2].digest,)
    assert best([verdict(MODULES[0], 0.9)]) is None


def test_speed_of_light_is_the_slowest_cells() -> None:
    assert speed_of_light(verdict(MODULES[0], 1.25)) == pytest.approx(0.125)
    assert speed_of_light(verdict(MODULES[0], None)) == 0.0


def test_settings_name_proposers_and_modules() -> None:
    assert Settings.parse_proposers("llm:2, rewrite") == (
        Share(name="llm", weight=2), Share(name="rewrite"),
    )  # fmt: skip
    for bad in ("", "llm:", "llm:x", ":2", "llm:0"):
        with pytest.raises(SettingsError):
            Settings.parse_proposers(bad)
    assert Settings(op="toy").resolved_implementation == "xla"
    assert Settings(op="toy", target="tpu").resolved_implementation == "pallas_tpu"
    with pytest.raises(SettingsError):
        _ = Settings(op="toy", target="abacus").resolved_implementation


@pytest.mark.parametrize(
    "fields",
    [
        {"proposers": ()},
        {"proposers": (Share(name="llm"),)},
        {"proposers": (Share(name="patch"),)},
        {"price_in": 1.0},
        {"width": 0},
        {"unknown": 1},
    ],
)
def test_settings_that_do_not_fit_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Settings(op="toy", **fields)  # type: ignore[arg-type]
