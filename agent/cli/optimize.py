"""`kernelwright optimize`: let the proposers loose on one op, within hard caps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agent.cli import inputs, offers, wiring
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
    Quiet,
    Target,
)
from agent.cli.outcome import finish, watched
from agent.cli.standing import starting

if TYPE_CHECKING:
    from agent.settings import Settings


def optimize(
    op: Op,
    target: Target = "cpu",
    case: Annotated[
        str | None,
        typer.Option(
            help="Case that steers the search. Default: the op's primary one.",
            autocompletion=offers.cases,
        ),
    ] = None,
    implementation: Annotated[
        str | None,
        typer.Option(
            help="Module to improve. Default: the target's usual one.",
            autocompletion=offers.implementations,
        ),
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
        list[str] | None,
        typer.Option(
            envvar="KERNELWRIGHT_MODEL",
            help="Model of the llm proposer, as litellm names it. Several, by repetition or with "
            "commas, are asked in turn.",
        ),
    ] = None,
    fallback: Annotated[
        list[str] | None,
        typer.Option(help="Model to ask when the one whose turn it is fails. Repeatable."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            envvar="KERNELWRIGHT_BASE_URL", help="Address of an OpenAI-compatible server."
        ),
    ] = None,
    reasoning_effort: Annotated[
        Literal["minimal", "low", "medium", "high"] | None,
        typer.Option(help="How long a model thinks, where it can be told.", show_default=False),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0, max=2, help="Of a model's choices, where it has one.", show_default=False
        ),
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Cap on one reply, the model's reasoning included.")
    ] = 16_000,
    context_tokens: Annotated[
        int | None,
        typer.Option(
            min=1024, help="Window of a model that litellm does not know.", show_default=False
        ),
    ] = None,
    request_timeout: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Time limit of one try at a request.")
    ] = 600.0,
    retries: Annotated[
        int, typer.Option(min=0, max=10, help="Further tries of a request, with each model.")
    ] = 2,
    prompt_caching: Annotated[
        bool,
        typer.Option(
            "--prompt-caching/--no-prompt-caching",
            help="Have the provider keep the part that all prompts share.",
        ),
    ] = True,
    price_in: Annotated[
        float | None,
        typer.Option(min=0, help="Dollars per million tokens read, if litellm has no price."),
    ] = None,
    price_out: Annotated[
        float | None,
        typer.Option(min=0, help="Dollars per million tokens written, if litellm has no price."),
    ] = None,
    price_cached: Annotated[
        float | None,
        typer.Option(min=0, help="The same for tokens that the provider had kept."),
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
    stop_at_roofline: Annotated[
        float,
        typer.Option(
            min=0, metavar="FRACTION", help="Fraction of the speed of light at which it stops."
        ),
    ] = 0.95,
    search: Annotated[
        Literal["greedy", "beam"],
        typer.Option(help="Build on the one best candidate, or on the best few."),
    ] = "greedy",
    beam: Annotated[int, typer.Option(min=1, max=64, help="How many those few are.")] = 3,
    repairs: Annotated[
        int,
        typer.Option(min=0, max=10, help="Most tries at mending what failed of a model's."),
    ] = 1,
    confirm: Annotated[
        int, typer.Option(min=0, help="How many candidates are judged at the promotion tier.")
    ] = 1,
    backend: Backend = BackendName.DOCKER,
    allow_unsafe: AllowUnsafe = False,
    home: Home = None,
    quiet: Quiet = False,
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
        models=_names(model),
        fallbacks=_names(fallback),
        base_url=base_url or None,
        reasoning_effort=reasoning_effort,
        temperature=temperature,
        max_tokens=max_tokens,
        context_tokens=context_tokens,
        request_timeout_s=request_timeout,
        retries=retries,
        prompt_caching=prompt_caching,
        price_in=price_in,
        price_out=price_out,
        price_cached=price_cached,
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
        stop_at_speed_of_light=stop_at_roofline,
        search=search,
        beam=beam,
        repairs=repairs,
    )
    inputs.problem(op, implementation=settings.resolved_implementation)
    from agent.proposers.registry import check_names
    from agent.run import start, steering_case

    check_names(settings)
    steering_case(problem, settings)
    refuse_unsafe({share.name for share in settings.proposers}, backend, allow_unsafe)
    # Before the store is opened: without a backend nothing is left behind.
    with wiring.screening(backend) as judge:
        store = wiring.store(home)
        standing = starting(store, width=width, rounds=rounds, budget=settings.budget)
        with watched(standing, quiet=quiet) as reporter:
            result = start(settings, store, judge, wiring.checkout(), on_event=reporter)
    return finish(store, result, as_json=json)


def refuse_unsafe(proposers: set[str], backend: BackendName, allowed: bool) -> None:
    """A model's text runs in containers only, unless a person says otherwise."""
    # A replay repeats what a model wrote.
    if proposers & {"llm", "replay"} and backend is BackendName.SUBPROCESS and not allowed:
        raise CliError(
            "usage",
            "--backend subprocess would run model-written code as you, with no boundary: "
            "use --backend docker, or add --allow-unsafe",
        )


def _names(said: list[str] | None) -> tuple[str, ...]:
    """Model strings; a variable gives several with commas."""
    return tuple(name.strip() for text in said or () for name in text.split(",") if name.strip())


def _shares(proposers: list[str] | None, patch: list[Path] | None) -> object:
    from agent.settings import Settings, Share

    if not proposers:
        return (Share(name="patch"),) if patch else Settings.model_fields["proposers"].default
    shares = [share for text in proposers for share in Settings.parse_proposers(text)]
    if patch and all(share.name != "patch" for share in shares):
        # The others may stand in a config file: a patch that was named is not left out for them.
        shares.append(Share(name="patch"))
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
