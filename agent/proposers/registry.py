"""Proposers by name."""

from __future__ import annotations

from collections.abc import Callable

from agent.budget import Meter
from agent.errors import SettingsError
from agent.models import ChatModel, LiteLLMModel
from agent.proposers.llm import LlmProposer
from agent.proposers.patch import PatchProposer
from agent.proposers.protocol import Proposer
from agent.proposers.rewrite import RewriteProposer
from agent.proposers.tune import TuneProposer
from agent.settings import Settings
from runs.records import Run
from runs.store import RunStore

Factory = Callable[[Settings, RunStore, Run, Meter], Proposer]


def model_of(settings: Settings) -> ChatModel | None:
    """The model that the settings name, if they name one."""
    if settings.model is None:
        return None
    return LiteLLMModel(
        settings.model,
        base_url=settings.base_url,
        temperature=settings.temperature,
        reasoning_effort=settings.reasoning_effort,
        max_tokens=settings.max_tokens,
        timeout_s=settings.request_timeout_s,
        retries=settings.retries,
        price_in=settings.price_in,
        price_out=settings.price_out,
    )


def _llm(settings: Settings, store: RunStore, run: Run, meter: Meter) -> Proposer:
    model = model_of(settings)
    if model is None:
        raise SettingsError("the llm proposer needs a model")
    return LlmProposer(model, store, run, meter.wall_left_s)


FACTORIES: dict[str, Factory] = {
    "llm": _llm,
    "rewrite": lambda settings, *_: RewriteProposer(),
    "tune": lambda settings, *_: TuneProposer(),
    "patch": lambda settings, *_: PatchProposer(settings.patches),
}


def names() -> tuple[str, ...]:
    return tuple(FACTORIES)


def check_names(settings: Settings) -> None:
    """Refuse unknown proposers.

    Raises:
        SettingsError: the message lists those there are.
    """
    unknown = [s.name for s in settings.proposers if s.name not in FACTORIES]
    if unknown:
        raise SettingsError(f"no proposer {', '.join(unknown)}; there are: {', '.join(FACTORIES)}")


def make(settings: Settings, store: RunStore, run: Run, meter: Meter) -> dict[str, Proposer]:
    """The proposers that the settings name."""
    check_names(settings)
    return {s.name: FACTORIES[s.name](settings, store, run, meter) for s in settings.proposers}
