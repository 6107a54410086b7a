"""`python -m bench.peers.langgraph_chain FOLDER`: the chain as a LangGraph, without and with its SQLite checkpointer.

Durable means `durability="sync"` (what a node did is stored before the next begins) on a connection that waits for
the disk. The graph is called synchronously: its asynchronous twin was measured and is slower.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found]
from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found]

from bench.peers.serving import CHAIN, check_durability, create_database, serve

MEGABYTE = "x" * 1_000_000
NOTE = "SqliteSaver, durability='sync', WAL, synchronous=FULL"


class State(TypedDict, total=False):
    """What the graph carries along; no node touches it."""

    prompt: str


def do_nothing(state: State) -> State:
    """The act of every node."""
    return {}


def build_chain(saver: object = None) -> Any:
    """Fifteen nodes in a row, compiled."""
    graph = StateGraph(State)
    names = [f"n{place}" for place in range(CHAIN)]
    for name in names:
        graph.add_node(name, do_nothing)
    for here, after in pairwise([START, *names, END]):
        graph.add_edge(here, after)
    return graph.compile(checkpointer=saver)


def main(folder: Path) -> None:
    """Serve the walks that are compared."""
    connection = create_database(folder / "langgraph.db")
    saver = SqliteSaver(connection)
    saver.setup()
    check_durability(connection)
    pure, durable = build_chain(), build_chain(saver)

    def walk(number: int, prompt: str) -> None:
        config = {"configurable": {"thread_id": str(number)}}
        durable.invoke({"prompt": prompt}, config, durability="sync")

    works = {
        "pure": lambda number: pure.invoke({"prompt": ""}),
        "durable": lambda number: walk(number, ""),
        "heavy": lambda number: walk(number, f"{number} {MEGABYTE}"),
    }
    serve(works, packages=("langgraph", "langgraph-checkpoint-sqlite"), note=NOTE)
    connection.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
