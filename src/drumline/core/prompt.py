"""The prompt an agent gets, built from data. What the engine enforces is not asked for here; it is only announced."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.assumptions import CONTEXT
from drumline.core.blocked import OFFER, WRONG, Reply
from drumline.core.claims import ASKED
from drumline.core.deliverables import CRITERIA, find_criteria
from drumline.core.events import CheckEnded
from drumline.core.handoffs import Handoff, tell_handoffs
from drumline.core.heldout import is_named, list_seen
from drumline.core.hunks import Hunk, choose_hunks
from drumline.core.learned import Lesson
from drumline.core.lessons import ASK as ASK_FIX
from drumline.core.lessons import tell_lessons
from drumline.core.namings import OUTSIDE
from drumline.core.plan import Check, Step
from drumline.core.proselines import read_lines
from drumline.core.taskreport import ASK
from drumline.record import Record

_UNTOLD = "It judges whether the work does what the step asks for, also where the other checks do not look."
MOST_OUTPUT = 6_000
"""Characters of a failing check's output that go back to the agent."""


MOST_OTHERS = 10
"""Titles of other steps that are named."""


class Header(Record):
    """Who works on which step of how many. `batch` is the number of the steps that may run beside each other."""

    agent: str
    session: str
    number: int
    total: int
    batch: str = "single"


class Brief(Record):
    """Everything a prompt is made of.

    `answers` are questions of agents with what a person said, `cut_short` how the attempt before ended if something
    else than its work ended it, `remarks` what people said when they let the run go on. Without `offers` whoever uses
    the text offers to ask a person. `since` are the steps that landed while this one was worked on, if its work fails
    only together with them, `conflicts` the files that both sides changed, `hunks` the parts of them with conflict
    markers, `fix` which of how many fixes this is,
    `passing` the checks that work passes whose agent ran out of time. `preamble` is what the plan says of itself,
    `handoffs` what the steps left that this one needs, `earlier` the titles of the steps that those needed, `others`
    those of steps that somebody else does, `failed` the commit with work of another way that failed, `reviewed` the
    change that a step is to review.
    """

    step: Step
    text: str
    plan_title: str
    checks: Sequence[Check]
    context: str = ""
    feedback: Sequence[CheckEnded] = ()
    complaint: str = ""
    comment: str = ""
    role: str = ""
    fresh: bool = False
    answers: Sequence[Reply] = ()
    cut_short: str = ""
    remarks: Sequence[str] = ()
    offers: bool = True
    since: Sequence[str] = ()
    conflicts: Sequence[str] = ()
    hunks: Sequence[Hunk] = ()
    passing: Sequence[str] = ()
    doubts: bool = False
    fix: str = ""
    reports: bool = False
    header: Header | None = None
    preamble: str = ""
    handoffs: Sequence[Handoff] = ()
    others: Sequence[str] = ()
    earlier: Sequence[str] = ()
    failed: str = ""
    reviewed: str = ""
    lessons: Sequence[Lesson] = ()


def write_prompt(brief: Brief) -> str:
    """The whole prompt: task, bounds, how it will be judged, and what went wrong before."""
    return "\n\n".join(part for part in (write_task(brief), write_history(brief)) if part) + "\n"


def write_task(brief: Brief) -> str:
    """What is to be done, within which bounds, and how it will be judged."""
    parts = [
        f"# Task: {brief.step.title} ({brief.step.id})",
        _tell_header(brief),
        f"You are working on one step of the plan “{brief.plan_title}”. The current directory is a git worktree made "
        "for this step alone. Do this step and nothing else. Leave your changes in the work tree; they are committed "
        "for you. Files of the plan and `.drumline/` are managed for you: changes to them are dropped.",
        _section("The plan in its own words", _shift(brief.preamble)),
        f"## The step\n\n{brief.text.strip()}",
        _section("Expected outcome", _tell_outcome(brief)),
        _section("What the steps left that this one needs", tell_handoffs(brief.handoffs)),
        _section("What was done before that", _list_some(brief.earlier)),
        _section("The change to review", brief.reviewed),
        _section("Work that failed", _tell_failed(brief.failed)),
        _section("Your role", brief.role),
        _bounds(brief.step),
        _section("You must", _tell_duties(brief)),
        _section("You must not", _tell_bans(brief)),
        _judgement(list_seen(brief.checks), tests=brief.step.tests, scenarios=bool(brief.step.qa)),
        _section("What to report", ASK if brief.reports else ""),
        _section("If a person has to decide", f"{OFFER} {WRONG}" if brief.offers else ""),
        _section("Context from the person who started the run", brief.context),
        _section("What a person said about the steps before", "\n\n".join(brief.remarks)),
    ]
    return "\n\n".join(part for part in parts if part)


