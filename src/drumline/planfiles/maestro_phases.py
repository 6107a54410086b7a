"""Phases of a Maestro plan: records with id, name, agent, parallel, blocked_by and files, turned into steps.

Every field is checked and every finding has its line; a phase with an id always becomes a step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Problem, Severity, Status, Step
from drumline.core.roles import Capability, Role, find_role
from drumline.core.validation import normal_path
from drumline.datatext import Kind, Node, Scalar, plain
from drumline.planfiles.source import digest
from drumline.record import Record, field

PHASE_LIMITS = {"simple": 3, "medium": 5}
WORDS = {
    "pending": Status.READY,
    "in_progress": Status.CLAIMED,
    "completed": Status.DONE,
    "failed": Status.FAILED,
    "skipped": Status.SKIPPED,
}
"""The words of a state file; `WORD_FOR` says which of them is written."""

WORD_FOR = {status: word for word, status in WORDS.items()} | {Status.BLOCKED: "failed"}
"""Blocked is written as failed: Maestro resumes at a failed phase by asking, at a pending one by starting it."""


def word_for(marks: Marks) -> str:
    """The word that is written; a phase that waits for an answer or a quota has not failed."""
    return WORD_FOR[Status.CLAIMED if marks.waits else marks.status]


_DRIFTED = {"complete": "completed", "done": "completed", "in-progress": "in_progress", "blocked": "failed"}
_PROGRESS = frozenset(
    {
        "status",
        "started",
        "completed",
        "files_created",
        "files_modified",
        "files_deleted",
        "downstream_context",
        "errors",
        "retry_count",
        "requires_reconciliation",
        "reconciliation_reason",
    }
)
_MAKES = re.compile(r"\b(implement|create|build|scaffold|write|generate|set ?up|develop)\b", re.IGNORECASE)
_CORRECTIVE = re.compile(r".+[hm][0-9]*|R[0-9]+[a-z]*")

Where = Callable[[int], str]
"""`file:line` of an offset."""


class Draft(Record):
    """A phase as its source states it. `agent` is as written; `agent_where` is the place of that."""

    id: str
    name: str
    agent: str
    parallel: bool
    where: str
    agent_where: str
    digest: str
    text: str = ""
    needs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    not_run: tuple[str, ...] = ()
    binding: bool = True
    ordered: bool = False
    marks: Marks = field(default_factory=Marks)


def find_phases(root: Node) -> Node | None:
    """The list of phases in a document: its `phases`, or the root itself if it is a list of records with ids."""
    if root.kind is Kind.SEQUENCE:
        return root if root.items and all(item.get("id") for item in root.items) else None
    found = root.get("phases")
    return found if found is not None and found.kind is Kind.SEQUENCE else None


def phase_id(node: Node) -> str:
    """The id of a phase record, or "" if it has none that is legal."""
    found = node.get("id")
    return _id_text(found.value) if found is not None else ""


def read_phases(phases: Node, *, text: str, where: Where, state: bool) -> tuple[list[Draft], list[Problem]]:
    """The phases of a list, and what is wrong with their fields; a state file may leave out more than a plan."""
    drafts: list[Draft] = []
    problems: list[Problem] = []
    kinds: dict[str, type] = {}
    for number, item in enumerate(phases.items, start=1):
        reader = _Record(node=item, number=number, where=where, state=state, problems=problems)
        draft = reader.read(text)
        if draft is not None:
            drafts.append(draft)
            kinds.setdefault(draft.id, type(item.pairs["id"].value))
    problems += _mixed_ids(phases, kinds, where)
    return drafts, problems


def to_steps(drafts: Sequence[Draft], path: str) -> tuple[tuple[Step, ...], list[Problem]]:
    """The steps of these phases, and what is wrong with their agents."""
    problems: list[Problem] = []
    steps: list[Step] = []
    for draft in drafts:
        role = find_role(draft.agent)
        problems += _agent_problems(draft, role)
        steps.append(_step(draft, role, path))
    return tuple(steps), problems


def count_problem(drafts: Sequence[Draft], complexity: str, where: str) -> list[Problem]:
    """The problem of a plan with more phases than its declared complexity allows; corrective ones do not count."""
    limit = PHASE_LIMITS.get(complexity)
    count = sum(not _CORRECTIVE.fullmatch(draft.id) for draft in drafts)
    if limit is None or count <= limit:
        return []
    message = f"a {complexity} plan may have {limit} phases, this one has {count}; declare another task_complexity"
    return [Problem(code="phase_count", message=message, where=where)]


def warning(code: str, message: str, where: str) -> Problem:
    """A finding that does not stop a run."""
    return Problem(code=code, message=message, where=where, severity=Severity.WARNING)


@dataclass(kw_only=True, slots=True)
class _Record:
    """Reads one record's fields, noting what does not fit; `number` is its place in the list, from 1."""

    node: Node
    number: int
    where: Where
    state: bool
    problems: list[Problem]

    def read(self, text: str) -> Draft | None:
        step_id = self._id()
        name, agent = self._name(step_id), self._agent()
        parallel, needs, files = self._parallel(), self._needs(), self._files()
        if not step_id:
            return None
        agent_node = self.node.get("agent") or self.node.get("agents") or self.node
        return Draft(
            id=step_id,
            name=name or f"Phase {step_id}",
            agent=agent,
            parallel=parallel,
            needs=needs,
            files=files,
            checks=tuple(Check(command=command) for command in self._texts("checks")),
            marks=Marks(status=self._status()),
            where=self.where(self.node.start),
            agent_where=self.where(agent_node.start),
            digest=digest(json.dumps(self._definition(), sort_keys=True, default=str).encode("utf-8", "replace")),
            text=text[self.node.start : self.node.end],
        )

    def refuse(self, key: str, code: str, message: str) -> None:
        at = self.node.keys.get(key, self.node)
        self.problems.append(Problem(code=code, message=f"{self._describe()}: {message}", where=self.where(at.start)))

    def missing(self, key: str, assumed: str = "") -> None:
        at = self.where(self.node.start)
        if assumed and self.state:
            message = f"{self._describe()} has no {key!r}; assumed: {assumed}"
            self.problems.append(warning("missing_required_field", message, at))
        else:
            self.refuse(key, "missing_required_field", f"a phase must have {key!r}")

    def _describe(self) -> str:
        """The phase in words: in a file of one line, lines tell nobody which one is meant."""
        found = self.node.get("id")
        return f"phase {self.number}" if found is None or not _id_text(found.value) else f"phase {found.value!r}"

    def _definition(self) -> object:
        """What people own of the record: in a state file everything but its progress report."""
        owned = _PROGRESS if self.state else frozenset({"status"})
        return {key: plain(value) for key, value in self.node.pairs.items() if key not in owned}

    def _id(self) -> str:
        found = self.node.get("id")
        if found is None:
            self.missing("id")
            return ""
        step_id = _id_text(found.value)
        if not step_id:
            shown = json.dumps(plain(found))[:60]
            self.refuse("id", "invalid_field_type", f"the id {shown} is neither a text nor a whole number above 0")
        return step_id

    def _name(self, step_id: str) -> str:
        found = self.node.get("name")
        if found is None:
            self.missing("name", f"Phase {step_id}")
            return ""
        if not isinstance(found.value, str) or not found.value.strip():
            self.refuse("name", "invalid_field_type", "the name must be a text that is not empty")
            return ""
        return " ".join(found.value.split())

    def _agent(self) -> str:
        found = self.node.get("agent")
        several = self.node.get("agents")
        if found is None and several is not None and several.items:
            if len(several.items) > 1:
                message = f"{self._describe()} has {len(several.items)} agents; assumed: the first does the work"
                self.problems.append(warning("several_agents", message, self.where(several.start)))
            found = several.items[0]
        if found is None:
            self.missing("agent", "coder")
            return "coder" if self.state else ""
        if not isinstance(found.value, str) or not found.value.strip():
            self.refuse("agent", "invalid_field_type", "the agent must be the name of a role")
            return ""
        return found.value.strip()

    def _parallel(self) -> bool:
        found = self.node.get("parallel")
        if found is None:
            self.missing("parallel", "false")
            return False
        if not isinstance(found.value, bool):
            self.refuse("parallel", "invalid_field_type", "'parallel' must be true or false")
            return False
        return found.value

    def _needs(self) -> tuple[str, ...]:
        found = self.node.get("blocked_by")
        if found is None:
            self.missing("blocked_by", "nothing")
            return ()
        if found.kind is not Kind.SEQUENCE:
            self.refuse("blocked_by", "invalid_field_type", "'blocked_by' must be a list of ids")
            return ()
        for item in found.items:
            if not _id_text(item.value):
                shown = json.dumps(plain(item))[:60]
                self.refuse("blocked_by", "invalid_field_type", f"'blocked_by' holds {shown}, which is not an id")
        return tuple(need for item in found.items if (need := _id_text(item.value)))

    def _files(self) -> tuple[str, ...]:
        """The files a phase owns; what a state file says was created or changed is a result, not a promise."""
        keys = ("planned_files", "files") if self.state else ("files", "files_created", "files_modified")
        found = [path for key in keys for path in self._texts(key)]
        return tuple(dict.fromkeys(normal_path(path) or path for path in found))

    def _texts(self, key: str) -> tuple[str, ...]:
        found = self.node.get(key)
        if found is None or (found.kind is Kind.SCALAR and found.value is None):
            return ()
        good = [item.value for item in found.items if isinstance(item.value, str) and item.value.strip()]
        if found.kind is not Kind.SEQUENCE or len(good) != len(found.items):
            self.refuse(key, "invalid_field_value", f"{key!r} must be a list of texts that are not empty")
        return tuple(good)

    def _status(self) -> Status:
        found = self.node.get("status") if self.state else None
        if found is None or found.value is None:
            return Status.READY
        word = str(found.value).strip().casefold()
        status = WORDS.get(_DRIFTED.get(word, word))
        if status is None:
            legal = ", ".join(WORDS)
            self.refuse("status", "bad_status", f"the status {found.value!r} is not one of {legal}")
        return status or Status.READY


