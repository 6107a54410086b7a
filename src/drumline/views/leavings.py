"""What a run leaves behind: files by step, tests, what is in no commit, what nothing shows, work for others.

The rule: it says where something is, or how to go on with it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from shlex import quote

from drumline.core.deliverables import BY_HAND, CLAIMED, NO_CHECK, NOT_LANDED, Declared, match_declared
from drumline.core.ids import StepId
from drumline.core.plaintext import count_noun, name_some
from drumline.core.plan import SIDECAR
from drumline.core.state import RunState
from drumline.core.vocabulary import StepEnd
from drumline.record import Record
from drumline.views.cells import flatten, list_under

ROOT = "root.md"
"""The file of a native plan that has its status and the table of its steps."""
TOLD_ELSEWHERE = frozenset({NOT_LANDED, BY_HAND, CLAIMED, NO_CHECK})
"""Reasons that the summary has a list of its own for."""


class Leavings(Record):
    """`files` and `work` are by step: what landed, and what one left that is not done; `marked` are the plan's files,
    `written` its handoffs and notes.

    `open` are the declared things that no landing shows, `elsewhere` the other repositories, with what to type there.
    """

    files: tuple[tuple[StepId, tuple[str, ...]], ...]
    tests: tuple[str, ...]
    marked: tuple[str, ...]
    written: tuple[str, ...]
    work: tuple[tuple[StepId, tuple[str, ...]], ...]
    open: tuple[Declared, ...]
    elsewhere: tuple[tuple[str, str], ...]


def describe_leavings(run: RunState, *, changed: Collection[str] | None = None) -> Leavings:
    """What is left, from the journal; of the plan's files only those among `changed`, if that is known."""
    over = [run.finished[step.id] for step in run.selected() if step.id in run.finished]
    landed = [one for one in over if one.state is StepEnd.DONE]
    marked = {one.path for one in run.mirrored.values() if one.path}
    marked |= _list_beside(run, marked) & {*(changed or ())}
    written = {path.partition("#")[0] for path in run.documents}
    left = [one for one in over if one.state in (StepEnd.BLOCKED, StepEnd.FAILED) and one.files]
    return Leavings(
        files=tuple((one.step, one.files) for one in landed if one.files),
        tests=tuple(dict.fromkeys(file for one in landed for file in one.new_tests)),
        marked=_choose(marked, changed),
        written=_choose(written, changed),
        work=tuple((one.step, one.files) for one in left),
        open=tuple(one for one in match_declared(run, {}) if one.open),
        elsewhere=_list_elsewhere(run),
    )


def _list_beside(run: RunState, marked: Collection[str]) -> set[str]:
    """Files of the plan that may have something of ours besides marks: a sidecar, the root of the plan, and steps that
    others have told of edge cases, or changed as a person agreed.
    """
    beside = {name for path in marked for name in (path + SIDECAR, f"{path.rpartition('/')[0]}/{ROOT}".lstrip("/"))}
    sweeps = [one.swept for one in run.finished.values() if one.swept is not None]
    told = {note.step for sweep in sweeps for note in sweep.annotations}
    told |= {one.step for sweep in sweeps for one in sweep.proposals if one.applied}
    return beside | {run.plan.by_id[step].path for step in told if step in run.plan.by_id}


def _choose(paths: Collection[str], changed: Collection[str] | None) -> tuple[str, ...]:
    return tuple(sorted(path for path in paths if changed is None or is_among(path, changed)))


def is_among(path: str, changed: Collection[str]) -> bool:
    """Whether a path is listed, or is in a folder that is."""
    return path in changed or any(name.endswith("/") and path.startswith(name) for name in changed)


def _list_elsewhere(run: RunState) -> tuple[tuple[str, str], ...]:
    named = [*(step.elsewhere for step in run.plan.steps if step.elsewhere), *run.plan.repositories]
    once = {name.casefold(): name for name in reversed(named)}
    command = f"drumline run {quote(run.plan.ticket or run.plan.path)}"
    return tuple((name, command) for name in sorted(once.values(), key=str.casefold))


def list_uncommitted(found: Leavings) -> list[str]:
    """What is in no commit of the run, in words."""
    work = [f"the work of {step} ({count_noun(len(files), 'file')}, in its worktree)" for step, files in found.work]
    work += [f"marks in {flatten(name_some(found.marked))}"] if found.marked else []
    return work + ([f"what steps leave in {flatten(name_some(found.written))}"] if found.written else [])


def leavings_lines(found: Leavings) -> list[str]:
    """The same for people, but for files by step and other repositories."""
    loose = list_uncommitted(found)
    lines = [f"  not committed: {'; '.join(loose)}"] if loose else []
    lines += [f"tests added: {flatten(name_some(found.tests))}"] if found.tests else []
    told = [one for one in found.open if one.why not in TOLD_ELSEWHERE]
    return lines + list_under("declared, and not found", [_tell(one) for one in told])


def _tell(one: Declared) -> str:
    return f"{one.step}: {flatten(one.text)}: {one.why}"


def elsewhere_lines(found: Leavings, steps: Sequence[tuple[StepId, str]]) -> list[str]:
    """The other repositories, with the steps that are theirs and what to type there."""
    items = []
    for name, command in found.elsewhere:
        theirs = [step for step, repo in steps if repo.casefold() == name.casefold()]
        items.append(f"{flatten(name)}{f' ({name_some(theirs)})' if theirs else ''}: there, type: {command}")
    return list_under("for other repositories", items)


def leavings_json(found: Leavings) -> dict[str, object]:
    """The same for programs."""
    return {
        "files": {step: list(files) for step, files in found.files},
        "tests_added": list(found.tests),
        "uncommitted": {
            "plan": [*found.marked, *found.written],
            "work": {step: list(files) for step, files in found.work},
        },
        "open": [{"step": one.step, "kind": one.kind, "text": one.text, "why": one.why} for one in found.open],
        "repositories": [{"repository": name, "command": command} for name, command in found.elsewhere],
    }
