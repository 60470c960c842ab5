"""Proposers by name."""

from __future__ import annotations

from collections.abc import Callable

from agent.budget import Meter
from agent.errors import SettingsError
from agent.models import LiteLLMModel, Options, Prices
from agent.proposers.llm import LlmProposer
from agent.proposers.patch import PatchProposer
from agent.proposers.protocol import Proposer
from agent.proposers.replay import ReplayProposer
from agent.proposers.rewrite import RewriteProposer
from agent.proposers.tune import TuneProposer
from agent.recording import load
from agent.settings import Settings
from runs.records import Run
from runs.store import RunStore

Factory = Callable[[Settings, RunStore, Run, Meter], Proposer]


def models_of(settings: Settings) -> tuple[LiteLLMModel, ...]:
    """The models that the settings name, each with its fallbacks."""
    options = Options(
        base_url=settings.base_url,
        temperature=settings.temperature,
        reasoning_effort=settings.reasoning_effort,
        max_tokens=settings.max_tokens,
        attempt_s=settings.request_timeout_s,
        retries=settings.retries,
        prices=_prices(settings),
        prompt_caching=settings.prompt_caching,
        context_tokens=settings.context_tokens,
    )
    return tuple(
        LiteLLMModel(name, fallbacks=settings.fallbacks, options=options)
        for name in settings.models
    )


def _prices(settings: Settings) -> Prices | None:
    if settings.price_in is None or settings.price_out is None:
        return None
    cached = settings.price_in if settings.price_cached is None else settings.price_cached
    return Prices(settings.price_in, settings.price_out, cached)


def _llm(settings: Settings, store: RunStore, run: Run, meter: Meter) -> Proposer:
    models = models_of(settings)
    if not models:
        raise SettingsError("the llm proposer needs a model")
    nowhere = dict.fromkeys(name for model in models for name in model.unreachable())
    if nowhere:
        raise SettingsError(
            f"no provider is known for {', '.join(nowhere)}: name it as provider/model, or give"
            " base_url"
        )
    return LlmProposer(models, store, run, meter.wall_left_s)


def _replay(settings: Settings, store: RunStore, run: Run, meter: Meter) -> Proposer:
    if settings.recording is None:
        raise SettingsError("the replay proposer needs a recording: see `kernelwright replay`")
    return ReplayProposer(load(store.blobs.get(settings.recording)))


FACTORIES: dict[str, Factory] = {
    "llm": _llm,
    "rewrite": lambda settings, *_: RewriteProposer(),
    "tune": lambda settings, *_: TuneProposer(),
    "patch": lambda settings, *_: PatchProposer(settings.patches),
    "replay": _replay,
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
