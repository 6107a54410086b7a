"""Steps of an implement.md: what each section says, and who waits for whom.

The order of steps is their dependency: each needs the step before it. A corrective step (`3h`, `3h2` for step 3; `R1`,
`R1b` for the step they follow) inherits the needs of the step it helps, which waits for it; the others keep needing
the step that was helped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Problem, Status, Step
from drumline.planfiles.implement_fields import NOTHING, Notes, only_compiles, read_checks, read_files, texts
from drumline.planfiles.implement_sections import Field, Section, Sections
from drumline.planfiles.implement_vocabulary import StatusWord, Tag, read_status
from drumline.planfiles.source import NEWLINE, digest
from drumline.planfiles.stepfile import replace_spans
from drumline.record import Record, replace

THIS_REPO = "this repo"
_HEALS = re.compile(r"(.+)[hm][0-9]*")
_REVIEW_FIX = re.compile(r"R[0-9]+[a-z]?")


class Repos(Record):
    """What a plan says about repositories: whether it spans several, and the names of this one and of the others."""

    several: bool
    this: str
    others: str

    def elsewhere(self, tag: str) -> bool:
        """Whether a tag of a heading names another repository."""
        word = tag.casefold()
        return self.several and word != THIS_REPO and word not in (self.this, "") and read_status(tag) is None

    def listed(self, tag: str) -> bool:
        """Whether the plan announces this repository."""
        return tag.casefold() in self.others


class StepPart(Record):
    """One section as a step: its status words where it has any, and what is wrong with it."""

    section: Section
    step: Step
    marks: Marks
    tag: Tag | None
    line: Field | None
    line_word: StatusWord | None
    blocked: Field | None
    problems: tuple[Problem, ...]


def read_repos(sections: Sections) -> Repos:
    """The repositories a plan names above its steps; a `[This repo]` tag alone shows that it spans several, too."""
    others = " ".join(texts(sections.head("other repos required"))).casefold()
    this = " ".join(texts(sections.head("repo"))).strip("` ").casefold()
    tagged = any(
        tag.text.casefold() == THIS_REPO for part in sections.steps if part.heading for tag in part.heading.tags
    )
    return Repos(several=tagged or others.strip(" .*_`") not in NOTHING, this=this, others=others)


def name_repositories(sections: Sections) -> tuple[str, ...]:
    """The other repositories that a plan names above its steps, as it writes them."""
    said = re.sub(r"\([^)]*\)", "", " ".join(texts(sections.head("other repos required"))))
    names = [name.strip(" .*_`") for name in re.split(r"[,;]|\band\b", said)]
    return tuple(name for name in names if name.casefold() not in NOTHING and len(name.split()) == 1)


def read_part(text: str, section: Section, path: str, repos: Repos) -> StepPart:
    """The step in this section; its needs are found later, from all of them."""
    notes = Notes(path, section.line)
    heading = section.heading
    if heading is None:
        raise ValueError("only a step's section has a step")
    if heading.drifted:
        notes.warn(
            "heading_drift", f"is read as step {heading.id!r}; write '{'#' * section.level} Step {heading.id}: …'"
        )
    tag, tag_word, elsewhere, title = _read_tags(section, repos, notes)
    line, line_word = _read_line(section, notes)
    blocked = section.first("blocked")
    status = _status(tag_word, line_word, notes, has_line=line is not None)
    reason = _one_line(blocked.value) if blocked and status is Status.BLOCKED else ""
    checks, not_run = read_checks(section, notes)
    step = Step(
        id=StepId(heading.id),
        title=title or f"Step {heading.id}",
        files=tuple(read_files(section, notes)),
        checks=tuple(checks),
        not_run=tuple(not_run),
        compiles=only_compiles(section),
        elsewhere=elsewhere,
        binding=False,
        path=path,
        line=section.line,
    )
    part = StepPart(
        section=section,
        step=step,
        marks=Marks(status=status, reason=reason),
        tag=tag,
        line=line,
        line_word=line_word,
        blocked=blocked,
        problems=tuple(notes.found),
    )
    return replace(part, step=replace(step, text_digest=_neutral_digest(text, part)))


def link(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with their needs, by the rule this module states."""
    helped = helped_by([step.id for step in steps])
    helpers: dict[StepId, list[StepId]] = {}
    for helper, target in helped.items():
        helpers.setdefault(target, []).append(helper)
    base: dict[StepId, tuple[StepId, ...]] = {}
    before: tuple[StepId, ...] = ()
    for step in steps:
        if step.id not in helped and step.id not in base:
            base[step.id] = before
            before = (step.id,)
    for step in steps:
        if step.id in helped:
            base[step.id] = base[_root(step.id, helped)]
    return tuple(replace(step, ordered=True, needs=(*base[step.id], *helpers.get(step.id, ()))) for step in steps)


