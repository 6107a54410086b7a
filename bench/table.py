"""The command: runs the parts one after the other, tells progress, and prints one table or JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.agents import measure_agents
from bench.beside import measure_beside
from bench.claims import measure_claims
from bench.deciding import measure_deciding
from bench.durableflow import measure_durable_flow
from bench.figures import Figure, spread
from bench.flow import measure_flow
from bench.makespan import measure_makespan
from bench.onefile import measure_one_file
from bench.ownership import measure_ownership
from bench.places import measure_places
from bench.proving import measure_proving
from bench.resume import measure_resume
from bench.rigor import measure_nodes, measure_rigor
from bench.startup import measure_startup
from bench.throughput import measure_throughput
from bench.transitions import measure_transitions
from bench.validating import SIZES, measure_validation

Part = tuple[str, Callable[[Path], list[Figure]]]
MISSED = 1


def parts(*, quick: bool) -> list[Part]:
    """What is measured; `quick` takes smaller plans and fewer rounds."""
    rounds = 3 if quick else 5
    sizes = (50, 200, 1_000) if quick else SIZES
    return [
        ("transitions", partial(measure_transitions, rounds=rounds)),
        ("claims", partial(measure_claims, rounds=2 if quick else 3, steps=200 if quick else 1_000)),
        ("start-up", partial(measure_startup, rounds=5 if quick else 11)),
        ("validation", partial(measure_validation, rounds=2 if quick else 3, sizes=sizes)),
        ("deciding", partial(measure_deciding, rounds=rounds)),
        ("ownership", partial(measure_ownership, rounds=rounds)),
        ("places", partial(measure_places, rounds=3, files=2_000 if quick else 20_000)),
        ("proving", partial(measure_proving, steps=8 if quick else 20, suite=1.0 if quick else 5.0)),
        ("makespan", partial(measure_makespan, plans=1 if quick else 3, steps=16 if quick else 24)),
        ("throughput", partial(measure_throughput, steps=16 if quick else 40, rounds=1 if quick else 2)),
        ("one file", partial(measure_one_file, files=2_000 if quick else 20_000, rounds=1 if quick else 3)),
        ("rigor", measure_rigor),
        ("nodes", measure_nodes),
        ("flow", partial(measure_flow, rounds=rounds)),
        ("durable flow", partial(measure_durable_flow, rounds=rounds)),
        ("flow beside other engines", partial(measure_beside, rounds=rounds)),
        ("agents", partial(measure_agents, rounds=rounds)),
        ("resume", partial(measure_resume, rounds=rounds, count=1_000 if quick else 10_000)),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller plans and fewer rounds")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    names = [name for name, _ in parts(quick=True)]
    parser.add_argument(
        "--part", action="append", default=[], choices=names, help="measure only this part; may be repeated"
    )
    parser.add_argument("--folder", type=Path, help="measure on the disk of this folder (default: temporary)")
    options = parser.parse_args(argv)
    chosen = [part for part in parts(quick=options.quick) if not options.part or part[0] in options.part]
    figures = measure(chosen, options.folder)
    if options.json:
        print(json.dumps({"schema_version": 1, "machine": machine(), "figures": [as_json(f) for f in figures]}))
    else:
        show(figures)
    return MISSED if any(figure.met is False for figure in figures) else 0


def measure(chosen: Sequence[Part], folder: Path | None) -> list[Figure]:
    """All figures of the chosen parts, one line of progress for each."""
    found: list[Figure] = []
    for number, (name, work) in enumerate(chosen, 1):
        print(f"{number}/{len(chosen)} {name} …", end=" ", file=sys.stderr, flush=True)
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="drumline-bench-", dir=folder) as place:
            found += work(Path(place).resolve())
        print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return found


def machine() -> str:
    """What the figures were taken on, in one line."""
    load = os.getloadavg()[0]
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}"
    )


def show(figures: Sequence[Figure]) -> None:
    """The table: median and range of each figure, of its reference, and of their ratio."""
    table = Table(caption=f"median (min..max); {machine()}")
    for title in ("figure", "measured", "reference", "ratio", "target", "note"):
        table.add_column(title, overflow="fold")
    for figure in figures:
        table.add_row(*row(figure))
    Console(width=None if sys.stdout.isatty() else 180).print(table)


def row(figure: Figure) -> list[str]:
    """One line of the table."""
    digits = 0 if figure.unit in ("/s", "MB") else 2 if figure.unit == "s" else 3
    measured = f"{spread(figure.values, digits)} {figure.unit}"
    if not figure.references:
        return [figure.name, measured, "", "", "", figure.note]
    reference = f"{figure.reference}: {spread(figure.references, digits)} {figure.unit}"
    ratio = spread(figure.ratios, 2) if figure.least_gain is None else f"{spread(figure.gains, 1)} x cheaper"
    return [figure.name, measured, reference, ratio, _judge(figure), figure.note]


def _judge(figure: Figure) -> str:
    if figure.met is None:
        return ""
    wanted = f"<= {figure.target:g}" if figure.least_gain is None else f">= {figure.least_gain:g} x"
    return f"{wanted} {'met' if figure.met else 'MISSED'}"


def as_json(figure: Figure) -> dict[str, object]:
    """One figure as plain data."""
    return {
        "name": figure.name,
        "unit": figure.unit,
        "values": list(figure.values),
        "reference": figure.reference,
        "references": list(figure.references),
        "ratio": figure.ratio,
        "target": figure.target,
        "least_gain": figure.least_gain,
        "met": figure.met,
        "note": figure.note,
    }
