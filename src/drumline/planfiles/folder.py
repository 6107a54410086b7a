"""Plans kept as a directory of files with frontmatter: one file per step, and files beside them.

A layout knows one format's names and words; this module scans, caches, locks and writes the same way for all of
them. A write changes one file: whatever a person keeps in the others is theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Protocol, TypeVar

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Plan, Problem, Reading, Severity, Status, Step
from drumline.core.validation import drop_settled, validate
from drumline.errors import InvalidInput
from drumline.planfiles import writing
from drumline.planfiles.correction import add_need, newline_of, require_legal
from drumline.planfiles.drafts import PlanLock, Seen, put_file, until_settled
from drumline.planfiles.fingerprints import Fingerprints
from drumline.planfiles.frontmatter import read_frontmatter
from drumline.planfiles.known import Known
from drumline.planfiles.notes import NOTES
from drumline.planfiles.overall import assign_overall, list_ticked
from drumline.planfiles.overview import Overview
from drumline.planfiles.revising import Revisable, is_revised, unlike
from drumline.planfiles.rewriting import add_case
from drumline.planfiles.source import BOM, NEWLINE, decode, digest, escape_glob, list_in, read_bytes
from drumline.planfiles.stepfile import Form, StepFile, parse_marks
from drumline.ports.planfiles import Correction, ProgressReport
from drumline.record import Record, State, field

T = TypeVar("T")

Beside = Callable[[str], str | None]
"""The text of a file beside the steps by its name in the plan's directory; None if there is none to be read."""
Over = Callable[[], bool]
"""Whether every step is over."""


class Contents(Record):
    """What was read, for the layout to look at as a whole. `beside` holds texts by name in the plan's directory.

    `unreadable` are the names of files that exist and could not be read, which is a problem of its own.
    """

    prefix: str
    steps: tuple[Step, ...]
    marks: Mapping[StepId, Marks]
    beside: Mapping[str, str]
    unreadable: Collection[str]


class Layout(Protocol):
    """One format's names and words. Names are paths in the plan's directory; nothing here opens a file.

    `own_marks` says whether a step's marks come from its own file alone, so that they may be taken over from an
    earlier reading. `warnings` are the codes of warnings about one step's file.
    """

    format: str
    own_marks: bool
    warnings: Sequence[str]
    folders: Sequence[str]
    patterns: Sequence[str]
    needs_key: str
    id_key: str

    def is_step(self, name: str) -> bool:
        """Whether a step is kept in the file of this name."""
        ...

    def is_beside(self, name: str) -> bool:
        """Whether the file belongs to the plan without being a step."""
        ...

    def place(self, name: str) -> tuple[int, int, str]:
        """Where the file stands in the plan's order."""
        ...

    def step_id(self, name: str) -> StepId:
        """The id the file's name promises."""
        ...

    def form(self, name: str, beside: Beside) -> Form:
        """The words of the step's file, which may depend on a file beside it."""
        ...

    def parse(self, text: str, path: str, form: Form) -> StepFile:
        """One step's file; never raises on bad input."""
        ...

    def settle(self, files: Sequence[StepFile], promised: Sequence[StepId]) -> list[StepFile]:
        """All files with references between them resolved; `promised` are the ids that all files' names promise."""
        ...

    def overview(self, contents: Contents) -> Overview:
        """The plan's own words; a missing or contradicting file is a problem."""
        ...

    def supplement(self, beside: Beside) -> str:
        """What a step's prompt shows beyond the step's own file."""
        ...

    def corrective(self, correction: Correction, helps: Step, newline: str) -> tuple[str, str]:
        """The name and text of the file of a corrective step."""
        ...

    def row(self, correction: Correction, helps: Step, beside: Beside) -> tuple[str, str] | None:
        """The name and new text of the file beside the steps that lists them, if there is one to be kept current."""
        ...

    def show(
        self, step: Step, marks: Marks, beside: Beside, *, finished: Over, now: datetime | None, ticked: Sequence[str]
    ) -> tuple[str, str] | None:
        """The same once a step has these marks and a person has verified these items; None if nothing changes."""
        ...


