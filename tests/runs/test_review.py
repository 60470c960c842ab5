"""Ranking, diffs, decisions, summaries and traces."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.diffs import candidate_diff, text_diff
from runs.errors import NotPromotableError, UnknownRunError, UsageError
from runs.queries import moved_packages, run_summaries, stale_promotions
from runs.ranking import ranked
from runs.review import defer, reject
from runs.traces import export_trace

OLD = "VALUE = 1\n"
lines = st.lists(
    st.sampled_from(["a\n", "b\n", "c\x0c\n", "\n", "\u2028\n", "d\r\n", "e"]), max_size=8
)


@pytest.fixture
def judged_run(store, make):
    """Candidates by name, each with the verdicts that its name says."""
    incumbent = make.candidate(OLD)
    root = store.record_candidate(incumbent)
    store.start_run(make.run())
    verdicts = {
        "wrong": [lambda c: make.failed(c, "wrong")],
        "screened": [lambda c: make.screened(c, 1.9)],
        "small": [lambda c: make.screened(c, 1.5), lambda c: make.verdict(c, low=1.1)],
        "large": [lambda c: make.verdict(c, low=1.3), lambda c: make.screened(c, 1.05)],
        "unjudged": [],
        "even": [lambda c: make.screened(c, 0.99, status="no_gain")],
        "demoted": [
            lambda c: make.screened(c, 2.0),
            lambda c: make.verdict(c, low=0.9, status="slower"),
        ],
    }
    candidates = {}
    for number, (name, makers) in enumerate(verdicts.items()):
        candidate = make.candidate(f"VALUE = {name!r}\n")
        digest = store.record_candidate(candidate)
        candidates[name] = digest
        parent = candidates["screened"] if name == "unjudged" else root
        store.record_proposal(make.proposal(number, digest, parent=parent, rationale=name))
        for maker in makers:
            store.record_outcome(make.outcome(candidate, maker(candidate)), incumbent=incumbent)
    store.record_proposal(make.proposal(98, candidates["large"], rationale="again"))
    store.record_proposal(make.proposal(99, None))
    return candidates


def test_ranking(store, judged_run, make):
    rows = ranked(store, make.run().id)
    assert [row.rationale for row in rows] == [
        "large",
        "small",
        "screened",
        "even",
        "demoted",
        "wrong",
        "unjudged",
    ]
    assert [row.rank for row in rows] == list(range(1, 8))
    best, last = rows[0], rows[-1]
    assert (best.low, best.tier, best.promotable) == (1.3, "promote", True)
    assert best.verdict == store.verdicts(candidate=best.candidate, tier="promote")[0].digest
    assert "-VALUE = 1\n+VALUE = 'large'\n" in best.diff
    assert (last.status, last.verdict) == (None, None)
    assert "-VALUE = 1\n+VALUE = 'unjudged'\n" in last.diff
    with pytest.raises(UnknownRunError):
        ranked(store, "nothing")


def test_decisions_show_in_the_ranking(store, judged_run, make, now):
    best, small, *_ = ranked(store, make.run().id)
    promotion = reject(store, best.verdict, reviewer="ann", reason="too clever", now=now)
    assert promotion.run == make.run().id
    assert promotion.patch == best.diff
    defer(store, small.verdict, reviewer="ann", now=now)
    decisions = [row.decision for row in ranked(store, make.run().id)]
    assert decisions[:3] == ["rejected", "deferred", None]
    with pytest.raises(UsageError, match="reason"):
        reject(store, best.verdict, reviewer="ann", reason=" ", now=now)
    with pytest.raises(UsageError, match="reviewer"):
        defer(store, best.verdict, reviewer="", now=now)
    wrong = store.verdicts(status="wrong")[0]
    with pytest.raises(NotPromotableError, match="no effect"):
        defer(store, wrong.digest, reviewer="ann", now=now)


def test_summary(store, judged_run, make):
    store.ledger.charge(make.run().id, "x", tokens=7)
    store.start_run(make.run("20270101-000000-ffff", started_at="2027-01-01T00:00:00+00:00"))
    newest, summary = run_summaries(store)
    assert (newest.proposals, newest.best) == (0, None)
    assert (summary.proposals, summary.failures, summary.spent.tokens) == (9, 1, 7)
    assert summary.statuses == {"wrong": 1, "faster": 3, "no_gain": 1, "slower": 1}
    assert summary.best.effect.low == 1.3


def test_moved_packages():
    assert moved_packages({"jax": "1", "jaxlib": "1"}, {"jax": "1", "jaxlib": "1"}) == ()
    assert moved_packages({"jax": "1", "jaxlib": "1"}, {"jax": "2", "jaxlib": "1"}) == (
        "jax was 1 and is 2",
    )
    assert len(moved_packages({}, {"jax": "2", "jaxlib": "1"})) == 2
    both = {"jax": "1", "jaxlib": "1"}
    assert moved_packages({**both, "libtpu": "1"}, both) == ()
    assert moved_packages({**both, "triton": "1"}, {**both, "triton": "2"}) != ()


def test_nothing_is_stale_without_promotions(store):
    assert stale_promotions(store) == ()


@settings(max_examples=30, deadline=None)
@given(before=lines, after=lines)
def test_git_applies_our_diffs(tmp_path_factory, before, after):
    old, new = "".join(before), "".join(after)
    folder = tmp_path_factory.mktemp("apply")
    (folder / "f").write_bytes(old.encode())
    diff = text_diff(old, new, "f")
    assert bool(diff) == (old != new)
    if diff:
        subprocess.run(
            ["git", "apply", "--unsafe-paths", "--whitespace=nowarn", "-"],
            cwd=folder,
            input=diff.encode(),
            check=True,
        )
    assert (folder / "f").read_bytes() == new.encode()


def test_diff_of_new_and_removed_files():
    assert text_diff(None, "a\n", "f").startswith("--- /dev/null\n+++ b/f\n")
    assert text_diff("a\n", None, "f").startswith("--- a/f\n+++ /dev/null\n")


def test_diff_of_a_config_shows_the_shapes_it_names(make):
    incumbent = make.candidate(OLD, {"k1": {"block": 8}, "k2": {"block": 8}})
    diff = candidate_diff(incumbent, make.candidate(OLD, {"k1": {"block": 16}}))
    assert '-    "block": 8\n+    "block": 16\n' in diff
    assert "k2" not in diff
    assert "xla.py" not in diff
    assert "not JSON" in candidate_diff(
        incumbent,
        incumbent.model_copy(update={"files": {"xla.py": OLD, "config.json": "{"}}),
    )


def test_trace_lies_where_xprof_looks(store, tmp_path):
    digest = store.blobs.put(b"xplane")
    path = export_trace(store, digest, tmp_path / "t", run_name="r1", host="h1")
    assert path == tmp_path / "t/plugins/profile/r1/h1.xplane.pb"
    assert path.read_bytes() == b"xplane"
    with pytest.raises(UsageError, match="file name"):
        export_trace(store, digest, tmp_path, run_name="../r1")
