"""The native format: a directory with `root.md` and one `step-*.md` per step.

Frontmatter is the truth; the root's table and drawing are for people and are not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Plan, Problem, Reading, Severity, Step
from drumline.core.validation import validate
from drumline.errors import InvalidInput
from drumline.planfiles import writing
from drumline.planfiles.correction import add_need, native_file, newline_of, require_legal
from drumline.planfiles.frontmatter import read_frontmatter
from drumline.planfiles.markdown import read_body
from drumline.planfiles.source import BOM, NEWLINE, decode, digest, read_bytes
from drumline.planfiles.stepfile import StepFile, parse_marks, parse_step
from drumline.ports.planfiles import Account, Correction

ROOT = "root.md"
AUTONOMY = ("autopilot", "critical", "verbose")
_READER_WARNINGS = ("check_not_command", "no_frontmatter")
_FIELDS = {"needs": "depends_on"}
T = TypeVar("T")
_NUMBERED = re.compile(r"step-([0-9]+)(.*)", re.DOTALL)


@dataclass(kw_only=True, slots=True)
class _Scan:
    """One pass over the directory: every digest, the bytes of files that have to be parsed, and refusals."""

    digests: dict[str, str] = field(default_factory=dict)
    fresh: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class _Known:
    """An earlier reading by path. Files with errors are not reused, so their problems are found anew."""

    def __init__(self, reading: Reading | None) -> None:
        self.reading = reading
        self.warnings: dict[str, list[Problem]] = {}
        self.need_lines: dict[str, int] = {}
        self._steps: dict[str, Step] = {}
        self._faulty: set[str] = set()
        if reading is None:
            return
        for problem in reading.problems:
            path, _, line = problem.where.rpartition(":")
            if problem.severity is Severity.ERROR:
                self._faulty.add(path)
            elif problem.code == "redundant_need":
                self.need_lines[path] = int(line)
            elif problem.code in _READER_WARNINGS:
                self.warnings.setdefault(path, []).append(problem)
        self._steps = {s.path: s for s in reading.plan.steps if reading.plan.by_id[s.id] is s and s.id in reading.marks}

    def has(self, path: str, found: str) -> bool:
        """Whether the file was read before with these bytes and without errors."""
        return self.reading is not None and self.reading.digests.get(path) == found and path not in self._faulty

    def step_file(self, path: str) -> StepFile | None:
        """What the file said."""
        step = self._steps.get(path)
        if step is None or self.reading is None:
            return None
        return StepFile(step=step, marks=self.reading.marks[step.id], problems=tuple(self.warnings.get(path, ())))


class DagFiles:
    """One plan directory. `place` and `repo` are real paths; all drivers of a plan must name the same `locks`."""

    keeps_books = False

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        root = _folder(place)
        if not root.is_dir():
            message = f"{place.name!r} is not a plan: give the plan's directory or its {ROOT}"
            raise InvalidInput(message, hint=f"drumline validate {place.parent.relative_to(repo)}")
        self._root = root
        self._path = root.relative_to(repo).as_posix()
        self._prefix = "" if self._path == "." else f"{self._path}/"
        self._lock = locks / f"plan-{digest(self._path.encode())}.lock" if locks else None
        self._name = re.sub(r"[^A-Za-z0-9_-]+", "-", root.name).strip("-") or "plan"

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether the directory looks like a plan of this format."""
        root = _folder(place)
        return root.is_dir() and any(name == ROOT or _is_step(name) for name in _names(root))

    def read(self, known: Reading | None = None) -> Reading:
        """Read the plan and collect every problem; parses only files whose digest is not in `known`."""
        earlier = _Known(known)
        scan = self._scan(earlier)
        same = not scan.fresh and not scan.problems
        if known is not None and same and not known.errors and len(scan.digests) == len(known.digests):
            return known
        files = [self._step_file(path, scan, earlier) for path in scan.digests if path != self._prefix + ROOT]
        steps = [found.step for found in files if found.step is not None]
        plan = self._plan(scan, earlier, steps)
        scan.problems += [problem for found in files for problem in found.problems]
        lines = {path: line for path, line in earlier.need_lines.items() if path not in scan.fresh}
        scan.problems += validate(plan, locate=partial(self._locate, lines), unread=_unread(scan, steps))
        return Reading(
            plan=plan,
            marks={found.step.id: found.marks for found in files if found.step is not None},
            digests=scan.digests,
            problems=tuple(sorted(scan.problems, key=_position)),
        )

    def text(self, step: Step) -> str:
        """The step's file as text, for the prompt: without byte-order mark, lines ended by LF."""
        return NEWLINE.sub("\n", self._load(step).removeprefix(BOM))

    def marks(self, step: Step) -> Marks:
        """The marks the step's file has now; InvalidInput if they cannot be read."""
        return self._marks(self._load(step), step)

    def write(self, step: Step, marks: Marks, *, ticked: Sequence[int] = (), unless: Marks | None = None) -> str:
        """Set the marks and tick the boxes of the checks at the given lines; see the port for the promise."""
        with writing.locked(self._root, self._lock):
            text = self._load(step)
            wanted = writing.clean(marks)
            if unless is not None and self._marks(text, step) not in (writing.clean(unless), wanted):
                return ""
            changed = writing.set_marks(text, step, wanted, ticked)
            data = changed.encode()
            if changed != text:
                writing.replace_file(self._file(step), data)
            return digest(data)

    def insert(self, correction: Correction, *, helps: Step) -> str:
        """Add a corrective step's file and make the step it helps wait for it; see the port for the promise."""
        require_legal(correction)
        name = correction.id if correction.id.startswith("step-") else f"step-{correction.id}"
        path = f"{self._prefix}{name}.md"
        with writing.locked(self._root, self._lock):
            text = self._load(helps)
            waiting = add_need(text, helps.path, correction.id)
            # The new file comes first: a death in between leaves a plan that is whole, and inserting again ends it.
            if not (self._root / f"{name}.md").exists():
                made = native_file(correction, helps, newline=newline_of(text))
                writing.create_file(self._root / f"{name}.md", made.encode())
            if waiting != text:
                writing.replace_file(self._file(helps), waiting.encode())
        return path

    def account(self, account: Account) -> None:
        """This format keeps no books."""

    def _scan(self, known: _Known) -> _Scan:
        scan = _Scan()
        names = _names(self._root)
        if ROOT not in names:
            message = f"the plan has no {ROOT}"
            where = f"{self._prefix}{ROOT}:1"
            scan.problems.append(Problem(code="missing_root", message=message, where=where))
        for name in sorted((n for n in names if n == ROOT or _is_step(n)), key=_order):
            path = self._prefix + name
            data = read_bytes(self._root / name, path) if name.isprintable() else _bad_name(path)
            if isinstance(data, Problem):
                scan.problems.append(data)
                continue
            scan.digests[path] = found = digest(data)
            if not known.has(path, found):
                scan.fresh[path] = data
        return scan

    def _step_file(self, path: str, scan: _Scan, known: _Known) -> StepFile:
        found = known.step_file(path) if path not in scan.fresh else None
        if found is not None:
            return found
        data = scan.fresh[path] if path in scan.fresh else read_bytes(self._root / Path(path).name, path)
        text = data if isinstance(data, Problem) else decode(data, path)
        if isinstance(text, Problem):
            return StepFile(step=None, marks=Marks(), problems=(text,))
        return parse_step(text, path)

    def _plan(self, scan: _Scan, known: _Known, steps: Sequence[Step]) -> Plan:
        path = self._prefix + ROOT
        if path not in scan.fresh and path in scan.digests and known.reading is not None:
            scan.problems += known.warnings.get(path, [])
            return known.reading.plan.with_steps(steps)
        title, autonomy = self._root_words(path, scan)
        plan = Plan(name=self._name, path=self._path, title=title or self._name, autonomy=autonomy)
        return plan.with_steps(steps)

    def _root_words(self, path: str, scan: _Scan) -> tuple[str, str]:
        """The plan's title and autonomy; what is wrong with the root file is added to the scan."""
        data = scan.fresh.get(path)
        text = decode(data, path) if data is not None else None
        if isinstance(text, Problem):
            scan.problems.append(text)
        if not isinstance(text, str):
            return "", ""
        front = read_frontmatter(text, path)
        if isinstance(front, Problem):
            scan.problems.append(_milder(front))
            return read_body(text, len(BOM) if text.startswith(BOM) else 0, 0).title, ""
        scan.problems += front.problems
        autonomy = front.text("autonomy")
        if autonomy is None or autonomy not in ("", *AUTONOMY):
            message = f"the autonomy {autonomy!r} is not one of {', '.join(AUTONOMY)}"
            where = f"{path}:{front.line('autonomy')}"
            scan.problems.append(Problem(code="bad_autonomy", message=message, where=where))
            autonomy = ""
        return read_body(text, front.body, front.body_line).title, autonomy

    def _locate(self, need_lines: Mapping[str, int], step: Step, name: str) -> int:
        """The line of a field; known lines spare reading every file with a warning again."""
        if name == "needs" and step.path in need_lines:
            return need_lines[step.path]
        data = read_bytes(self._root / Path(step.path).name, step.path)
        text = data if isinstance(data, Problem) else decode(data, step.path)
        front = text if isinstance(text, Problem) else read_frontmatter(text, step.path)
        return step.line if isinstance(front, Problem) else front.line(_FIELDS.get(name, name))

    def _file(self, step: Step) -> Path:
        name = step.path.removeprefix(self._prefix)
        if step.path != self._prefix + name or "/" in name or not _is_step(name):
            message = f"{step.path!r} is not a step's file of the plan {self._path!r}"
            raise InvalidInput(message, hint=f"drumline validate {self._path}")
        return self._root / name

    def _load(self, step: Step) -> str:
        data = read_bytes(self._file(step), step.path)
        text = data if isinstance(data, Problem) else decode(data, step.path)
        return self._unless_refused(text)

    def _marks(self, text: str, step: Step) -> Marks:
        return self._unless_refused(parse_marks(text, step.path))[1]

    def _unless_refused(self, found: T | Problem) -> T:
        if isinstance(found, Problem):
            raise InvalidInput(f"{found.where}: {found.message}", hint=f"drumline validate {self._path}")
        return found


