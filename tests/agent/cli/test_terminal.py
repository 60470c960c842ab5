"""The command line on a real terminal: what is drawn, what keys do, and how Ctrl-C ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluators.policy import repository_root
from tests.agent.cli.terminal import Terminal, canned

OPTIMIZE = ("optimize", "rms_norm", "--rounds", "1", "--width", "1", "--proposer", "rewrite")
MINE = "reference_kernels/rms_norm/plain.py"


@pytest.fixture
def terminal(environment: dict[str, str]) -> Callable[..., Terminal]:
    def opened(command: list[str], columns: int = 150) -> Terminal:
        return Terminal(command, environment=environment, cwd=repository_root(), columns=columns)

    return opened


def test_a_run_draws_a_panel_and_clears_it_away(terminal: Any) -> None:
    line = (*OPTIMIZE, "--confirm", "0", "--budget-dollars", "5", "--budget-candidates", "4")
    with terminal(canned("faster", "0.8", *line)) as screen:
        assert screen.end() in (0, 1), screen.text
        text = screen.text
    for words in ("round 1/1", "screen: timing", "$0.00 of $5.00", "1 of 4", "x1.100 [1.080"):
        assert words in text, words
    # Events scroll above; the end of it is the result alone.
    assert "steered by" in text
    assert "╭" not in text[text.rindex("stopped by") :]
    assert "\x1b[?25h" in screen.raw


def test_quiet_draws_nothing(terminal: Any) -> None:
    with terminal(canned("faster", "0", *OPTIMIZE, "--confirm", "0", "--quiet")) as screen:
        screen.end()
        assert screen.text.startswith("run 20")
        assert "steered by" not in screen.text


def test_quiet_json_is_one_document_and_nothing_else(environment: dict[str, str]) -> None:
    found = subprocess.run(
        canned("faster", "0", "--json", "--quiet", *OPTIMIZE, "--confirm", "0"),
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        cwd=repository_root(),
        check=False,
    )
    assert json.loads(found.stdout)["candidates"]
    assert found.stderr == ""


@pytest.mark.parametrize(
    ("line", "ready", "last"),
    [
        (OPTIMIZE, "screen: build", "the run is kept: kernelwright resume 20"),
        (("evaluate", MINE, "--op", "rms_norm"), "build", "kernelwright: interrupted"),
    ],
    ids=["optimize", "evaluate"],
)
def test_ctrl_c_is_one_line(terminal: Any, line: tuple[str, ...], ready: str, last: str) -> None:
    with terminal(canned("faster", "60", *line)) as screen:
        screen.wait_for(ready)
        screen.press("\x03")
        assert screen.end(20) == 130
        lines = screen.text.strip().splitlines()
        assert last in lines[-1]
        assert lines[-1].startswith("kernelwright: interrupted")
        assert "Traceback" not in screen.text


def test_ctrl_c_during_start_up(terminal: Any) -> None:
    command = [sys.executable, "-m", "agent.cli", "optimize", "rms_norm"]
    for moment_s in (0.05, 0.15, 0.3, 0.45, 0.6):
        with terminal(command) as screen:
            time.sleep(moment_s)
            screen.press("\x03")
            assert screen.end(20) == 130
            assert screen.text.replace("^C", "") == "kernelwright: interrupted\n"


WAITS = """
import sys, time
from concurrent.futures import ThreadPoolExecutor, wait
from agent.cli import main
from agent.cli.__main__ import run
from agent.cli.progress import Progress

def ask():
    with Progress().running("asking") as progress, ThreadPoolExecutor() as pool:
        asked = pool.submit(time.sleep, SECONDS)
        progress.stage("in flight")
        try:
            asked.result()
        finally:
            # Such patience as a library may have: it takes more than an exception to end it.
            while not asked.done():
                try:
                    wait([asked])
                except KeyboardInterrupt:
                    pass

main.app.command("ask")(ask)
sys.argv = ["kernelwright", "ask"]
run()
"""


def test_what_is_in_flight_is_waited_for(terminal: Any) -> None:
    with terminal([sys.executable, "-c", WAITS.replace("SECONDS", "3")]) as screen:
        screen.wait_for("in flight")
        screen.press("\x03")
        screen.wait_for("Ctrl-C again leaves at once", 10)
        assert screen.end(20) == 130
        assert screen.text.rstrip().endswith("kernelwright: interrupted")


def test_a_second_ctrl_c_leaves_at_once(terminal: Any) -> None:
    with terminal([sys.executable, "-c", WAITS.replace("SECONDS", "60")]) as screen:
        screen.wait_for("in flight")
        screen.press("\x03")
        screen.wait_for("Ctrl-C again leaves at once", 10)
        screen.press("\x03")
        assert screen.end(10) == 130
        assert screen.text.rstrip().endswith("kernelwright: interrupted")
        # A live display hides the cursor.
        assert screen.raw.rindex("\x1b[?25h") > screen.raw.rindex("\x1b[?25l")


def test_review_side_by_side_where_there_is_room(terminal: Any, filled: Any) -> None:
    command = [sys.executable, "-m", "agent.cli", "review", filled.run]
    with terminal(command, columns=200) as screen:
        screen.wait_for("[q]uit")
        screen.press("s\r")
        assert screen.end() == 0
        wide = screen.text
    assert "+ # wins" in wide
    # The evidence stands beside: the reason for it and the numbers on it, in one line.
    assert any("untrusted" in line and "error" in line for line in wide.splitlines()) or any(
        "cost" in line and "entry" in line for line in wide.splitlines()
    )
    with terminal(command, columns=90) as screen:
        screen.wait_for("[q]uit")
        screen.press("q\r")
        assert screen.end() == 0
        narrow = screen.text
    assert "+# wins" in narrow
    assert "qwen3-next-512" in narrow
    forced = [*command, "--diff", "unified"]
    with terminal(forced, columns=200) as screen:
        screen.wait_for("[q]uit")
        screen.press("q\r")
        screen.end()
        assert "+# wins" in screen.text


def test_review_pages_and_decides(terminal: Any, filled: Any) -> None:
    command = [sys.executable, "-m", "agent.cli", "review", filled.run]
    with terminal(command) as screen:
        screen.wait_for("[q]uit")
        screen.press("p\r")
        screen.wait_for("[q]uit", times=2)
        screen.press("d\r")
        screen.wait_for("why")
        screen.press("later\r")
        assert screen.end() == 0, screen.text
        assert screen.text.count("# wins") >= 2
    assert [p.decision for p in filled.store.promotions(run=filled.run)] == ["deferred"]


def test_help_fits_the_terminal(terminal: Any, tmp_path: Path) -> None:
    with terminal([sys.executable, "-m", "agent.cli", "--help"], columns=80) as screen:
        assert screen.end() == 0
        assert max(map(len, screen.text.splitlines())) <= 80
