"""One step's file as a step and its marks. Every finding has its line; a step with an id is always returned."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from drumline.core.ids import StepId
from drumline.core.kinds import FIELDS, FINALLY, name_kinds
from drumline.core.plan import NO_ESTIMATE, Check, Marks, Problem, Severity, Status, Step
from drumline.core.proof import Require
from drumline.core.roles import Role, find_role
from drumline.core.validation import normal_path
from drumline.late import import_late
from drumline.patterns import compile_late
from drumline.planfiles.frontmatter import ALSO_NEEDS, Frontmatter, read_frontmatter
from drumline.planfiles.hints import read_hints
from drumline.planfiles.markdown import BUCKETS, Body, Bucket, Item, read_body
from drumline.planfiles.source import digest
from drumline.record import Record, State, field, replace

if TYPE_CHECKING:
    import yaml
else:
    yaml = import_late("yaml")

REQUIRED = tuple(level.value for level in Require)
CLAIM_KEYS = ("assignee", "claimed_at", "reason")
ENGINE_KEYS = ("status", *CLAIM_KEYS)
KEYS = (
    *("id", "name", "title", "depends_on", "files", "checks", "red_first", "tier", "estimate", "role", "alone"),
    *("ordered", "agent", "require", "tests", "review", "flow", *FIELDS.values(), *ENGINE_KEYS),
)
"""What a step's file of the native format can say."""

_DURATION = compile_late(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[smhd])")
_HOURS = {"s": 1 / 3600, "m": 1 / 60, "h": 1.0, "d": 8.0}
"""A day is one of work."""
STATUSES: Mapping[str, Status] = {
    **{status.value: status for status in Status},
    "completed": Status.DONE,
    "in-progress": Status.CLAIMED,
    "pending": Status.READY,
}
"""Accepted when reading; only the values of `Status` are ever written."""


class Form(Record):
    """How one format writes a step's file: its words for each status, and which headings hold the criteria.

    `reads` are the accepted words (small letters, parted by hyphens), `absent` what no word means, `writes` the word
    for each status.
    """

    reads: Mapping[str, Status]
    writes: Mapping[Status, str]
    absent: Status = Status.READY
    buckets: Mapping[str, Bucket]
    fenced: bool = False

    def read_body(self, text: str, front: Frontmatter) -> Body:
        """The body behind the frontmatter, with this format's criteria."""
        return read_body(text, front.body, front.body_line, buckets=self.buckets, fenced=self.fenced)


NATIVE = Form(reads=STATUSES, writes={status: status.value for status in Status}, buckets=BUCKETS)


class StepFile(Record):
    """What one file says. `step` is None if it has no usable id."""

    step: Step | None
    marks: Marks
    problems: tuple[Problem, ...]


class Fields(State):
    """Reads typed values out of a frontmatter, noting what does not fit."""

    front: Frontmatter
    path: str
    form: Form = NATIVE
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, key: str, code: str, message: str) -> None:
        """Note an error at the key."""
        where = f"{self.path}:{self.front.line(key)}"
        self.problems.append(Problem(code=code, message=message, where=where))

    def warn(self, key: str, code: str, message: str) -> None:
        """Note a warning at the key."""
        where = f"{self.path}:{self.front.line(key)}"
        self.problems.append(Problem(code=code, message=message, where=where, severity=Severity.WARNING))

    def text(self, key: str) -> str:
        """The key's text, "" if there is none."""
        value = self.front.text(key)
        if value is None:
            self.refuse(key, "bad_value", f"{key!r} must be a text on one line")
        return value or ""

    def texts(self, key: str) -> tuple[str, ...]:
        """The key's list of texts, empty if there is none."""
        entry = self.front.entries.get(key)
        if entry is None or entry.value == "":
            return ()
        if not isinstance(entry.value, tuple):
            self.refuse(key, "bad_value", f"{key!r} must be a list, for example [a, b]")
            return ()
        if not all(value.strip() for value in entry.value):
            self.refuse(key, "bad_value", f"{key!r} holds an empty value")
        return tuple(value for value in entry.value if value.strip())

    def number(self, key: str, default: float) -> float:
        """The key's number, or the default."""
        value = self.text(key)
        if not value:
            return default
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.refuse(
                key, "bad_estimate", f"the {key} {value!r} is not a number above 0, or a duration such as 30m or 2h"
            )
            return default
        return number

    def hours(self, key: str) -> float:
        """The key's hours: a number, or a duration such as 30m or 2h; what nobody says is the default."""
        found = _DURATION.fullmatch(self.text(key).strip())
        if found is None:
            return self.number(key, NO_ESTIMATE)
        return float(found["number"]) * _HOURS[found["unit"]]

    def flag(self, key: str) -> bool:
        """Whether the key says true; no if there is none."""
        value = self.text(key).strip().casefold()
        if value not in ("", "true", "false"):
            self.refuse(key, "bad_value", f"{key!r} must be true or false")
        return value == "true"

    def require(self) -> str:
        """The level that the key `require` names."""
        value = self.text("require").strip()
        if value and value not in REQUIRED:
            self.refuse("require", "bad_value", f"'require' must be one of {', '.join(REQUIRED)}")
            return ""
        return value

    def kinds(self, source: str) -> tuple[Check, ...]:
        """The commands that the keys `format_cmd`, `lint_cmd`, `build_cmd` and `test_cmd` name."""
        return name_kinds({key: self.text(key) for key in FIELDS.values()}, source, FIELDS)

    def role(self) -> Role | None:
        """The shipped profile that the key `role` names."""
        name = self.text("role").strip()
        found = find_role(name)
        if name and found is None:
            self.warn("role", "unknown_role", f"the role {name!r} is not a known role, so it does not count")
        return found

    def marks(self) -> Marks:
        """The engine-owned fields."""
        word = self.text("status").strip()
        known = "-".join(word.casefold().replace("_", " ").split())
        status = self.form.reads.get(known) if word else self.form.absent
        if status is None:
            self.refuse("status", "bad_status", f"the status {word!r} is not one of {', '.join(self.form.reads)}")
        return Marks(
            status=status or Status.READY,
            assignee=self.text("assignee"),
            claimed_at=iso_time(self.text("claimed_at")),
            reason=self.text("reason"),
        )


