"""`kernelwright resume`: go on with a run that was interrupted, killed or capped."""

from __future__ import annotations

from agent.cli import wiring
from agent.cli.optimize import refuse_unsafe
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
    Quiet,
    RunId,
)
from agent.cli.outcome import finish, watched
from agent.cli.standing import resuming


def resume(
    run: RunId,
    budget_dollars: BudgetDollars = None,
    budget_tokens: BudgetTokens = None,
    budget_device_s: BudgetDeviceS = None,
    budget_wall_s: BudgetWallS = None,
    budget_candidates: BudgetCandidates = None,
    backend: Backend = BackendName.DOCKER,
    allow_unsafe: AllowUnsafe = False,
    home: Home = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Go on with a run that broke off.

    It was interrupted, killed, or infrastructure failed. Nothing is judged twice and no request is
    paid for twice; the run's caps and what it had spent stand. A run that a cap ended is over,
    unless that cap is given anew, higher: it holds for all that the run ever spent.
    """
    store = wiring.store(home)
    run_id = store.resolve("run", run)
    record = store.run(run_id)
    names = {share.get("name", "") for share in record.settings.get("proposers", ())}
    refuse_unsafe(names, backend, allow_unsafe)
    from agent.run import resume as go_on
    from runs.records import Budget

    budget = Budget(
        dollars=budget_dollars,
        tokens=budget_tokens,
        device_s=budget_device_s,
        wall_s=budget_wall_s,
        candidates=budget_candidates,
    )

    with (
        watched(resuming(store, run_id), quiet=quiet) as reporter,
        wiring.screening(backend) as judge,
    ):
        checkout = wiring.checkout()
        result = go_on(run_id, store, judge, checkout, on_event=reporter, budget=budget)
    return finish(store, result, as_json=json)