def _tell_failed(commit: str) -> str:
    """Where the work is that a corrective step does in another way."""
    if not commit:
        return ""
    return (
        f"Another way to do this failed its checks. It is not in the work tree; `git show {commit}` shows it. Use what "
        "helps you, and do not repeat what failed."
    )


def _tell_header(brief: Brief) -> str:
    """Who works on what, as tools and people look for it."""
    header = brief.header
    if header is None:
        return ""
    fix = f"Fix: {brief.fix}\n" if brief.fix else ""
    return (
        f"Agent: {header.agent}\nPhase: {brief.step.id}/{header.total}\nBatch: {header.batch}\n"
        f"Session: {header.session}\n{fix}\nProgress: Phase {header.number} of {header.total}: {brief.step.title}"
    )


def _shift(text: str) -> str:
    """The text with its headings two levels deeper, so that they stand below ours; code is left as it is."""
    headings = {line.number for line in read_lines(text) if line.paragraph < 0}
    lines = text.split("\n")
    return "\n".join(
        f"##{line}" if number in headings and line[:1] == "#" else line for number, line in enumerate(lines)
    )


def _tell_outcome(brief: Brief) -> str:
    """What has to be so in the end: the step's own criteria, and what a person looks at."""
    headings = {line.path[-1]: line.text for line in read_lines(brief.text) if line.paragraph < 0}
    named = [text.strip("# :") for words, text in headings.items() if words in CRITERIA]
    holds = (
        f"everything that the step lists under {' and '.join(named)} holds" if named else "it is done as the step says"
    )
    by_hand = f" A person verifies by hand: {'; '.join(brief.step.manual)}." if brief.step.manual else ""
    return f"{brief.step.title}: {holds}.{by_hand}"


def _list_some(titles: Sequence[str]) -> str:
    """The first of these titles as a list; the others are counted."""
    more = [f"and {len(titles) - MOST_OTHERS} more"] if len(titles) > MOST_OTHERS else []
    return "\n".join(f"- {title}" for title in (*titles[:MOST_OTHERS], *more))


def _tell_duties(brief: Brief) -> str:
    named = {name for line in read_lines(brief.text) if line.paragraph < 0 for name in line.path}
    duties = ["Follow the patterns that the step names under Context."] if named & CONTEXT else []
    duties += ["Derive tests from the acceptance criteria, where tests can show them."] if named & CRITERIA else []
    return "\n".join(f"- {duty}" for duty in duties)


def _tell_bans(brief: Brief) -> str:
    named = {
        name for line in read_lines(f"{brief.preamble}\n\n{brief.text}") if line.paragraph < 0 for name in line.path
    }
    bans = ["Do what the plan or the step calls out of scope."] if named & OUTSIDE else []
    if brief.others:
        listed = "; ".join(brief.others[:MOST_OTHERS])
        more = f"; and {len(brief.others) - MOST_OTHERS} more" if len(brief.others) > MOST_OTHERS else ""
        bans.append(f"Do the work of other steps: {listed}{more}.")
    return "\n".join(f"- {ban}" for ban in bans)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text.strip()}" if text.strip() else ""


def _bounds(step: Step) -> str:
    if not step.files:
        return ""
    return "## Files that belong to this step\n\n" + "\n".join(f"- `{path}`" for path in step.files)


def _judgement(checks: Sequence[Check], *, tests: bool, scenarios: bool) -> str:
    listed = "\n".join(f"- `{check.command}`" for check in checks)
    parts = [f"These commands are run after you finish; each must exit with 0.\n\n{listed}"] if checks else []
    parts += ["Tests are part of this step: add or change at least one."] if tests else []
    parts += [ASKED] if scenarios else []
    return _section("How it will be judged", "\n\n".join(parts))


