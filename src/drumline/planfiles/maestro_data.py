"""Maestro phases kept as data: a JSON or YAML file, a fenced block of a markdown plan, or a file's frontmatter."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Problem, Step
from drumline.datatext import Data, Flaw, Kind, Node, read_data
from drumline.planfiles.correction import inherited
from drumline.planfiles.dataedit import Editor, Span, Value
from drumline.planfiles.document import Parsed
from drumline.planfiles.maestro_handoff import FIELDS
from drumline.planfiles.maestro_markdown import blocks
from drumline.planfiles.maestro_phases import count_problem, find_phases, phase_id, read_phases, to_steps, warning
from drumline.planfiles.source import BOM, NEWLINE, line_at, line_starts
from drumline.ports.planfiles import Correction
from drumline.record import Record, replace

TITLE_CHARS = 120
_INFOS = frozenset({"json", "yaml", "yml", "jsonc", "json5"})
_EXPRESS = "express"


class Region(Record):
    """Where data stands in a text: between two offsets; whatever follows the frontmatter begins at `after`."""

    start: int
    end: int
    after: int


def whole(text: str) -> Region:
    """The text without its byte-order mark."""
    start = len(BOM) if text.startswith(BOM) else 0
    return Region(start=start, end=len(text), after=len(text))


def frontmatter(text: str) -> Region | None:
    """What stands between the first line `---` and the next one; None if the text does not begin so."""
    first = len(BOM) if text.startswith(BOM) else 0
    starts = line_starts(text, first)
    lines = [*starts, len(text)]
    if text[first : lines[1]].rstrip() != "---":
        return None
    for number in range(1, len(starts)):
        if text.startswith("---", starts[number]) and text[starts[number] : lines[number + 1]].rstrip() == "---":
            return Region(start=starts[1], end=starts[number], after=lines[number + 1])
    return None


def fenced(text: str, start: int) -> Region | None:
    """The first fenced block of a markdown body that carries phases as data."""
    starts = line_starts(text, start)
    for token in blocks().parse(text[start:]):
        words = token.info.split() if token.type == "fence" and token.level == 0 else []
        if not words or words[0].casefold() not in _INFOS or token.map is None:
            continue
        first, last = token.map[0] + 1, token.map[1] - 1
        region = Region(start=starts[first], end=starts[max(first, min(last, len(starts) - 1))], after=start)
        same = NEWLINE.sub("\n", text[region.start : region.end]) == token.content
        data = read_data(text, region.start, region.end) if same else None
        if isinstance(data, Data) and find_phases(data.root) is not None:
            return region
    return None


def parse_data(text: str, path: str, region: Region, *, state: bool) -> Parsed:
    """The plan in this part of the text; never raises, but lists what is wrong with it."""
    starts = line_starts(text)
    data = read_data(text, region.start, region.end)
    if isinstance(data, Flaw):
        where = f"{path}:{line_at(starts, data.offset)}"
        return Parsed(problems=(Problem(code=data.code, message=data.message, where=where),))
    top = f"{path}:{line_at(starts, data.root.start)}"
    phases = find_phases(data.root)
    if phases is None:
        return Parsed(problems=(Problem(code="invalid_plan", message="has no list of 'phases'", where=top),))
    drafts, problems = read_phases(
        phases, text=text, where=lambda offset: f"{path}:{line_at(starts, offset)}", state=state
    )
    if state and (fresh := find_fresh(data.root)) is not None:
        begun = phase_id(fresh)
        drafts = [replace(draft, marks=Marks()) if draft.id == begun else draft for draft in drafts]
    steps, agent_problems = to_steps(drafts, path)
    complexity = data.root.text("task_complexity")
    twice = [_twice(key, f"{path}:{line_at(starts, offset)}") for key, offset in data.twice]
    return Parsed(
        steps=steps,
        marks={StepId(draft.id): draft.marks for draft in drafts},
        texts={StepId(draft.id): NEWLINE.sub("\n", draft.text) for draft in drafts},
        problems=(*twice, *problems, *agent_problems, *count_problem(drafts, complexity, top), *_mode(data.root, top)),
        title=title_of(data.root),
        complexity=complexity,
        express=data.root.text("workflow_mode") == _EXPRESS,
    )


def find_fresh(root: Node) -> Node | None:
    """The first phase of a session that was just created: it is called in progress although nobody has begun it."""
    phases = find_phases(root)
    first = phases.items[0] if phases is not None and phases.items else None
    created = root.text("created")
    if first is None or not created or first.text("started") != created or first.text("status") != "in_progress":
        return None
    written = (first.get(key) for key in ("files_created", "files_modified", "files_deleted", "errors"))
    return None if any(node is not None and node.items for node in written) else first


def title_of(root: Node) -> str:
    """What a plan calls itself, on one line."""
    words = root.text("title") or root.text("task") or root.text("name")
    flat = " ".join(words.split())
    return flat if len(flat) <= TITLE_CHARS else flat[: TITLE_CHARS - 1] + "…"


def find_phase(root: Node, step: StepId) -> tuple[Node, int] | None:
    """The list of phases and the number of the one with this id; the last counts, as for readings by id."""
    phases = find_phases(root)
    numbers = [number for number, item in enumerate(phases.items) if phase_id(item) == step] if phases else []
    return (phases, numbers[-1]) if phases and numbers else None


def insert_phase(text: str, region: Region, correction: Correction, helps: Step, *, state: bool) -> list[Span]:
    """The replacements that add a corrective phase after the one it helps, which then waits for it."""
    data = read_data(text, region.start, region.end)
    found = find_phase(data.root, helps.id) if isinstance(data, Data) else None
    if found is None or isinstance(data, Flaw):
        return []
    phases, number = found
    editor = Editor(text, data.root)
    helped = phases.items[number]
    _wait_for(editor, helped, correction.id)
    editor.insert_after(phases, number, _record(correction, helps, helped, state=state))
    return editor.spans


def _wait_for(editor: Editor, helped: Node, blocker: StepId) -> None:
    needs = helped.get("blocked_by")
    if needs is not None and needs.kind is Kind.SEQUENCE and needs.items:
        editor.insert_after(needs, len(needs.items) - 1, blocker)
    else:
        editor.set(helped, "blocked_by", [blocker])


def _record(correction: Correction, helps: Step, helped: Node, *, state: bool) -> dict[str, Value]:
    """The corrective phase; it takes over the needs as they are written, numbers as numbers."""
    taken = inherited(helps)
    needs = helped.get("blocked_by")
    written = [item.value for item in needs.items if str(item.value).strip() in taken] if needs else []
    agent = clean(helps.role) or "coder"
    record: dict[str, Value] = {"id": correction.id, "name": clean(" ".join(correction.title.split()))}
    if state:
        record |= {"status": "pending", "agents": [agent], "parallel": False, "started": None, "completed": None}
    else:
        record |= {"agent": agent, "parallel": False}
    record["blocked_by"] = written
    files = [clean(file) for file in correction.files]
    record |= _write_progress(files) if state else {"files": files}
    record |= {"objective": clean(correction.what), "reason_for_correction": clean(correction.why)}
    carried = [command for command in correction.carried if clean(command) == command]
    commands = [*([clean(correction.test)] if correction.test else []), *carried]
    return record | ({"checks": commands} if commands else {})


def _write_progress(files: Sequence[str]) -> dict[str, Value]:
    return {
        "files_created": [],
        "files_modified": [],
        "files_deleted": [],
        "planned_files": list(files),
        "downstream_context": {name: [] for name in FIELDS},
        "errors": [],
        "retry_count": 0,
    }


def clean(text: str) -> str:
    """The text as JSON and YAML can both hold it between quotes."""
    flat = NEWLINE.sub("\n", text)
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in flat)


def _twice(key: str, where: str) -> Problem:
    return Problem(code="duplicate_key", message=f"the key {key!r} is there twice", where=where)


def _mode(root: Node, where: str) -> list[Problem]:
    word = root.text("workflow_mode")
    if word in ("", "standard", _EXPRESS):
        return []
    return [warning("bad_workflow_mode", f"the workflow_mode {word!r} is not known; assumed: standard", where)]
