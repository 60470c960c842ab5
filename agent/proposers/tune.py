"""Search the declared space of the shipped module's `Config`: offline, one point a proposal.

A small space is walked whole, in a seeded order; a large one is searched by optuna's TPE, whose
study is rebuilt from the run's history each time, so that nothing is lost with the process.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

from agent.errors import ExhaustedError
from agent.proposers.protocol import Answer, Context, Tried
from agent.proposers.space import Point, Space, shipped_space
from evaluators.cells import CONFIG_FILE
from reference_kernels.problem import case_key

GRID_POINTS = 64
"""Spaces of up to this size are walked whole."""
TPE_TRIES = 200
FAILED_VALUE = 10.0
"""Objective of a point that was not timed: ln(candidate / baseline), so far slower."""


class TuneProposer:
    """Proposes `tuned` candidates: the incumbent's text with a config for the run's case.

    Args:
        space: the op's and implementation's names -> space; the library's own when left out.
    """

    name = "tune"

    def __init__(self, space: Callable[[str, str], Space] = shipped_space) -> None:
        self._space = space

    def propose(self, context: Context, *, number: int) -> Answer:
        """The next point that was not tried."""
        space = self._space(context.problem.name, context.implementation)
        keys = _entry_keys(context)
        tried = _tried(space, keys[0], context.history)
        skipped = {space.key(point) for point, _ in tried}
        default = space.default()
        if default is not None:
            # The default is the incumbent: there is nothing to learn from it.
            skipped.add(space.key(default))
        # Each earlier rank of this round takes the point that it would have taken alone.
        for _ in range(context.rank + 1):
            point = _next(space, skipped, tried, context.seed)
            skipped.add(space.key(point))
        text = json.dumps(dict.fromkeys(keys, point), indent=2, sort_keys=True) + "\n"
        fields = ", ".join(f"{name}={value!r}" for name, value in point.items())
        return Answer(
            files={
                context.module_file: context.incumbent_source,
                CONFIG_FILE: text,
            },
            kind="tuned",
            rationale=f"config {fields} for {context.case.name}",
        )


def _entry_keys(context: Context) -> list[str]:
    """Shape keys of the case's calls, one an entry point that the module offers."""
    offered = context.problem.implementation(context.implementation).entries
    return [
        case_key(context.problem, entry.name, context.case)
        for entry in context.problem.entries
        if entry.name in offered
    ]


def _tried(space: Space, key: str, history: tuple[Tried, ...]) -> list[tuple[Point, float]]:
    """Points of earlier proposals for this shape, with their objectives."""
    found = []
    for tried in history:
        if tried.candidate is None or CONFIG_FILE not in tried.candidate.files:
            continue
        point = json.loads(tried.candidate.files[CONFIG_FILE]).get(key)
        try:
            space.key(point or {})
        except (KeyError, ValueError):
            continue
        ratio = tried.judgement.ratio if tried.judgement is not None else None
        found.append((point, -math.log(ratio) if ratio else FAILED_VALUE))
    return found


def _next(
    space: Space,
    skipped: set[tuple[int, ...]],
    tried: list[tuple[Point, float]],
    seed: int,
) -> dict[str, Any]:
    """A valid point that is not among the skipped.

    Raises:
        ExhaustedError: there is none.
    """
    if space.size <= GRID_POINTS:
        points = list(space.points())
        random.Random(seed).shuffle(points)
        for point in points:
            if space.key(point) not in skipped and space.valid(point):
                return point
        raise ExhaustedError("every point of the config's space was tried")
    return _tpe(space, skipped, tried, seed)


def _tpe(
    space: Space,
    skipped: set[tuple[int, ...]],
    tried: list[tuple[Point, float]],
    seed: int,
) -> dict[str, Any]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed + len(skipped), n_startup_trials=8)
    study = optuna.create_study(sampler=sampler)
    # Indices, not values: optuna then takes any choice, and says nothing about its type.
    distributions: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.CategoricalDistribution(tuple(range(len(values))))
        for name, values in space.choices.items()
    }
    for point, value in tried:
        indices = dict(zip(space.choices, space.key(point), strict=True))
        study.add_trial(
            optuna.trial.create_trial(params=indices, distributions=distributions, value=value)
        )
    for _ in range(TPE_TRIES):
        trial = study.ask(distributions)
        key = tuple(int(trial.params[name]) for name in space.choices)
        point = {
            name: values[index]
            for (name, values), index in zip(space.choices.items(), key, strict=True)
        }
        if key not in skipped and space.valid(point):
            return point
        # Tell it to look elsewhere.
        study.tell(trial, FAILED_VALUE)
    raise ExhaustedError(f"no untried valid point in {TPE_TRIES} draws")
