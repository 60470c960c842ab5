"""Runs on the toy op in processes that can be killed: a zygote that has imported everything forks.

python -m tests.durability.worker

It reads one JSON order a line and answers one a line: `{"start": Job}` gives the `pid` of a fork at
work on it, `{"wait": pid}` how it ended.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent.cli import failures
from agent.models import library
from agent.run import resume, start
from agent.settings import Settings
from runs.queries import run_summaries
from runs.store import RunStore
from tests.agent.toy_run import QUICK, install
from tests.durability import points


@dataclass(frozen=True)
class Job:
    """One process's work: start the run, or go on with the one that is there.

    Attributes:
        folder: holds `home`, `diary`, `checkout`; standard error goes to `stderr`.
        settings: of the run, as JSON.
        name: of the diary and of standard error, where two processes share a folder.
        fresh: start a run even where there is one.
        trouble_at: the number of the durable point at which there is trouble; 0 for none.
        fill: the folder whose disk is full from then on; empty to die instead.
        left_bytes: what room is left there.
        judge_s: how long a judgement takes.
    """

    folder: str
    settings: str
    name: str = ""
    fresh: bool = False
    trouble_at: int = 0
    fill: str = ""
    left_bytes: int = 0
    judge_s: float = 0.0


def work(job: Job) -> int:
    """Do a job in this process; returns the exit code that the command line would give."""
    folder = Path(job.folder)
    counted = points.install(job.trouble_at, partial(trouble, job))
    try:
        store = RunStore(folder / "home")
        judge = points.SlowJudge(folder / f"diary{job.name}", counted, job.judge_s)
        known = run_summaries(store)
        if known and not job.fresh:
            resume(known[0].run.id, store, judge, folder / "checkout", patience=QUICK)
        else:
            settings = Settings.model_validate_json(job.settings)
            start(settings, store, judge, folder / "checkout", patience=QUICK)
    except Exception as error:
        return int(failures.report(error, as_json=False, debug=False))
    (folder / "points").write_text(str(counted.passed))
    return 0


def trouble(job: Job) -> None:
    if job.fill:
        points.fill(Path(job.fill), job.left_bytes)
    else:
        points.die()


def warm_up() -> None:
    """Import what a run imports late."""
    for name in ("langgraph.checkpoint.sqlite", "langgraph.graph", "langgraph.types", "openai"):
        importlib.import_module(name)
    library.load()
    install(setattr)


def fork(job: Job) -> int:
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            out = os.open(
                Path(job.folder) / f"stderr{job.name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644
            )
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(out, 1)
            os.dup2(out, 2)
            code = work(job)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return pid


def main() -> None:
    warm_up()
    print(json.dumps({"ready": os.getpid()}), flush=True)
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        if "start" in order:
            answer = {"pid": fork(Job(**order["start"]))}
        else:
            _, status = os.waitpid(order["wait"], 0)
            answer = {"code": os.waitstatus_to_exitcode(status)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
