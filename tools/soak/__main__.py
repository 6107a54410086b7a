"""`python -m tools.soak`: plays scenarios until the time is up, and prints a table of what came of them.

First the oracle is tried on damage that is done on purpose: a table of zeros says something only if it can fail.
Exit code 1 if anything was lost, doubled, stalled or left over, or if the user's git was broken; then the folders of
those scenarios stay.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tools.soak.controls import try_controls
from tools.soak.disks import describe_disks, enter_namespace
from tools.soak.play import play_scenario
from tools.soak.scenario import CROWD, KINDS, MIXED, SHORT, THEMES, draw_scenario
from tools.soak.table import count_all, describe_all, render_table
from tools.soak.verdict import CLASSES, Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Soak:
    """How long, with which seed, how many scenarios at once, of which kinds and where."""

    minutes: float
    seed: int
    jobs: int
    kinds: tuple[str, ...]
    themes: tuple[str, ...]
    only: tuple[int, ...]
    most: int
    folder: Path


def main(argv: Sequence[str] | None = None) -> int:
    """Soak, show the table, say by the exit code whether everything is sound."""
    arguments = _parse(argv)
    enter_namespace(sys.argv[1:] if argv is None else argv)
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="drumline-soak-"))
    soak = Soak(
        minutes=arguments.minutes,
        seed=arguments.seed,
        jobs=arguments.jobs,
        kinds=arguments.kinds,
        themes=SHORT if arguments.short else arguments.themes,
        only=tuple(map(int, arguments.only.split(","))) if arguments.only else (),
        most=arguments.scenarios,
        folder=folder,
    )
    began = time.monotonic()
    missed = [] if arguments.short or soak.only else try_controls(folder / "controls")
    if missed:
        print(f"soak: the oracle does not notice what is done on purpose: {', '.join(missed)}", file=sys.stderr)
        return 1
    outcomes = play_all(soak)
    if arguments.json:
        print(json.dumps(describe_all(outcomes, seed=soak.seed, disks=describe_disks())))
    else:
        print(f"\nSoak of {(time.monotonic() - began) / 60:.1f} minutes with seed {soak.seed}.")
        print(f"Full and read-only disks: {describe_disks()}.\n\n{render_table(outcomes)}")
    failed = sum(count_all(outcomes)[kind] for kind in CLASSES)
    if failed:
        short = " SHORT=1" if arguments.short else ""
        print(f"Repeat a scenario: make soak SEED={soak.seed}{short} ONLY=NUMBER", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"soak: {len(outcomes)} scenarios, {failed} findings", file=sys.stderr)
    return 1 if failed else 0


def play_all(soak: Soak) -> list[Outcome]:
    """Play scenarios until the time is up, or those that were asked for; the sound ones leave nothing."""
    deadline = time.monotonic() + soak.minutes * 60
    numbers: Iterator[int] = iter(soak.only) if soak.only else iter(range(soak.most) if soak.most else count())
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(max_workers=soak.jobs) as pool:
        running: set[Future[Outcome]] = set()
        while True:
            while len(running) < soak.jobs and time.monotonic() < deadline:
                number = next(numbers, None)
                if number is None:
                    deadline = 0.0
                    break
                running.add(pool.submit(_play_one, soak, number))
            if not running:
                return outcomes
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                outcomes.append(future.result())
                _show(outcomes)


def _play_one(soak: Soak, number: int) -> Outcome:
    scenario = draw_scenario(soak.seed, number, soak.kinds, themes=soak.themes)
    folder = soak.folder / str(number)
    outcome = play_scenario(scenario, folder)
    if not outcome.findings:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _show(outcomes: Sequence[Outcome]) -> None:
    """One line of progress for each scenario."""
    last, total = outcomes[-1], count_all(outcomes)
    found = " ".join(f"{kind} {total[kind]}" for kind in CLASSES if total[kind]) or "sound"
    print(
        f"{time.strftime('%H:%M:%S')} {total['scenarios']} scenarios, {total['injected']} faults: {found}; "
        f"last {last.name} {last.theme} {last.state} {last.seconds:.0f} s"
        + "".join(f"\n  FOUND {finding.kind}: {finding.text[:300]}" for finding in last.findings),
        file=sys.stderr,
        flush=True,
    )


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soak", description="Real runs under random faults.")
    parser.add_argument("--minutes", type=float, default=30.0, help="no scenario begins after so many minutes")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="what the scenarios are drawn from")
    parser.add_argument("--only", default="", help="only the scenarios with these numbers, parted by commas")
    parser.add_argument("--scenarios", type=int, default=0, help="at most so many scenarios")
    parser.add_argument(
        "--kinds", type=_list_of(KINDS), default=KINDS, help=f"only these kinds of faults, of {', '.join(KINDS)}"
    )
    parser.add_argument(
        "--themes", type=_list_of(THEMES), default=(), help=f"these themes in turn: a kind of fault, {MIXED} or {CROWD}"
    )
    parser.add_argument("--short", action="store_true", help=f"these themes in turn: {', '.join(SHORT)}; no controls")
    parser.add_argument("--jobs", type=int, default=2, help="scenarios played at once")
    parser.add_argument("--folder", default="", help="where the repositories are made; a temporary folder if not given")
    parser.add_argument("--json", action="store_true", help="print JSON on stdout")
    return parser.parse_args(argv)


def _list_of(legal: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """What reads names parted by commas, each of which has to be one of these."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        unknown = [name for name in names if name not in legal]
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown {', '.join(map(repr, unknown))} (use {', '.join(legal)})")
        return names

    return read


if __name__ == "__main__":
    sys.exit(main())
