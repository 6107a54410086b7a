"""Tests that ran before the work and do not run with it, though nothing that judges was changed.

A program can end its test runner with exit code 0, or keep tests from being found. The rule: a report that does not
come to its end, or that was there before and is missing, fails closed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from drumline.core.events import CheckEnded
from drumline.core.proof import Colour, Compared
from drumline.core.testids import Report


def tell_silence(ended: CheckEnded, before: Iterable[Compared], *, touched: bool, new: Collection[str] = ()) -> str:
    """Why a check that passed did not run its tests; empty if it did, or if its runners never told.

    `before` is what it said about trees without the work; `touched` says that files that judge have changed: then
    they decide about tests that are gone. `new` are files of the judge that the work creates.
    """
    before = list(before)
    if ended.exit_code != 0 or ended.outside:
        return ""
    report = ended.report
    if report is not None and not report.complete:
        return f"{ended.command}: its test runner did not come to its end, though the exit code is 0"
    if report is not None and report.failed and any(_fails_for_tests(found) for found in before):
        return f"{ended.command}: {report.failed} of its tests fail, as without the work, though the exit code is 0"
    patched = _list_patched(report, before)
    if patched:
        return f"{ended.command}: functions of the test runner were replaced while it worked: {', '.join(patched)}"
    cut = _list_cut(report, before, new)
    if cut:
        return f"{ended.command}: it did not come to its end, though the exit code is 0: {', '.join(cut)}"
    told = [found for found in before if found.report is not None and found.report.complete and found.report.ran]
    if told and (report is None or not report.ran):
        most = max(found.report.ran for found in told if found.report is not None)
        return f"{ended.command}: it ran {most} tests without the work and reports none with it"
    for found in told:
        gone = found.difference
        if gone is not None and gone.lost_total and not touched:
            return f"{ended.command}: tests that ran before do not run any more: {gone.tell_lost()}"
    return ""


def _list_patched(report: Report | None, before: Sequence[Compared]) -> list[str]:
    """What of a runner was replaced that is not so without the work: plugins may do that, too."""
    known = {name for found in before if found.report is not None for name in found.report.patched}
    return [name for name in report.patched if name not in known] if report is not None else []


def _list_cut(report: Report | None, before: Sequence[Compared], new: Collection[str]) -> list[str]:
    """What ended programs that judge, and did not do so without the work; new ones end as they please."""
    known = {cut for found in before if found.report is not None for cut in found.report.cut}
    ended = [cut for cut in report.cut if cut not in known and cut.program not in new] if report is not None else []
    return [f"{cut.file or 'its code'} ended {cut.program.replace('<string>', 'it')}" for cut in ended]


def _fails_for_tests(found: Compared) -> bool:
    """Whether the check fails there, and has tests that do."""
    return found.colour is not Colour.GREEN and found.report is not None and found.report.failed > 0
