"""Whether settings fit the op and the target, before anything is stored or spent."""

from __future__ import annotations

from agent import search
from agent.errors import SettingsError
from agent.proposers import registry
from agent.search import Search
from agent.settings import Settings
from agent.target_facts import describe
from evaluators import targets
from evaluators.cells import primary_case
from reference_kernels.problem import Case, Problem


def steering_case(problem: Problem, settings: Settings) -> Case:
    """The case that steers the search: the named one, else the target's primary one.

    Raises:
        SettingsError: there is none, or it is held out.
    """
    if settings.case is not None:
        try:
            case = problem.case(settings.case)
        except KeyError:
            shown = ", ".join(c.name for c in problem.cases if "holdout" not in c.tags)
            raise SettingsError(
                f"{problem.name} has no case {settings.case!r}; there are: {shown}"
            ) from None
        if "holdout" in case.tags:
            raise SettingsError(f"case {case.name!r} is held out: no search may see it")
        return case
    try:
        return primary_case(problem, targets.target(settings.target))
    except KeyError:
        raise SettingsError(f"{problem.name} has no case to steer by; name one") from None


def check(settings: Settings, problem: Problem, implementation: str) -> None:
    """Refuse settings that cannot be kept.

    Raises:
        SettingsError: an unknown name, or a cap that cannot hold.
        UnknownTargetError: no such target.
    """
    registry.check_names(settings)
    try:
        problem.implementation(implementation)
    except KeyError:
        shown = ", ".join(i.name for i in problem.implementations)
        raise SettingsError(
            f"{problem.name} has no implementation {implementation!r}; there are: {shown}"
        ) from None
    describe(settings.target)
    if settings.budget.dollars is not None and not price_known(settings):
        named = ", ".join((*settings.models, *settings.fallbacks))
        raise SettingsError(
            f"nobody knows the price of every model of {named}, so a cap on dollars cannot hold:"
            " give price_in and price_out (0 for a server of your own), or leave dollars uncapped"
        )


def price_known(settings: Settings) -> bool:
    if all(share.name != "llm" for share in settings.proposers):
        return True
    return all(model.price_known() for model in registry.models_of(settings))


def policy(settings: Settings) -> Search:
    """The search policy that the settings name."""
    chosen = search.Beam(settings.beam) if settings.search == "beam" else search.Greedy()
    return search.Repairing(chosen, settings.repairs)