class _Scan(State):
    """One pass over the directory: digests, bytes of step files to be parsed, texts beside them, and refusals."""

    digests: dict[str, str] = field(default_factory=dict)
    fresh: dict[str, bytes] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class FolderFiles(Revisable):
    """One plan directory. `root` and `repo` are real paths; all drivers of a plan must name the same `locks`."""

    reports_progress = False

    def __init__(self, root: Path, layout: Layout, *, repo: Path, locks: Path | None = None) -> None:
        self._root, self._repo = root, repo
        self._note_file = None if root == repo else root / NOTES
        self._layout = layout
        self._path = root.relative_to(repo).as_posix()
        self._prefix = "" if self._path == "." else f"{self._path}/"
        lock = locks / f"plan-{digest(self._path.encode())}.lock" if locks else None
        self._lock = PlanLock([root, *(root / folder for folder in layout.folders if folder)], lock)
        self._name = re.sub(r"[^A-Za-z0-9_-]+", "-", root.name).strip("-") or "plan"
        self._fingerprints = Fingerprints(lock.with_suffix(".fingerprints") if lock else None)
        self._judged: object = None
        self._verdict: Sequence[Problem] = ()

    @property
    def patterns(self) -> Sequence[str]:
        """The paths that are the plan's, as patterns."""
        notes = [NOTES] if self._note_file is not None else []
        return [escape_glob(self._prefix) + pattern for pattern in (*self._layout.patterns, *notes)]

    def read(self, known: Reading | None = None) -> Reading:
        """Read the plan and collect every problem; parses only files whose digest is not in `known`."""
        earlier = Known(known, self._layout.warnings)
        scan, changed = self._scan(earlier)
        if known is not None and not changed and not known.errors and len(scan.digests) == len(known.digests):
            return known
        parsed = [self._step_file(path, scan, earlier) for path in self._step_paths(scan)]
        files = self._layout.settle(parsed, self._promised(scan))
        steps = tuple(found.step for found in files if found.step is not None)
        marks = {found.step.id: found.marks for found in files if found.step is not None}
        refused = {problem.path.removeprefix(self._prefix) for problem in scan.problems}
        words = self._layout.overview(
            Contents(prefix=self._prefix, steps=steps, marks=marks, beside=scan.beside, unreadable=refused)
        )
        steps = assign_overall(steps, words.manual, beside=True)
        plan = self._plan(words).with_steps(steps)
        problems = [*scan.problems, *words.problems, *(problem for found in files for problem in found.problems)]
        lines = {path: line for path, line in earlier.need_lines.items() if path not in scan.fresh}
        unread = self._unread(problems, scan, steps)
        problems += drop_settled(self._judge(plan, lines, unread), plan, marks)
        return Reading(plan=plan, marks=marks, digests=scan.digests, problems=self._sorted(problems))

    def text(self, step: Step) -> str:
        """The step's file as text, for the prompt: without byte-order mark, lines ended by LF."""
        own = NEWLINE.sub("\n", self._load(step).removeprefix(BOM))
        return own + self._layout.supplement(self._beside)

    def marks(self, step: Step) -> Marks:
        """The marks the step's file has now; InvalidInput if they cannot be read."""
        return self._marks(self._load(step), step)

    def write(self, step: Step, marks: Marks, *, ticked: Sequence[int] = (), unless: Marks | None = None) -> str:
        """Set the marks and tick the boxes of the checks at the given lines; see the port for the promise."""
        wanted = writing.clean(marks)

        def mark() -> tuple[str, bool]:
            text = self._load(step)
            if unless is not None and self._marks(text, step) not in (writing.clean(unless), wanted):
                return "", False
            changed = writing.set_marks(text, step, wanted, ticked, form=self._form(step))
            if changed != text:
                put_file(self._file(step), changed.encode(), before=text.encode())
            return digest(changed.encode()), changed != text

        with self._lock.hold():
            found, moved = until_settled(mark)
            if found:
                # Last, and looked at by every write: a death before it is made good by writing the same again.
                until_settled(lambda: self._show(step, wanted, moved=moved, ticked=ticked))
        return found

    def _show(self, step: Step, marks: Marks, *, moved: bool, ticked: Sequence[int]) -> None:
        """Let the file that lists the steps say the same, if the format has one."""
        now = datetime.now(tz=UTC) if moved else None
        beside = Seen(self._beside)
        boxes = list_ticked(step, (line for line in ticked if line < 0))
        shown = self._layout.show(step, marks, beside, finished=self._is_finished, now=now, ticked=boxes)
        if shown is not None:
            put_file(self._root / shown[0], shown[1].encode(), before=beside.before(shown[0]))

    def _is_finished(self) -> bool:
        """Whether every step's file says that it is over; asked from the last one on, where open ones are likelier."""
        for name in sorted(filter(self._layout.is_step, self._names()), key=self._layout.place, reverse=True):
            text = self._beside(name)
            found = parse_marks(text, name, self._layout.form(name, self._beside)) if text is not None else None
            if not isinstance(found, tuple) or found[1].status not in (Status.DONE, Status.SKIPPED):
                return False
        return True

    def insert(self, correction: Correction, *, helps: Step) -> str:
        """Add a corrective step's file and make the step it helps wait for it; see the port for the promise."""
        require_legal(correction)
        with self._lock.hold():
            return self._prefix + until_settled(lambda: self._insert(correction, helps))

    def _insert(self, correction: Correction, helps: Step) -> str:
        text = self._load(helps)
        waiting = add_need(text, helps.path, correction.id, key=self._layout.needs_key)
        name, made = self._layout.corrective(correction, helps, newline_of(text))
        steps = filter(self._layout.is_step, self._names())
        there = [n for n in steps if n == name or self._layout.step_id(n) == correction.id]
        # The new file comes first: a death in between leaves a plan that is whole, and inserting again ends it.
        if not there:
            put_file(self._root / name, made.encode("utf-8", "replace"), before=None)
        beside = Seen(self._beside)
        row = self._layout.row(correction, helps, beside)
        if row is not None:
            put_file(self._root / row[0], row[1].encode("utf-8", "replace"), before=beside.before(row[0]))
        if waiting != text:
            put_file(self._file(helps), waiting.encode(), before=text.encode())
        return (there or [name])[0]

    def _find_file(self, step: Step) -> Path:
        return self._file(step)

    def _read_words(self, step: Step) -> str:
        return self._load(step)

    def _add_case(self, text: str, step: Step, said: str, *, by: StepId) -> str:
        front = read_frontmatter(text, step.path)
        return add_case(text, said, by=by, body=0 if isinstance(front, Problem) else front.body)

    def _assure_revised(self, before: str, after: str, step: Step, *, adds: bool) -> None:
        then, now = (self._layout.parse(text, step.path, self._form(step)) for text in (before, after))
        if not is_revised(then.step, now.step, adds=adds) or then.marks != now.marks:
            raise unlike(step, self._path)

    def keep_checks(self, checks: Mapping[StepId, Sequence[str]]) -> str:
        """Refused: the files of the steps have a place for checks."""
        message = f"{self._path} keeps checks in the files of its steps"
        raise InvalidInput(message, hint="write them under Automated Verification of each step")

    def report_progress(self, progress: ProgressReport) -> str:
        """These formats have no progress report."""
        return ""

    def _scan(self, known: Known) -> tuple[_Scan, bool]:
        """The pass, and whether anything differs from what is known."""
        scan = _Scan()
        changed = False
        for name in sorted(self._names(), key=self._layout.place):
            path = self._prefix + name
            file = f"{self._root}/{name}"
            fingerprint = self._fingerprints.take(file)
            untouched = self._fingerprints.recall(file, fingerprint)
            if untouched and self._layout.own_marks and known.has(path, untouched) and not self._layout.is_beside(name):
                scan.digests[path] = untouched
                continue
            data = read_bytes(file, path) if name.isprintable() else _bad_name(path)
            if isinstance(data, Problem):
                scan.problems.append(data)
                continue
            scan.digests[path] = found = digest(data)
            self._fingerprints.keep(file, fingerprint, found)
            fresh = not known.has(path, found)
            changed = changed or fresh
            if self._layout.is_beside(name):
                self._keep_beside(scan, name, data)
            elif fresh or not self._layout.own_marks:
                scan.fresh[path] = data
        self._fingerprints.save()
        return scan, changed or bool(scan.problems)

    def _names(self) -> list[str]:
        """Every file of the plan."""
        found = [name for folder in self._layout.folders for name in list_in(self._root, folder)]
        return [name for name in found if self._layout.is_step(name) or self._layout.is_beside(name)]

    def _keep_beside(self, scan: _Scan, name: str, data: bytes) -> None:
        text = decode(data, self._prefix + name)
        if isinstance(text, Problem):
            scan.problems.append(text)
        else:
            scan.beside[name] = text

    def _step_paths(self, scan: _Scan) -> list[str]:
        return [path for path in scan.digests if self._layout.is_step(path.removeprefix(self._prefix))]

    def _promised(self, scan: _Scan) -> list[StepId]:
        """The ids of all step files by their names, those included that cannot be read."""
        refused = [problem.path for problem in scan.problems]
        names = [path.removeprefix(self._prefix) for path in (*scan.digests, *refused)]
        return [self._layout.step_id(name) for name in names if self._layout.is_step(name)]

    def _step_file(self, path: str, scan: _Scan, known: Known) -> StepFile:
        found = known.step_file(path) if path not in scan.fresh else None
        if found is not None:
            return found
        name = path.removeprefix(self._prefix)
        data = scan.fresh[path] if path in scan.fresh else read_bytes(self._root / name, path)
        text = data if isinstance(data, Problem) else decode(data, path)
        if isinstance(text, Problem):
            return StepFile(step=None, marks=Marks(), problems=(text,))
        return self._layout.parse(text, path, self._layout.form(name, scan.beside.get))

    def _plan(self, words: Overview) -> Plan:
        plan = Plan(name=self._name, path=self._path, format=self._layout.format, title=words.title or self._name)
        return words.add_to(plan)

    def _judge(self, plan: Plan, lines: Mapping[str, int], unread: Collection[StepId]) -> Sequence[Problem]:
        """What is wrong with the steps together; found anew only if more than marks has changed since the last time."""
        subject = (tuple((s.path, s.text_digest, s.id, s.needs, s.files) for s in plan.steps), frozenset(unread))
        if subject != self._judged or any(problem.severity is Severity.ERROR for problem in self._verdict):
            self._verdict = validate(plan, locate=partial(self._locate, lines), unread=unread)
            self._judged = subject
        return self._verdict

    def _unread(self, problems: Sequence[Problem], scan: _Scan, steps: Sequence[Step]) -> set[StepId]:
        """Ids that files without a usable step probably hold, so that needing them is not reported as well."""
        paths = {problem.path for problem in problems} | set(scan.digests)
        broken = paths - {step.path for step in steps}
        names = [path.removeprefix(self._prefix) for path in broken]
        return {self._layout.step_id(name) for name in names if self._layout.is_step(name)}

    def _sorted(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        def place(problem: Problem) -> tuple[tuple[int, int, str], int]:
            return self._layout.place(problem.path.removeprefix(self._prefix)), problem.line

        return tuple(sorted(problems, key=place))

    def _locate(self, need_lines: Mapping[str, int], step: Step, name: str) -> int:
        """The line of a field; known lines spare reading every file with a warning again."""
        if name == "needs" and step.path in need_lines:
            return need_lines[step.path]
        key = {"needs": self._layout.needs_key, "id": self._layout.id_key}.get(name, name)
        data = read_bytes(self._root / step.path.removeprefix(self._prefix), step.path)
        text = data if isinstance(data, Problem) else decode(data, step.path)
        front = text if isinstance(text, Problem) else read_frontmatter(text, step.path)
        return step.line if isinstance(front, Problem) else front.line(key)

    def _beside(self, name: str) -> str | None:
        """A file beside the steps as it is now."""
        data = read_bytes(self._root / name, self._prefix + name)
        text = data if isinstance(data, Problem) else decode(data, self._prefix + name)
        return None if isinstance(text, Problem) else text

    def _form(self, step: Step) -> Form:
        return self._layout.form(step.path.removeprefix(self._prefix), self._beside)

    def _file(self, step: Step) -> Path:
        name = step.path.removeprefix(self._prefix)
        if step.path != self._prefix + name or not self._layout.is_step(name):
            message = f"{step.path!r} is not a step's file of the plan {self._path!r}"
            raise InvalidInput(message, hint=f"drumline validate {quote(self._path)}")
        return self._root / name

    def _load(self, step: Step) -> str:
        data = read_bytes(self._file(step), step.path)
        text = data if isinstance(data, Problem) else decode(data, step.path)
        return self._unless_refused(text)

    def _marks(self, text: str, step: Step) -> Marks:
        return self._unless_refused(parse_marks(text, step.path, self._form(step)))[1]

    def _unless_refused(self, found: T | Problem) -> T:
        if isinstance(found, Problem):
            raise InvalidInput(f"{found.where}: {found.message}", hint=f"drumline validate {quote(self._path)}")
        return found


def _bad_name(path: str) -> Problem:
    return Problem(code="bad_file_name", message="has a name that cannot be printed", where=f"{ascii(path)[1:-1]}:1")
