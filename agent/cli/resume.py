"""`kernelwright resume`: go on with a run that was interrupted, killed or capped."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli import wiring
from agent.cli.optimize import refuse_unsafe
from agent.cli.options import (
    AllowUnsafe,
    Backend,
    BackendName,
    Debug,
    Home,
    Json,
)
from agent.cli.outcome import finish, watched


def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or its beginning.")],
    backend: Backend = BackendName.DOCKER,
    allow_unsafe: AllowUnsafe = False,
    home: Home = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Go on with a run that broke off.

    It was interrupted, killed, or infrastructure failed. Nothing is judged twice and no request is
    paid for twice; the run's caps and what it had spent stand.
    """
    store = wiring.store(home)
    run_id = store.resolve("run", run)
    record = store.run(run_id)
    names = {share.get("name", "") for share in record.settings.get("proposers", ())}
    refuse_unsafe(names, backend, allow_unsafe)
    judge = wiring.evaluator(backend)
    from agent.run import resume as go_on

    with watched() as reporter:
        reporter.run = run_id
        result = go_on(run_id, store, judge, wiring.checkout(), on_event=reporter)
    return finish(store, result, as_json=json)
