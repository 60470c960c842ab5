"""The contract that every search policy must meet, as a test suite.

Subclass `SearchContract` and give it a policy:

    class TestMine(SearchContract):
        def search(self): return Mine()
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.search.history import SOUND, History, Parent, Search
from agent.search.repairing import MENDABLE, REPAIRERS, follow_ups
from evaluators.verdict import Effect, ErrorCell, Gate, Status, TimingCell, Verdict
from runs.records import Proposal

INCUMBENT = "incumbent"
TIMED = frozenset({Status.FASTER, Status.NO_GAIN, Status.SLOWER})
_examples = settings(
    max_examples=150, suppress_health_check=[HealthCheck.differing_executors], deadline=None
)


def proposal(
    number: int,
    candidate: str | None,
    *,
    proposer: str = "llm",
    kind: str = "source",
    parent: str = INCUMBENT,
) -> Proposal:
    """A stored proposal; without a candidate, one whose reply gave no module."""
    return Proposal(
        id=f"run/{number}",
        run="run",
        proposer=proposer,
        kind=kind,  # type: ignore[arg-type]
        parent=parent,
        candidate=candidate,
        failure="" if candidate else "syntax_error: line 1",
        reply_digest=None if candidate else "r" * 64,
        proposed_at="2026-11-30T23:15:00+00:00",
    )


def verdict(candidate: str, status: Status, low: float = 1.0, high: float = 1.0) -> Verdict:
    """A valid screening; the interval counts for what was timed alone."""
    ratio = (low * high) ** 0.5
    is_timed = status in TIMED
    error = ErrorCell(
        entry="forward", case="c", distribution="d", leaf="", kind="total",
        error=9.0 if status is Status.WRONG else 0.1, allowed=1.0,
    )  # fmt: skip
    timing = TimingCell(
        entry="forward", case="c", baseline="xla", pairs_ns=((1000, 1000),),
        control_pairs_ns=(), wall_pairs_ns=(), ratio=ratio, low=low, high=high, confidence=0.95,
        control_spread=0.0, worse_p=0.0, roofline_ns=1.0, speed_of_light=0.1,
        baseline_median_ns=1000.0, candidate_median_ns=1000.0,
    )  # fmt: skip
    return Verdict(
        candidate=candidate, builds=(), op="op", implementation="xla", target="cpu",
        tier="screen", trust="artefact", status=status, reason=status.value,
        gates=(Gate(name="numerics", passed=status in TIMED),),
        errors=(error,) if is_timed or status is Status.WRONG else (),
        timings=(timing,) if is_timed else (),
        effect=Effect(ratio=ratio, low=low, high=high, confidence=0.95, candidates_measured=1)
        if is_timed else None,
        judged_at="2026-11-30T23:15:00+00:00",
    )  # fmt: skip


@st.composite
def histories(draw: st.DrawFn, most: int = 8) -> History:
    """Histories of every kind: failures, repeats, tuned ones, repairs of repairs."""
    proposals: dict[int, Proposal] = {}
    verdicts: dict[str, Verdict] = {}
    repairs: dict[int, int] = {}
    for number in range(draw(st.integers(0, most))):
        name = draw(st.sampled_from([None, *(f"c{n}" for n in range(number + 1))]))
        proposals[number] = proposal(
            number,
            name,
            proposer=draw(st.sampled_from(["llm", "rewrite"])),
            kind=draw(st.sampled_from(["source", "source", "tuned"])) if name else "source",
        )
        if name and name not in verdicts and draw(st.booleans()):
            low = draw(st.floats(0.5, 1.5))
            status = draw(st.sampled_from(list(Status)))
            # `faster` has a lower bound above 1, or is no verdict.
            low = max(low, 1.001) if status is Status.FASTER else low
            verdicts[name] = verdict(name, status, low, low + draw(st.floats(0.0, 0.3)))
        open_failures = [n for n in range(number) if n not in repairs.values()]
        if open_failures and draw(st.integers(0, 3)) == 0:
            repairs[number] = draw(st.sampled_from(open_failures))
    return History(INCUMBENT, proposals, verdicts, repairs)


widths = st.integers(1, 6)


class SearchContract:
    """What holds for every policy.

    Attributes:
        repairs: most follow-ups of one original proposal.
    """

    repairs: int = 0

    def search(self) -> Search:
        """A fresh policy, as a new process would make it."""
        raise NotImplementedError

    def ordinary(self, history: History, width: int) -> list[str]:
        """Parents of the slots that mend nothing."""
        return [p.candidate for p in self.search().parents(history, width) if p.repairs is None]

    def test_is_a_search(self) -> None:
        assert isinstance(self.search(), Search)

    def test_starts_from_the_incumbent(self) -> None:
        assert self.search().parents(History(INCUMBENT), 3) == (Parent(INCUMBENT),) * 3

    @_examples
    @given(histories(), widths)
    def test_one_parent_a_slot(self, history: History, width: int) -> None:
        assert len(self.search().parents(history, width)) == width

    @_examples
    @given(histories(), widths)
    def test_builds_on_what_is_sound(self, history: History, width: int) -> None:
        for digest in self.ordinary(history, width):
            if digest != INCUMBENT:
                assert history.verdicts[digest].status in SOUND
                assert digest in history.sources()

    @_examples
    @given(histories(), widths)
    def test_mends_what_failed_once_and_boundedly(self, history: History, width: int) -> None:
        mended = [p for p in self.search().parents(history, width) if p.repairs is not None]
        assert len({p.repairs for p in mended}) == len(mended)
        assert not mended or width == 1 or len(mended) < width
        for parent in mended:
            assert parent.repairs is not None
            failed = history.proposals[parent.repairs]
            assert failed.proposer in REPAIRERS
            assert parent.repairs not in history.repairs.values()
            assert follow_ups(history, parent.repairs) < self.repairs
            assert parent.candidate == (failed.candidate or failed.parent)
            if failed.candidate is not None:
                assert history.verdicts[failed.candidate].status in MENDABLE

    @_examples
    @given(histories(), widths, st.randoms(use_true_random=False))
    def test_depends_on_the_history_alone(self, history: History, width: int, chance) -> None:
        def shuffled(mapping: Mapping) -> dict:
            items = list(mapping.items())
            chance.shuffle(items)
            return dict(items)

        other = History(
            INCUMBENT,
            shuffled(history.proposals),
            shuffled(history.verdicts),
            shuffled(history.repairs),
        )
        first = self.search().parents(history, width)
        assert first == self.search().parents(history, width)
        assert first == self.search().parents(other, width)

    @_examples
    @given(histories(), widths)
    def test_unsound_verdicts_choose_no_parent(self, history: History, width: int) -> None:
        sound = {d: v for d, v in history.verdicts.items() if v.status in SOUND}
        fewer = dataclasses.replace(history, verdicts=sound)
        # What is mended takes slots away, so the whole order is compared by its beginning.
        left, right = self.ordinary(history, width), self.ordinary(fewer, width)
        assert set(left) <= set(right) or set(right) <= set(left)
        assert left[:1] == right[:1] or not left or not right

    @_examples
    @given(histories(), st.floats(0.0, 1.0))
    def test_noise_makes_nobody_better(self, history: History, share: float) -> None:
        (leader,) = self.ordinary(history, 1) or (INCUMBENT,)
        held = history.verdicts.get(leader)
        high = held.effect.high if held is not None and held.effect is not None else 1.0
        # A later one, of a higher ratio, whose interval reaches down to the leader's.
        low = min(high, 0.9 + share * (high - 0.9))
        status = Status.FASTER if low > 1 else Status.NO_GAIN
        found = self.ordinary(_with(history, verdict("new", status, low, high + 1)), 1)
        assert found in ([leader], [])

    @_examples
    @given(histories())
    def test_whoever_surely_beats_all_is_built_on(self, history: History) -> None:
        highest = max((v.effect.high for v in history.verdicts.values() if v.effect), default=1.0)
        low = max(highest, 1.0) + 0.01
        better = _with(history, verdict("new", Status.FASTER, low, low + 0.1))
        assert "new" in self.ordinary(better, 4)
        assert self.ordinary(better, 1) in (["new"], [])


def _with(history: History, found: Verdict) -> History:
    number = history.next_number
    return dataclasses.replace(
        history,
        proposals={**history.proposals, number: proposal(number, found.candidate)},
        verdicts={**history.verdicts, found.candidate: found},
    )


__all__ = ["SearchContract", "histories", "proposal", "verdict", "widths"]
