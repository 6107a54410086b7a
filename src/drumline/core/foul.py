"""Work that passes its checks because of what it did to what judges it, and not because it is right.

The rule: tests are compared with those that the judge of the base runs on the same work. Configuration and scripts
decide how tests run, so a check that fails without their change goes back; so does one that runs fewer tests. Where
only the text of tests has changed, the work may be right: it lands, and is not proved unseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.events import CheckEnded
from drumline.core.judge import (
    CREATED,
    Touched,
    has_edited_work,
    is_doubtful,
    is_grave,
    is_program_changed,
    list_reverted,
)
from drumline.core.proof import Against, Colour, Compared
from drumline.core.silence import tell_silence
from drumline.record import Record, field

Found = Mapping[int, Compared]
UNHEARD = ("without their tests", "runs fewer tests")
"""What stands in the reason if tests did not run."""


class Judged(Record):
    """What is known about work and its judge: the files of it that changed, and what checks say on which tree."""

    touched: tuple[Touched, ...] = ()
    ended: Mapping[int, CheckEnded] = field(default_factory=dict)
    compared: Mapping[Against, Found] = field(default_factory=dict)

    def find(self, against: Against) -> Found:
        """What checks say about a tree."""
        return self.compared.get(against, {})


def tell_foul(judged: Judged) -> str:
    """What is wrong with work that passes only because of what it did to its judge; empty if it is not so."""
    return _tell_changed_judge(judged) or tell_silenced(judged)


def tell_silenced(judged: Judged) -> str:
    """The checks that pass without running their tests."""
    known = [judged.find(tree) for tree in (Against.BASE, Against.BASE_SOURCE)]
    touched = is_doubtful(judged.touched) or has_edited_work(judged.touched)
    new = {file.path for file in judged.touched if file.change == CREATED}
    told = []
    for number, ended in sorted(judged.ended.items()):
        before = [found[number] for found in known if number in found]
        told.append(tell_silence(ended, before, touched=touched, new=new))
    silent = "; ".join(filter(None, told))
    return f"the checks pass {UNHEARD[0]}: {silent}." if silent else ""


def list_overruled(judged: Judged) -> list[Compared]:
    """The checks that pass with the judge of the work and fail with that of the base, where the base has one."""
    silent = {found.check for found in judged.find(Against.BASE).values() if found.absent}
    asked = judged.find(Against.BASE_JUDGE).values()
    return [found for found in asked if found.colour is Colour.RED and found.check not in silent]


def list_doubted(judged: Judged) -> tuple[int, ...]:
    """Those of them of which nobody knows what they said before the work, where that decides who is asked."""
    known = judged.find(Against.BASE)
    unclear = is_grave(judged.touched) or is_program_changed(judged.touched)
    found = [one for one in list_overruled(judged) if one.check not in known]
    return tuple(one.check for one in found if unclear or _loses(one))


def list_unseen(judged: Judged) -> tuple[int, ...]:
    """The checks whose tests are part of the work: which of them ran before it has to be known, and is not.

    Where functions of the runner were replaced, or a program was ended, it has to be known whether that was so before.
    """
    known, edited = judged.find(Against.BASE), has_edited_work(judged.touched)
    told = [(number, ended.report) for number, ended in sorted(judged.ended.items()) if number not in known]
    return tuple(n for n, report in told if report is not None and (edited or report.patched or report.cut))


def changes_tests(judged: Judged) -> bool:
    """Whether the checks pass only with tests that the work has changed, as far as they are not its task.

    So it is if nobody knows what they say with the others: the work may have made it so.
    """
    gone = has_edited_work(judged.touched) and any(map(_is_shorter, judged.find(Against.BASE).values()))
    unknown = any(found.colour is Colour.UNKNOWN for found in judged.find(Against.BASE_JUDGE).values())
    return bool(gone or unknown or list_overruled(judged) or _list_shorter(judged) or tell_silenced(judged))


def _is_shorter(found: Compared) -> bool:
    """Whether tests that ran there do not run with the work, and no others took their place."""
    return found.difference is not None and found.difference.fewer > 0


def _list_shorter(judged: Judged) -> list[Compared]:
    return [found for found in judged.find(Against.BASE_JUDGE).values() if _is_shorter(found)]


def _tell_changed_judge(judged: Judged) -> str:
    """What is wrong with work that passes only with the judge that it changed itself; empty if it is not so.

    A program that judges by its own exit code is work as well: if it failed before, it cannot have been weakened.
    """
    before = judged.find(Against.BASE)
    shorter, overruled = _list_shorter(judged), list_overruled(judged)
    if is_grave(judged.touched):
        red = overruled
    else:
        passed = {found.check for found in before.values() if found.colour is Colour.GREEN}
        gone = {found.check for found in judged.find(Against.BASE_JUDGE).values() if _loses(found)}
        program = is_program_changed(judged.touched)
        red = [found for found in overruled if found.check in gone or (program and found.check in passed)]
    parts = [_tell_red(judged.touched, red), *map(_tell_shorter, shorter)]
    return " ".join(part for part in parts if part)


def _loses(found: Compared) -> bool:
    """Whether tests of the base do not run any more, also if others took their place."""
    return found.difference is not None and found.difference.lost_total > 0


def _tell_red(touched: Sequence[Touched], red: Sequence[Compared]) -> str:
    if not red:
        return ""
    files = ", ".join(list_reverted(touched))
    return (
        f"the checks pass only because the work changed what judges it ({files}): "
        f"with these files as they were before, this fails: {', '.join(found.command for found in red)}."
    )


def _tell_shorter(found: Compared) -> str:
    gone = found.difference
    if gone is None:
        return ""
    return f"{found.command} {UNHEARD[1]} than before; these do not run any more: {gone.tell_lost()}."