def write_history(brief: Brief) -> str:
    """What people said to the attempts before, and what went wrong with them; empty at first."""
    parts: list[str] = []
    if brief.comment:
        parts.append(_section("A person looked at your work and asks for this change", brief.comment))
    for reply in brief.answers:
        told = f"{reply.asked.strip()}\n\nThe answer: {reply.said.strip()}"
        parts.append(_section("A person answered a question", told))
    if brief.complaint:
        title = "About your last attempt" if brief.doubts else "Your last attempt failed"
        parts.append(_section(title, brief.complaint))
    if brief.cut_short and not brief.fresh:
        told = f"{brief.cut_short.strip()}\n\n{_tell_left(brief)}"
        parts.append(_section("An attempt before this one was cut short", told))
    if brief.since or brief.conflicts:
        parts.append(_section("Other steps landed while you worked", _tell_landed(brief)))
    rest = "You begin again in a fresh work tree." if brief.fresh else "Your changes are still in the work tree."
    if brief.feedback:
        parts += [write_feedback(brief.feedback, rest), _tell_fixing(brief)]
    return "\n\n".join(part for part in parts if part)


def _tell_left(brief: Brief) -> str:
    """What is left for an attempt after one whose time was up: all but what checks have shown already."""
    left = "What it had changed is still in the work tree: look at it, and go on from there."
    shown = [f"`{command}`" for command in brief.passing if not is_named(command)]
    if not shown:
        return left
    left += f" Do only what is left. These checks pass already: {', '.join(shown)}."
    items = [item for item in find_criteria(brief.text) if not any(command in item for command in shown)]
    listed = "\n".join(f"- {item}" for item in items)
    return f"{left}\n\nNo check has shown these acceptance criteria yet:\n\n{listed}" if items else left


def _tell_fixing(brief: Brief) -> str:
    """What helped against the same failures before, and that the agent is to say what it changes."""
    told = [tell_lessons(brief.lessons)] if brief.lessons else []
    shown = any(not is_named(failed.command) for failed in brief.feedback)
    return "\n\n".join(
        [*(_section("What helped before", lesson) for lesson in told), *([f"{ASK_FIX}"] if shown else [])]
    )


def _tell_landed(brief: Brief) -> str:
    """What an agent has to know whose work does not fit to what landed meanwhile."""
    landed = "\n".join(f"- {title}" for title in brief.since)
    told = f"These steps have landed since you began; the work tree has their changes and yours:\n\n{landed}".strip()
    if not brief.conflicts:
        return f"{told}\n\nYour work passed its checks by itself and fails together with theirs. Keep what they did."
    files = "\n".join(f"- `{path}`" for path in brief.conflicts)
    shown = [f"`{hunk.path}`, line {hunk.line}:\n\n{_fence(hunk.text)}" for hunk in choose_hunks(brief.hunks)]
    asked = (
        "Resolve every conflict so that both changes are there. Text has conflict markers now: remove them. Binary "
        "files have none, and neither has what one side deleted, moved or replaced: one version is there. A file whose "
        "name ends with `~` and a commit had to make room for another one: move it, or what it says, where it belongs."
    )
    return "\n\n".join([told, "Both sides changed these files:", files, asked, *shown])


def write_feedback(failing: Sequence[CheckEnded], rest: str = "Your changes are still in the work tree.") -> str:
    """What an agent is told about checks that fail; empty if none does."""
    parts: list[str] = []
    if any(is_named(failed.command) for failed in failing):
        parts.append(f"## An earlier attempt failed a check that is not shown to you\n\n{_UNTOLD} {rest}")
    for failed in [failed for failed in failing if not is_named(failed.command)]:
        output = failed.output[-MOST_OUTPUT:].strip() or "(no output)"
        title = f"An earlier attempt failed this check: `{failed.command}` (exit code {failed.exit_code})"
        changed = f"The check itself changed {', '.join(failed.altered)}; that was undone. " if failed.altered else ""
        parts.append(f"## {title}\n\n{_fence(output)}\n\n{changed}{rest} Fix the cause.")
    return "\n\n".join(parts)


def _fence(text: str) -> str:
    """The text in a code fence longer than any it contains."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}\n{text}\n{ticks}"
