"""Search policies against their contract, parents by hand, the best, and who is confirmed."""

from __future__ import annotations

import pytest

from agent.errors import SettingsError
from agent.search import (
    Beam,
    Greedy,
    History,
    Parent,
    Repairing,
    Search,
    best,
    reached,
    shortlist,
    speed_of_light,
)
from agent.search import testing as contract
from agent.search.testing import SearchContract
from agent.settings import Settings, Share
from evaluators.verdict import Status
from tests.agent import toy
from tests.agent.judge import verdict

MODULES = [toy.module(f"{toy.SOURCE}\nX = {n}\n") for n in range(4)]


class TestGreedyContract(SearchContract):
    def search(self) -> Search:
        return Greedy()


class TestBeamContract(SearchContract):
    def search(self) -> Search:
        return Beam(3)


class TestRepairingContract(SearchContract):
    repairs = 2

    def search(self) -> Search:
        return Repairing(Beam(2), 2)


def history(*intervals: tuple[float, float], kind: str = "source") -> History:
    """Candidates `c0`, `c1`... with these intervals."""
    names = [f"c{n}" for n in range(len(intervals))]
    return History(
        "incumbent",
        {n: contract.proposal(n, name, kind=kind) for n, name in enumerate(names)},
        {
            name: contract.verdict(name, Status.FASTER if low > 1.03 else Status.NO_GAIN, low, high)
            for name, (low, high) in zip(names, intervals, strict=True)
        },
    )


def shares(search: Search, found: History, width: int) -> list[str]:
    return [parent.candidate for parent in search.parents(found, width)]


@pytest.mark.parametrize(
    ("intervals", "parent"),
    [
        ([], "incumbent"),
        ([(0.99, 1.03)], "incumbent"),
        ([(1.05, 1.15)], "c0"),
        ([(1.05, 1.15), (1.2, 1.3), (1.1, 1.19)], "c1"),
        # The second may well be the faster one, but nobody knows.
        ([(1.05, 1.15), (1.1, 1.3)], "c0"),
        # The first of the two that nobody surely beats.
        ([(1.05, 1.15), (1.2, 1.3), (1.25, 1.4)], "c1"),
    ],
)
def test_greedy_takes_the_earliest_that_nobody_surely_beats(
    intervals: list[tuple[float, float]], parent: str
) -> None:
    assert shares(Greedy(), history(*intervals), 3) == [parent] * 3


def test_nobody_builds_on_a_tuned_candidate() -> None:
    found = history((1.2, 1.3), kind="tuned")
    assert shares(Greedy(), found, 1) == shares(Beam(3), found, 1) == ["incumbent"]


def test_a_beam_shares_the_round() -> None:
    found = history((1.05, 1.1), (1.2, 1.3), (0.9, 0.99))
    assert shares(Beam(3), found, 6) == ["c1"] * 3 + ["c0"] * 2 + ["incumbent"]
    assert shares(Beam(3), found, 4) == ["c1", "c1", "c0", "incumbent"]
    assert shares(Beam(3), found, 2) == ["c1", "c0"]
    assert shares(Beam(4), found, 10).count("c2") == 1
    assert shares(Beam(1), found, 2) == shares(Greedy(), found, 2)


def failed(status: Status, proposer: str = "llm") -> History:
    return History(
        "incumbent",
        {0: contract.proposal(0, "c0", proposer=proposer)},
        {"c0": contract.verdict("c0", status)},
    )


@pytest.mark.parametrize(
    ("status", "is_mended"),
    [
        (Status.BUILD_FAILED, True), (Status.REJECTED, True), (Status.CRASHED, True),
        (Status.WRONG, True), (Status.UNSTABLE, True), (Status.RESOURCE_LIMIT, True),
        (Status.SUSPECT, False), (Status.SLOWER, False), (Status.NO_GAIN, False),
        (Status.UNMEASURED, False), (Status.FASTER, False),
    ],
)  # fmt: skip
def test_what_is_mended(status: Status, is_mended: bool) -> None:
    found = failed(status) if status is not Status.FASTER else history((1.1, 1.2))
    first, second = Repairing(Greedy(), 1).parents(found, 2)
    assert (first == Parent("c0", 0)) is is_mended
    assert second.repairs is None


def test_offline_proposers_are_not_asked_to_mend() -> None:
    found = failed(Status.BUILD_FAILED, "rewrite")
    assert Repairing(Greedy(), 1).parents(found, 1) == (Parent("incumbent"),)


def test_a_reply_that_gave_no_module_is_mended_from_its_own_parent() -> None:
    found = History("incumbent", {0: contract.proposal(0, None, parent="c9")})
    assert Repairing(Greedy(), 1).parents(found, 1) == (Parent("c9", 0),)


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_a_chain_of_repairs_ends(limit: int) -> None:
    proposals = {n: contract.proposal(n, f"c{n}") for n in range(6)}
    verdicts = {f"c{n}": contract.verdict(f"c{n}", Status.WRONG) for n in range(6)}
    asked, repairs = 0, {}
    for number in range(1, 6):
        known = {n: proposals[n] for n in range(number)}
        # Only the first is an original; what follows is its chain.
        (parent,) = Repairing(Greedy(), limit).parents(
            History("incumbent", known, verdicts, repairs), 1
        )
        if parent.repairs is None:
            break
        assert parent == Parent(f"c{number - 1}", number - 1)
        repairs[number] = parent.repairs
        asked += 1
    assert asked == limit


def test_repairs_leave_the_search_a_slot() -> None:
    found = History(
        "incumbent",
        {n: contract.proposal(n, f"c{n}") for n in range(5)},
        {f"c{n}": contract.verdict(f"c{n}", Status.CRASHED) for n in range(5)},
    )
    repairs = [p.repairs for p in Repairing(Greedy(), 1).parents(found, 3)]
    assert repairs == [0, 1, None]


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


def test_reached_is_the_bests_or_the_baselines() -> None:
    slower, faster = verdict(MODULES[0], 0.9), verdict(MODULES[1], 2.0)
    assert reached([]) == reached([verdict(MODULES[0], None)]) == 0.0
    assert reached([slower]) == pytest.approx(0.1)
    assert reached([faster, slower]) == pytest.approx(0.2)


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
        {"search": "random"},
        {"beam": 0},
        {"repairs": -1},
        {"unknown": 1},
    ],
)
def test_settings_that_do_not_fit_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Settings(op="toy", **fields)  # type: ignore[arg-type]
