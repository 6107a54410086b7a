"""`python -m bench.peers.dbos_chain FOLDER`: the chain as a DBOS workflow of fifteen steps, on SQLite.

DBOS opens the file by itself; that it is in WAL mode was set before, because its default (a rollback journal) is
slower and no safer. Workflow and steps are synchronous, which is the faster kind.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dbos import DBOS  # type: ignore[import-not-found]

from bench.peers.serving import CHAIN, check_durability, create_database, serve

NOTE = "each node a step, WAL, synchronous=FULL"


def do_nothing() -> None:
    """The act of every step."""


def main(folder: Path) -> None:
    """Serve the one walk that is compared."""
    path = folder / "dbos.db"
    create_database(path).close()
    engine = DBOS(
        config={
            "name": "chain",
            "system_database_url": f"sqlite:///{path}",
            "log_level": "ERROR",
            "application_version": "1",
            "executor_id": "bench",
        }
    )
    steps = [DBOS.step(name=f"n{place}")(do_nothing) for place in range(CHAIN)]

    def walk_chain() -> None:
        for step in steps:
            step()

    workflow = DBOS.workflow(name="chain")(walk_chain)
    DBOS.launch()
    _check_its_connections(engine)
    serve({"durable": lambda number: workflow()}, packages=("dbos",), note=NOTE)
    DBOS.destroy()


def _check_its_connections(engine: DBOS) -> None:
    """Its pool opens connections of its own; SQLite's default for them must be what is compared."""
    with engine._sys_db.engine.connect() as connection:
        check_durability(connection.connection.driver_connection)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