def iso_time(text: str) -> str:
    """The time as ISO text if it is one in any of YAML's spellings, else as it stands."""
    try:
        datetime.fromisoformat(text)
        return text
    except ValueError:
        pass
    if not yaml.SafeLoader.timestamp_regexp.match(text):
        return text
    node = yaml.ScalarNode("tag:yaml.org,2002:timestamp", text)
    try:
        return yaml.SafeLoader("").construct_yaml_timestamp(node).isoformat()
    except ValueError:
        return text


def manual_items(body: Body) -> tuple[str, ...]:
    """What a person has to verify."""
    return tuple(item.text for item in list_manual(body))


def manual_lines(body: Body) -> tuple[int, ...]:
    """The lines of these items, if each of them has a box."""
    lines = tuple(item.line for item in list_manual(body))
    return lines if all(line in body.boxes for line in lines) else ()


def list_manual(body: Body) -> list[Item]:
    """These items with their lines."""
    return [item for item in body.items if item.bucket is Bucket.MANUAL]


def parse_step(text: str, path: str) -> StepFile:
    """The step in this file's text, its marks and everything that is wrong with the file alone."""
    front = read_frontmatter(text, path)
    if isinstance(front, Problem):
        return StepFile(step=None, marks=Marks(), problems=(front,))
    body = read_body(text, front.body, front.body_line)
    fields = Fields(front=front, path=path, problems=list(front.problems))
    marks = fields.marks()
    step = _step(fields, body, text)
    if not step.id and not any(p.code == "bad_value" for p in fields.problems):
        fields.refuse("id", "missing_id", "the frontmatter has no 'id'")
    _warn_of_misspellings(fields)
    problems = (*fields.problems, *not_run(body, path), *structure(text, body, marks, path))
    return StepFile(step=step if step.id else None, marks=marks, problems=problems)


def _warn_of_misspellings(fields: Fields) -> None:
    """Unknown fields are somebody else's and do not count; one that looks like a field that people write is named."""
    others = [key for key in fields.front.entries if key not in KEYS and key not in ALSO_NEEDS]
    if not others:
        return
    from difflib import get_close_matches

    free = [key for key in KEYS if key not in fields.front.entries and key not in CLAIM_KEYS]
    for key in others:
        kind = name_command(key)
        meant = [kind] if kind in free else get_close_matches(key.casefold(), free, n=1, cutoff=0.8)
        if meant:
            message = f"{key!r} is not a field of a step, so it does not count; did you mean {meant[0]!r}?"
            fields.warn(key, "misspelt_field", message)


def name_command(key: str) -> str:
    """The field for the command of a kind by which another field is called: `test_cmd` for `tests`; else empty."""
    plain = key.casefold().removesuffix("_command")
    return next((name for kind, name in FIELDS.items() if plain in (kind, f"{kind}s") and key != name), "")


def parse_marks(text: str, path: str, form: Form = NATIVE) -> tuple[Frontmatter, Marks] | Problem:
    """The frontmatter and marks of this file's text, or its first problem."""
    front = read_frontmatter(text, path)
    if isinstance(front, Problem):
        return front
    fields = Fields(front=front, path=path, form=form, problems=list(front.problems))
    marks = fields.marks()
    errors = [problem for problem in fields.problems if problem.severity is Severity.ERROR]
    return errors[0] if errors else (front, marks)