def _folder(place: Path) -> Path:
    return place.parent if place.name == ROOT else place


def _names(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _is_step(name: str) -> bool:
    return name.startswith("step-") and name.endswith(".md")


def _bad_name(path: str) -> Problem:
    shown = ascii(path)[1:-1]
    return Problem(code="bad_file_name", message="has a name that cannot be printed", where=f"{shown}:1")


def _order(name: str) -> tuple[int, int, str]:
    """Root first, then by the number in the name (step-2 before step-10), then other names."""
    if name == ROOT:
        return 0, 0, name
    match = _NUMBERED.fullmatch(name)
    return (1, int(match[1]), match[2]) if match else (2, 0, name)


def _position(problem: Problem) -> tuple[tuple[int, int, str], int]:
    path, _, line = problem.where.rpartition(":")
    return _order(path.rpartition("/")[2]), int(line)


def _unread(scan: _Scan, steps: Sequence[Step]) -> set[StepId]:
    """Ids that files without a usable step probably hold, so that needing them is not reported as well."""
    paths = {problem.where.rpartition(":")[0] for problem in scan.problems} | set(scan.digests)
    broken = paths - {step.path for step in steps}
    return {StepId(Path(path).stem) for path in broken if _is_step(Path(path).name)}


def _milder(problem: Problem) -> Problem:
    """A root file may do without frontmatter."""
    if problem.code != "no_frontmatter":
        return problem
    return Problem(code=problem.code, message=problem.message, where=problem.where, severity=Severity.WARNING)