def _id_text(value: Scalar) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else ""


def _mixed_ids(phases: Node, kinds: Mapping[str, type], where: Where) -> Iterator[Problem]:
    """A number and the same number as a text are one id here; elsewhere they may not be."""
    for item in phases.items:
        blockers = item.get("blocked_by")
        named = [item.pairs["id"]] if item.get("id") is not None else []
        for node in [*named, *(blockers.items if blockers is not None else ())]:
            name = _id_text(node.value)
            if name in kinds and type(node.value) is not kinds[name]:
                message = f"{json.dumps(node.value)} is written both as a text and as a number; assumed: the same id"
                yield warning("mixed_ids", message, where(node.start))


def _agent_problems(draft: Draft, role: Role | None) -> Iterator[Problem]:
    if role is None:
        if draft.agent:
            message = f"the agent {draft.agent!r} is not a known role"
            yield Problem(code="unknown_agent", message=message, where=draft.agent_where)
        return
    if draft.files and not role.capability.writes:
        message = f"the agent {role.name!r} may not write ({role.capability.value}), but the phase owns files"
        severity = Severity.ERROR if draft.binding else Severity.WARNING
        yield Problem(code="agent_capability_mismatch", message=message, where=draft.agent_where, severity=severity)
    elif role.capability is Capability.READ_ONLY and (verb := _MAKES.search(draft.name)):
        message = f"the agent {role.name!r} may only read, but the phase's name says {verb[0]!r}"
        yield warning("agent_capability_mismatch", message, draft.agent_where)


def _step(draft: Draft, role: Role | None, path: str) -> Step:
    return Step(
        id=StepId(draft.id),
        title=draft.name,
        needs=tuple(StepId(need) for need in draft.needs),
        files=draft.files,
        checks=draft.checks,
        not_run=draft.not_run,
        role=role.name if role else draft.agent,
        tier=role.tier if role else "standard",
        alone=not draft.parallel,
        binding=draft.binding,
        ordered=draft.ordered,
        path=path,
        line=int(draft.where.rpartition(":")[2]),
        text_digest=draft.digest,
    )