def neutral_digest(text: str, front: Frontmatter, body: Body) -> str:
    """The digest of everything people own: engine-owned lines left out, every box unticked."""
    cuts = [(e.first, e.last, "") for key, e in front.entries.items() if key in ENGINE_KEYS]
    cuts += [(box, box + 1, " ") for box in body.boxes.values()]
    return digest(replace_spans(text, cuts).encode())


def replace_spans(text: str, spans: list[tuple[int, int, str]]) -> str:
    """The text with each (start, end, replacement) applied; spans at one place keep their order."""
    pieces: list[str] = []
    here = 0
    for start, end, replacement in sorted(spans, key=lambda span: span[:2]):
        pieces += [text[here:start], replacement]
        here = end
    return "".join([*pieces, text[here:]])


def step_checks(body: Body) -> tuple[Check, ...]:
    """The commands of the Automated Verification list."""
    return tuple(Check(command=item.command, line=item.line) for item in body.items if item.command)


def _step(fields: Fields, body: Body, text: str) -> Step:
    step_id = fields.text("id").strip()
    front = fields.front
    checks = step_checks(body)
    runnable = {check.line for check in checks}
    role = fields.role()
    files = tuple(normal_path(path) or path for path in fields.texts("files"))
    hints = () if "files" in front.entries else read_hints(text[front.body :])
    return Step(
        id=StepId(step_id),
        title=" ".join((fields.text("name") or fields.text("title")).split()) or body.title or step_id,
        needs=tuple(StepId(need) for need in fields.texts("depends_on")),
        files=files or hints,
        binding=bool(files) or not hints,
        checks=(*_add_listed(checks, fields.texts("checks"), fields.texts("red_first")), *fields.kinds("step")),
        not_run=tuple(i.text for i in body.items if i.bucket is Bucket.VERIFICATION and i.line not in runnable),
        manual=manual_items(body),
        manual_lines=manual_lines(body),
        qa=tuple(item.text for item in body.items if item.bucket is Bucket.QA),
        tier=fields.text("tier").strip() or (role.tier if role else "standard"),
        agent=fields.text("agent"),
        review=fields.text("review"),
        flow=fields.text("flow").strip(),
        require=fields.require(),
        tests=fields.flag("tests"),
        role=role.name if role else "",
        alone=fields.flag("alone"),
        ordered=fields.flag("ordered"),
        estimate=fields.hours("estimate"),
        path=fields.path,
        line=front.line("id"),
        text_digest=neutral_digest(text, front, body),
    )


def _add_listed(checks: Sequence[Check], more: Sequence[str], red_first: Sequence[str]) -> tuple[Check, ...]:
    """The checks with those of the frontmatter; commands that must be red first are checks wherever they stand."""
    known = {check.command for check in checks} | {*more}
    listed = [*more, *(command for command in dict.fromkeys(red_first) if command not in known)]
    every = [*checks, *(Check(command=command) for command in listed)]
    return tuple(replace(check, red_first=True) if check.command in red_first else check for check in every)


def structure(text: str, body: Body, marks: Marks | None, path: str) -> Iterator[Problem]:
    """Where a file departs from the structure it follows, or its boxes from its status if it has one."""
    criteria = body.headings.get("success criteria")
    missing = [bucket.value for bucket in Bucket if bucket.value not in body.headings]
    if criteria is not None and missing:
        message = f"its Success Criteria have no list for {' and '.join(missing)}"
        yield Problem(code="missing_bucket", message=message, where=f"{path}:{criteria}", severity=Severity.WARNING)
    boxes = [i.line for i in body.items if i.bucket is Bucket.VERIFICATION and i.line in body.boxes]
    ready = marks is not None and marks.status is Status.READY
    if ready and boxes and all(text[body.boxes[line]] != " " for line in boxes):
        message = "every check is ticked but the status is not done; the status counts, so the step will be worked on"
        yield Problem(code="boxes_ticked", message=message, where=f"{path}:{boxes[0]}", severity=Severity.WARNING)


def list_final(body: Body) -> tuple[Check, ...]:
    """The commands of a plan that must succeed after its last step."""
    return tuple(Check(command=item.command, source=FINALLY) for item in body.items if item.command)


def list_not_run(*bodies: Body) -> tuple[str, ...]:
    """What such lists say and nobody can run, without what a person verifies."""
    items = (item for body in bodies for item in body.items if item.bucket is not Bucket.MANUAL)
    return tuple(item.text for item in items if not item.command)


def not_run(body: Body, path: str) -> tuple[Problem, ...]:
    """A warning for each criterion that should be a command and is none."""
    return tuple(
        Problem(
            code="check_not_command",
            message=f"{item.text[:80]!r} is not run: {item.fault}",
            where=f"{path}:{item.line}",
            severity=Severity.WARNING,
        )
        for item in body.items
        if item.fault
    )