def helped_by(steps: Sequence[StepId]) -> dict[StepId, StepId]:
    """Each corrective step with the step it helps, from the ids in document order."""
    known = set(steps)
    found: dict[StepId, StepId] = {}
    before: StepId | None = None
    for step in steps:
        heals = _HEALS.fullmatch(step)
        if heals and heals[1] in known:
            found[step] = StepId(heals[1])
        elif _REVIEW_FIX.fullmatch(step) and before is not None and before != step:
            found[step] = before
        else:
            before = step
    return found


def _root(step: StepId, helped: Mapping[StepId, StepId]) -> StepId:
    """The ordinary step at the end of a chain of corrections; ids only get shorter along it, so it ends."""
    while step in helped:
        step = helped[step]
    return step


def _read_tags(section: Section, repos: Repos, notes: Notes) -> tuple[Tag | None, StatusWord | None, str, str]:
    """The status tag and its word, the other repository, and the title with whatever tags mean nothing here."""
    heading = section.heading
    tag, word, elsewhere = None, None, ""
    title = heading.title if heading else ""
    for found in heading.tags if heading else ():
        status = read_status(found.text)
        if status is not None and status.end == len(found.text):
            tag, word = found, status
        elif repos.elsewhere(found.text):
            elsewhere = found.text
        elif not (repos.several and found.text.casefold() in (THIS_REPO, repos.this)):
            title += found.written
    if word is not None and word.drift:
        notes.warn("status_drift", f"the status {word.drift}")
    if elsewhere:
        known = "" if repos.listed(elsewhere) else ", which the plan does not list under 'Other repos required'"
        notes.warn("elsewhere", f"is for the repository {elsewhere!r}{known}; it is not run here")
    return tag, word, elsewhere, title


def _read_line(section: Section, notes: Notes) -> tuple[Field | None, StatusWord | None]:
    lines = [found for found in section.fields if found.name == "status"]
    if not lines:
        return None, None
    for second in lines[1:]:
        notes.warn(
            "second_status", f"a second status in one step does not count; line {lines[0].line} does", second.line
        )
    first = lines[0]
    word = read_status(first.value)
    if word is not None and word.drift:
        notes.warn("status_drift", f"the status {word.drift}", first.line)
    elif word is None and first.value:
        message = f"the status {first.value[:60]!r} is not one of pending, in-progress, done, blocked, skipped"
        notes.refuse("bad_status", message, first.line)
    return first, word


def _status(tag: StatusWord | None, line: StatusWord | None, notes: Notes, *, has_line: bool) -> Status:
    """The line counts before the tag: it is what the other readers of this format look for."""
    if tag is not None and line is not None and tag.status is not line.status:
        notes.warn("two_statuses", "heading and status line disagree; the status line counts")
    found = line or tag
    if found is None and not has_line:
        notes.warn("no_status", "has no status; it is read as 'pending'")
    elif found is None:
        notes.warn("no_status", "its status line says nothing known; it is read as 'pending'")
    return found.status if found is not None else Status.READY


def _one_line(text: str) -> str:
    return " ".join(text.split())


def neutral_cuts(part: StepPart) -> list[tuple[int, int, str]]:
    """What of a step's section is the engine's: status words, the blocked line and the boxes."""
    section, cuts = part.section, list[tuple[int, int, str]]()
    if part.tag is not None:
        cuts.append((section.words + part.tag.start, section.words + part.tag.end, ""))
    if part.line is not None:
        ends = part.line.start + part.line_word.end if part.line_word else part.line.end
        cuts.append((part.line.first, part.line.last, "") if ends == part.line.end else (part.line.start, ends, ""))
    # All of them: with the first one gone, the next is what a reader takes for it.
    cuts += [(found.first, found.last, "") for found in section.fields if found.name == "blocked"]
    boxes = [item.box for found in section.fields for item in found.items if item.box is not None]
    return cuts + [(box, box + 1, " ") for box in boxes]


def _neutral_digest(text: str, part: StepPart) -> str:
    """The digest of everything people own. Blank lines and line endings do not count: marks bring their own."""
    begin, end = part.section.start, part.section.end
    cuts = [(first - begin, last - begin, new) for first, last, new in neutral_cuts(part)]
    lines = (line.rstrip() for line in NEWLINE.split(replace_spans(text[begin:end], cuts)))
    return digest("\n".join(line for line in lines if line).encode("utf-8", "replace"))
