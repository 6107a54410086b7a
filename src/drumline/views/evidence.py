"""What each check of a step said: on the work, without the work, and with what judged it before. The rule: a check
that was not executed is said to be so."""

from __future__ import annotations

from typing import TypeGuard

from drumline.core.heldout import HIDDEN, SHOWN
from drumline.core.orders import orders_for
from drumline.core.plaintext import name_some
from drumline.core.plan import Step
from drumline.core.proof import Against, Colour, Compared
from drumline.core.sharing import add_shared
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.tally import Tally, digest_command
from drumline.core.testids import Report
from drumline.record import Record
from drumline.views.cells import flatten
from drumline.views.duration import duration
from drumline.views.flakes import find_tally, tally_json

_WORDS = {Colour.GREEN: "passes", Colour.RED: "fails", Colour.UNKNOWN: "not known"}
TREES = {
    Against.BASE: "without the work",
    Against.BASE_SOURCE: "without the work but with its tests",
    Against.BASE_JUDGE: "with the tests, configuration and scripts as they were before",
}

_SOURCES = {HIDDEN: "held out", SHOWN: "held out, not hidden from its agents"}


SETUP = "    configure a setup command, so that it finds the code of the tree that it judges"


class Evidence(Record):
    """One check of a step: how it ended on the work, None if it has not, and what it says about other trees.

    `flaky` are its figures if it has changed its verdict here, `before` says that it did in earlier runs.
    `report` is what its test runners told of the work, None if they tell nothing. `outside` are files of the checkout
    that it loaded: then it says nothing about the work. `dependencies` are folders with packages that the agent left.
    """

    command: str
    source: str
    exit_code: int | None = None
    was_run: bool = False
    seconds: float = 0.0
    log: str = ""
    report: Report | None = None
    tree: str = ""
    judge: str = ""
    environment: str = ""
    log_digest: str = ""
    flaky: Tally | None = None
    before: bool = False
    outside: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    compared: tuple[tuple[Against, Compared], ...] = ()


def list_evidence(run: RunState, step: Step, state: StepState | None) -> tuple[Evidence, ...]:
    """The checks of a step in order; of one whose stream was not read only their commands."""
    found = []
    orders = add_shared(orders_for(run, step), run, state.sharing if state else ())
    for number, check in enumerate(orders.checks):
        verdict = state.verdicts.get(number) if state else None
        trees = {**state.compared, Against.BASE: state.at_first} if state else {}
        compared = tuple((against, trees[against][number]) for against in Against if number in trees.get(against, {}))
        ended = verdict.ended if verdict else None
        found.append(
            Evidence(
                command=check.command,
                source=check.source,
                exit_code=ended.exit_code if ended else None,
                outside=ended.outside if ended else (),
                dependencies=ended.dependencies if ended else (),
                was_run=ended is not None,
                seconds=ended.seconds if ended else 0.0,
                log=ended.log if ended else "",
                report=ended.report if ended else None,
                tree=ended.tree if ended else "",
                judge=ended.judge if ended else "",
                environment=ended.environment if ended else "",
                log_digest=ended.log_digest if ended else "",
                compared=compared,
                flaky=find_tally(state.tallies, check.command) if state else None,
                before=digest_command(check.command) in run.begun.flaky,
            )
        )
    return tuple(found)


def evidence_lines(found: Evidence) -> list[str]:
    """The check for people: its command, then a line for each tree that it was executed on."""
    lines = [f"check ({_SOURCES.get(found.source, found.source)}): {flatten(found.command)}"]
    if not found.was_run:
        return [*lines, "  not run"]
    if found.outside:
        return [*lines, f"  not run: it loaded code of your checkout ({name_some(map(flatten, found.outside))})", SETUP]
    word = "passes" if found.exit_code == 0 else "fails" if found.exit_code is not None else "could not be run"
    lines.append(
        f"  on the work: {word} in {duration(found.seconds)}, {_tell_tests(found.report)}{_tell_log(found.log)}"
    )
    told = (("tree", found.tree[:12]), ("judge", found.judge), ("environment", found.environment))
    named = [f"{word} {value}" for word, value in (*told, ("log", found.log_digest)) if value]
    lines += [f"    {', '.join(named)}"] if found.judge or found.environment else []
    if found.dependencies:
        lines.append(f"    with {', '.join(found.dependencies)} as the agent left it; setup gives checks their own")
    lines += [f"  {found.flaky.in_words()}"] if found.flaky else []
    lines += ["  flaky: it has changed its verdict on one tree in earlier runs"] if found.before else []
    return lines + [
        f"  {TREES[against]}: {describe_compared(result)}{_tell_log(result.log)}" for against, result in found.compared
    ]


def evidence_json(found: Evidence) -> dict[str, object]:
    """The check for programs."""
    return {
        "command": found.command,
        "source": found.source,
        "flaky": tally_json(found.flaky),
        "flaky_before": found.before,
        "run": found.was_run,
        "exit_code": found.exit_code,
        "outside": list(found.outside),
        "dependencies": list(found.dependencies),
        "seconds": found.seconds,
        "log": found.log or None,
        "tests": _count_tests(found.report),
        "tree": found.tree or None,
        "judge": found.judge or None,
        "environment": found.environment or None,
        "log_digest": found.log_digest or None,
        "compared": [
            {
                "tree": against.value,
                "verdict": result.colour.value,
                "evidence": result.evidence or None,
                "seconds": result.seconds,
                "log": result.log or None,
                "tests": _count_tests(result.report),
            }
            for against, result in found.compared
        ],
    }


def describe_compared(result: Compared) -> str:
    """How a check ended on another tree than that of the work."""
    if result.colour is Colour.UNKNOWN:
        return f"not known ({flatten(result.evidence)})" if result.evidence else "not known"
    return f"{_WORDS[result.colour]} (it finds nothing to judge by)" if result.absent else _WORDS[result.colour]


def _tell_tests(report: Report | None) -> str:
    """How many tests ran; that a check has no test ids is said, for then it is judged by its exit code alone."""
    if not _has_tests(report):
        return "no test ids"
    counts = [f"{number} {word}" for number, word in ((report.failed, "failed"), (report.skipped, "skipped")) if number]
    more = f" ({', '.join(counts)})" if counts else ""
    return f"{report.ran} test{'' if report.ran == 1 else 's'}{more}{'' if report.complete else ', cut off'}"


def _has_tests(report: Report | None) -> TypeGuard[Report]:
    """Whether a runner told; a script that was ended early has no tests that are known."""
    return report is not None and not (report.cut and not report.ran + report.skipped)


def _count_tests(report: Report | None) -> dict[str, object] | None:
    if not _has_tests(report):
        return None
    counts = {"ran": report.ran, "failed": report.failed, "skipped": report.skipped, "complete": report.complete}
    return {**counts, "ids": report.digest or None}


def _tell_log(name: str) -> str:
    return f", {name}" if name else ""
