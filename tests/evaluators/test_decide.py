"""Every way to a status, from reports as a judging process writes them."""

import numpy as np
import pytest
from pydantic import ValidationError

from evaluators.cells import Cell
from evaluators.decide import Decision, decide
from evaluators.inside.protocol import (
    CellSamples,
    Comparison,
    JudgeReport,
    ProgramFacts,
    Refusal,
    Repeat,
)
from evaluators.policy import Policy
from evaluators.verdict import Effect, ErrorCell, Gate, Status, TimingCell, Verdict

CELL = Cell("forward", "some-case", timed=True)
OTHER = Cell("decode", "some-case", timed=True)


def samples(ratio: float, *, cell: Cell = CELL, seed: int = 0, **changes: object) -> CellSamples:
    """60 pairs of a 1 ms kernel with 1 % noise."""
    rng = np.random.default_rng(seed)

    def times(scale: float, count: int) -> list[int]:
        return [int(1e6 * scale * np.exp(0.01 * rng.standard_normal())) for _ in range(count)]

    fields = {
        "cell": cell.id,
        "baseline": "xla",
        "pairs_ns": tuple(zip(times(1, 60), times(1 / ratio, 60), strict=True)),
        "control_pairs_ns": tuple(zip(times(1, 60), times(1, 60), strict=True)),
        "wall_pairs_ns": tuple(zip(times(1, 20), times(1 / ratio, 20), strict=True)),
        "roofline_ns": 1e5,
        "trace": "trace",
    }
    return CellSamples(**{**fields, **changes})  # type: ignore[arg-type]


def report(*timed: CellSamples, **changes: object) -> JudgeReport:
    fields = {
        "programs": (
            ProgramFacts(
                cell=CELL.id,
                digest="d",
                operations={"stablehlo.add": 1},
                custom_calls=(),
                constant_bytes=0,
                size_bytes=100,
            ),
        ),
        "comparisons": (comparison(0.5),),
        "repeats": (repeat("same"),),
        "samples": timed,
        "finished": True,
    }
    return JudgeReport(**{**fields, **changes})  # type: ignore[arg-type]


def comparison(error: float, **changes: object) -> Comparison:
    fields = {
        "cell": CELL.id,
        "distribution": "typical",
        "leaf": "[0]",
        "kind": "total",
        "error": error,
        "allowed": 1.0,
    }
    return Comparison(**{**fields, **changes})  # type: ignore[arg-type]


def repeat(*digests: str, seed: int = 7, modified: bool = False) -> Repeat:
    return Repeat(cell=CELL.id, seed=seed, digests=digests, modified_inputs=modified)


def decided(*reports: JudgeReport, measured: bool = True, count: int = 1) -> Decision:
    return decide(reports, (CELL, OTHER), Policy(), candidates_measured=count, measured=measured)


def failed(decision: Decision) -> list[str]:
    return [gate.name for gate in decision.gates if not gate.passed]


def test_a_gain_is_faster() -> None:
    found = decided(report(samples(1.2)))
    assert found.status is Status.FASTER
    assert found.effect is not None
    assert found.effect.low > 1.15
    assert failed(found) == []


@pytest.mark.parametrize(
    ("ratio", "status"), [(1.0, Status.NO_GAIN), (1.02, Status.NO_GAIN), (0.8, Status.SLOWER)]
)
def test_less_than_the_minimum_gain_is_not(ratio: float, status: Status) -> None:
    assert decided(report(samples(ratio))).status is status


def test_a_gain_must_survive_its_confirmation() -> None:
    assert decided(report(samples(1.2)), report(samples(1.2, seed=1))).status is Status.FASTER
    found = decided(report(samples(1.2)), report(samples(1.0, seed=1)))
    assert found.status is Status.NO_GAIN


def test_the_more_were_measured_the_more_it_takes() -> None:
    noisy = samples(1.05, seed=3)
    few = decided(report(noisy), count=1).effect
    many = decided(report(noisy), count=1000).effect
    assert few is not None
    assert many is not None
    assert many.low < few.low
    assert many.confidence > few.confidence


def test_one_cell_worse_spoils_the_gain_of_another() -> None:
    found = decided(report(samples(2.0), samples(0.9, cell=OTHER, seed=1)))
    assert found.status is Status.NO_GAIN
    assert "decode" in found.reason


def test_a_noisy_machine_promotes_nothing() -> None:
    drift = tuple((1_000_000, 900_000) for _ in range(60))
    found = decided(report(samples(1.2, control_pairs_ns=drift)))
    assert found.status is Status.NO_GAIN
    assert "control" in failed(found)


def test_faster_than_physics_is_suspect() -> None:
    found = decided(report(samples(1.2, roofline_ns=5e6)))
    assert found.status is Status.SUSPECT
    assert failed(found) == ["physics"]


