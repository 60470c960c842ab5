"""Raw samples: kept one by one, found again by what regression tracking asks for."""

from __future__ import annotations

import pytest

from runs.samples import Series, series_of


@pytest.fixture
def judged(store, make):
    candidate = make.candidate()
    store.record_candidate(candidate)
    verdict = make.verdict(candidate)
    store.record_outcome(
        make.outcome(candidate, verdict), incumbent=make.candidate("old"), commit="c1"
    )
    return verdict


def test_every_sample_of_a_verdict_is_kept(store, judged, make):
    stored = store.samples.series(clock=None)
    incumbent = make.candidate("old").digest
    assert stored == series_of(judged, incumbent=incumbent, commit="c1")
    (baseline,) = store.samples.series(role="baseline")
    (candidate,) = store.samples.series(role="candidate")
    (control,) = store.samples.series(role="control")
    assert tuple(zip(baseline.durations_ns, candidate.durations_ns, strict=True)) == (
        judged.timings[0].pairs_ns
    )
    assert control.durations_ns == (130, 131, 129, 130)
    assert baseline.subject == make.candidate("old").digest
    assert candidate.subject == judged.candidate
    assert candidate.commit == "c1"
    assert candidate.environment == judged.environment
    (wall,) = store.samples.series(role="candidate", clock="wall")
    assert wall.durations_ns == (200,)


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({"op": "toy"}, 3),
        ({"op": "other"}, 0),
        ({"entry": "forward", "case": "tiny"}, 3),
        ({"case": "large"}, 0),
        ({"toolchain": "a" * 64, "machine": "bench-1"}, 3),
        ({"toolchain": "b" * 64}, 0),
        ({"since": "2026-11-30", "until": "2026-12-01"}, 3),
        ({"since": "2026-12-01"}, 0),
        ({"until": "2026-11-30T23:20:00+00:00"}, 0),
        ({"target": "cpu", "implementation": "xla"}, 3),
    ],
)
def test_series_are_found_by(store, judged, wanted, count):
    assert len(store.samples.series(**wanted)) == count


def test_measurements_without_a_verdict(store, make):
    series = Series(
        op="toy",
        implementation="xla",
        target="cpu",
        entry="forward",
        case="tiny",
        role="baseline",
        durations_ns=(3, 1, 2),
        environment=make.environment(),
        taken_at="2026-12-02T00:00:00+00:00",
    )
    store.samples.record([series])
    store.samples.record([series])
    assert store.samples.series() == (series,)


def test_no_environment_no_series(make):
    candidate = make.candidate()
    assert series_of(make.verdict(candidate, environment=None)) == ()
