"""`kernelwright optimize`: let the proposers loose on one op, within hard caps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import inputs, wiring
from agent.cli.failures import CliError
from agent.cli.options import (
    AllowUnsafe,
    Backend,
    BackendName,
    BudgetCandidates,
    BudgetDeviceS,
    BudgetDollars,
    BudgetTokens,
    BudgetWallS,
    Debug,
    Home,
    Json,
    Op,
    Target,
)
from agent.cli.outcome import finish, watched

if TYPE_CHECKING:
    from agent.settings import Settings


def optimize(
    op: Op,
    target: Target = "cpu",
    case: Annotated[
        str | None,
        typer.Option(help="Case that steers the search. Default: the op's primary one."),
    ] = None,
    implementation: Annotated[
        str | None, typer.Option(help="Module to improve. Default: the target's usual one.")
    ] = None,
    proposer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:WEIGHT]",
            help="Who proposes: rewrite, tune, llm, patch. Repeat for several; a weight says how "
            "often each is asked. Default: rewrite:2 and tune:1; patch alone with --patch.",
        ),
    ] = None,
    patch: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Full module text for the patch proposer. Repeatable."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            envvar="KERNELWRIGHT_MODEL", help="Model of the llm proposer, as litellm names it."
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            envvar="KERNELWRIGHT_BASE_URL", help="Address of an OpenAI-compatible server."
        ),
    ] = None,
    price_in: Annotated[
        float | None,
        typer.Option(min=0, help="Dollars per million tokens read, if litellm has no price."),
    ] = None,
    price_out: Annotated[
        float | None,
        typer.Option(min=0, help="Dollars per million tokens written, if litellm has no price."),
    ] = None,
    budget_dollars: BudgetDollars = None,
    budget_tokens: BudgetTokens = None,
    budget_device_s: BudgetDeviceS = None,
    budget_wall_s: BudgetWallS = None,
    budget_candidates: BudgetCandidates = None,
    seed: Annotated[int, typer.Option(help="Seeds the search, never the judge.")] = 0,
    width: Annotated[int, typer.Option(min=1, max=64, help="Proposals a round.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, max=10_000, help="Most rounds.")] = 8,
    patience: Annotated[
        int, typer.Option(min=1, help="Rounds without progress after which it stops.")
    ] = 3,
    confirm: Annotated[
        int, typer.Option(min=0, help="How many candidates are judged at the promotion tier.")
    ] = 1,
    backend: Backend = BackendName.DOCKER,
    allow_unsafe: AllowUnsafe = False,
    home: Home = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Let proposers improve an op.

    They propose variants of an implementation; each is built, judged and ranked. Ends with the best
    candidates and what to do next; 0 when one may be promoted, 1 when none may.
    """
    problem = inputs.problem(op, case=case, implementation=implementation, target=target)
    from runs.records import Budget

    settings = _settings(
        op=op,
        target=target,
        case=case,
        implementation=implementation or "",
        proposers=_shares(proposer, patch),
        patches=tuple(inputs.source(path) for path in patch or ()),
        model=model,
        base_url=base_url,
        price_in=price_in,
        price_out=price_out,
        budget=Budget(
            dollars=budget_dollars,
            tokens=budget_tokens,
            device_s=budget_device_s,
            wall_s=budget_wall_s,
            candidates=budget_candidates,
        ),
        seed=seed,
        width=width,
        rounds=rounds,
        patience=patience,
        promote=confirm,
    )
    inputs.problem(op, implementation=settings.resolved_implementation)
    from agent.proposers.registry import check_names
    from agent.run import start, steering_case

    check_names(settings)
    steering_case(problem, settings)
    refuse_unsafe({share.name for share in settings.proposers}, backend, allow_unsafe)
    judge = wiring.evaluator(backend)
    store = wiring.store(home)

    with watched() as reporter:
        result = start(settings, store, judge, wiring.checkout(), on_event=reporter)
    return finish(store, result, as_json=json)


def refuse_unsafe(proposers: set[str], backend: BackendName, allowed: bool) -> None:
    """A model's text runs in containers only, unless a person says otherwise."""
    if "llm" in proposers and backend is BackendName.SUBPROCESS and not allowed:
        raise CliError(
            "usage",
            "--backend subprocess would run model-written code as you, with no boundary: "
            "use --backend docker, or add --allow-unsafe",
        )


def _shares(proposers: list[str] | None, patch: list[Path] | None) -> object:
    from agent.settings import Settings, Share

    if not proposers:
        return (Share(name="patch"),) if patch else Settings.model_fields["proposers"].default
    shares = [share for text in proposers for share in Settings.parse_proposers(text)]
    return tuple(shares)


def _settings(**values: object) -> Settings:
    import pydantic

    from agent.settings import Settings

    try:
        return Settings.model_validate(values)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise CliError("usage", f"{where}: {message}" if where else message) from None