def test_a_profile_that_the_wall_clock_denies_is_suspect() -> None:
    same = tuple((1_000_000, 1_000_000 + i) for i in range(20))
    assert decided(report(samples(3.0, wall_pairs_ns=same))).status is Status.SUSPECT


def test_a_refused_program_is_rejected() -> None:
    refusal = Refusal(cell=CELL.id, rule="custom_call", detail="no")
    assert decided(report(refusals=(refusal,), comparisons=())).status is Status.REJECTED


def test_another_signature_is_wrong() -> None:
    mismatch = Refusal(cell=CELL.id, rule="signature", detail="a tuple")
    assert decided(report(mismatches=(mismatch,), comparisons=())).status is Status.WRONG


def test_a_failed_comparison_is_wrong_also_of_a_timed_call() -> None:
    assert decided(report(comparisons=(comparison(2.0),))).status is Status.WRONG
    late = (comparison(0.5), comparison(1e300, timed_call=True))
    found = decided(report(samples(1.2), comparisons=late))
    assert found.status is Status.WRONG
    assert "timed call" in found.reason


def test_writing_into_arguments_is_suspect() -> None:
    found = decided(report(samples(1.2), repeats=(repeat("same", modified=True),)))
    assert found.status is Status.SUSPECT


def test_two_results_for_one_input_are_unstable() -> None:
    assert decided(report(repeats=(repeat("one", "two"),))).status is Status.UNSTABLE
    first, second = report(samples(1.2)), report(samples(1.2), repeats=(repeat("other"),))
    assert decided(first, second).status is Status.UNSTABLE
    second = report(samples(1.2), repeats=(repeat("other", seed=8),))
    assert decided(first, second).status is Status.FASTER


def test_a_result_that_ignores_an_input_is_rejected() -> None:
    refusal = Refusal(cell=CELL.id, rule="dependence", detail="result 0 ignores x")
    assert decided(report(samples(2.0), independent=(refusal,))).status is Status.REJECTED


@pytest.mark.parametrize(
    ("operations", "flops", "status"),
    [
        ({"stablehlo.add": 1}, 20.0, Status.REJECTED),
        ({"stablehlo.add": 1}, 30.0, Status.FASTER),
        ({"stablehlo.while": 1}, 1.0, Status.FASTER),
    ],
)
def test_too_little_work_is_rejected_where_it_can_be_counted(
    operations: dict[str, int], flops: float, status: Status
) -> None:
    program = (
        report()
        .programs[0]
        .model_copy(update={"operations": operations, "flops": flops, "least_operations": 100})
    )
    assert decided(report(samples(1.2), programs=(program,))).status is status


def test_without_the_device_it_is_unmeasured() -> None:
    assert decided(report(), measured=False).status is Status.UNMEASURED


def verdict(status: Status, **changes: object) -> Verdict:
    decision = decided(report(samples(1.2)))
    fields = {
        "candidate": "c",
        "builds": (),
        "op": "op",
        "implementation": "xla",
        "target": "cpu",
        "tier": "promote",
        "trust": "artefact",
        "status": status,
        "reason": "",
        "gates": decision.gates,
        "errors": decision.errors,
        "timings": decision.timings,
        "effect": decision.effect,
        "judged_at": "2026-01-01T00:00:00+00:00",
    }
    return Verdict(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_verdict_round_trips_and_names_itself() -> None:
    found = verdict(Status.FASTER)
    assert Verdict.model_validate_json(found.model_dump_json()).digest == found.digest
    assert found.promotable


@pytest.mark.parametrize(
    "changes",
    [
        {"timings": ()},
        {"effect": None},
        {"errors": ()},
        {"trust": "process"},
        {"gates": (Gate(name="numerics", passed=False),)},
        {"effect": Effect(ratio=1.2, low=0.9, high=1.4, confidence=0.95, candidates_measured=1)},
        {
            "errors": (
                ErrorCell(
                    entry="forward",
                    case="c",
                    distribution="d",
                    leaf="",
                    kind="total",
                    error=2,
                    allowed=1,
                ),
            )
        },
    ],
)
def test_faster_cannot_be_written_without_what_it_takes(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        verdict(Status.FASTER, **changes)


def test_unmeasured_holds_no_times_and_no_gain_holds_some() -> None:
    with pytest.raises(ValidationError):
        verdict(Status.UNMEASURED)
    with pytest.raises(ValidationError):
        verdict(Status.NO_GAIN, timings=())
    assert isinstance(verdict(Status.NO_GAIN).timings[0], TimingCell)
    assert not verdict(Status.NO_GAIN).promotable
    assert not verdict(Status.FASTER, tier="screen").promotable
