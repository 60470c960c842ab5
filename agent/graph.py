"""The graph: look -> select -> propose (in parallel) -> screen -> learn ... -> confirm -> review.

langgraph is imported late: it is slow, and its strict msgpack must be set before it is imported.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.nodes.confirm import confirm
from agent.nodes.learn import learn
from agent.nodes.look import look
from agent.nodes.propose import propose
from agent.nodes.review import review
from agent.nodes.screen import screen
from agent.nodes.select import select
from agent.runtime import Runtime
from agent.state import Branch, State

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph.state import CompiledStateGraph

STEPS_PER_ROUND = 4


@contextmanager
def checkpoints(path: Path) -> Iterator[SqliteSaver]:
    """Open the file that remembers where a run stands, synchronously written."""
    os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
    from langgraph.checkpoint.sqlite import SqliteSaver

    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        # None: only the built-in safe types, also where langgraph was imported before us.
        yield SqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))


def build(runtime: Runtime, saver: SqliteSaver) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The compiled graph of one run."""
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send

    def bound(node: Callable[..., dict[str, Any]]) -> Any:
        # A closure, no partial: langgraph fills parameters named `runtime` with one of its own.
        def step(state: Any) -> dict[str, Any]:
            return node(state, runtime)

        return step

    # langgraph evaluates the annotations, where a name of this function is unknown: hence Any.
    def fan_out(state: State) -> Any:
        if state["stop"]:
            return "confirm"
        return [
            Send(
                "propose",
                Branch(
                    number=n,
                    first=state["first"],
                    parents=state["parents"],
                    repairs=state["repairs"],
                ),
            )
            for n in state["numbers"]
        ]

    def onward(state: State) -> str:
        return "confirm" if state["stop"] else "select"

    graph = StateGraph(State)
    for name, node in (
        ("look", look),
        ("select", select),
        ("screen", screen),
        ("learn", learn),
        ("confirm", confirm),
        ("review", review),
    ):
        graph.add_node(name, bound(node))
    graph.add_node("propose", bound(propose), input_schema=Branch)
    graph.add_edge(START, "look")
    graph.add_edge("look", "select")
    graph.add_conditional_edges("select", fan_out, ["propose", "confirm"])
    graph.add_edge("propose", "screen")
    graph.add_edge("screen", "learn")
    graph.add_conditional_edges("learn", onward, ["select", "confirm"])
    graph.add_edge("confirm", "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver)


def configuration(run: str, *, rounds: int, width: int) -> RunnableConfig:
    """langgraph's own settings: a thread a run, and room for every step of it."""
    return {
        "configurable": {"thread_id": run},
        "recursion_limit": STEPS_PER_ROUND * rounds + 20,
        "max_concurrency": width,
    }
