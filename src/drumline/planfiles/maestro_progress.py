"""The progress report of Maestro: manifests, contexts, errors, retries and token counts, in the style it has.

Writing the same report twice changes nothing, and nothing a person or another tool wrote is taken away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.ids import StepId
from drumline.core.roles import find_role
from drumline.core.vocabulary import RunStanding, StepStanding
from drumline.datatext import Flaw, Kind, Node, read_data
from drumline.planfiles.dataedit import Editor, Span, Value
from drumline.planfiles.maestro_archive import is_over
from drumline.planfiles.maestro_data import Region, clean
from drumline.planfiles.maestro_handoff import FIELDS, populated, read_context
from drumline.planfiles.maestro_phases import find_phases, phase_id
from drumline.ports.planfiles import ProgressReport, StepFailure, StepProgress, Trouble

_MODES = ("parallel", "sequential")
_OVER = frozenset({"done", "skipped"})
_COUNTS = {"input": "total_input", "output": "total_output", "cached": "total_cached"}
_TYPES: Mapping[Trouble, str] = {
    Trouble.WORK: "validation",
    Trouble.TIME: "timeout",
    Trouble.CONFLICT: "file_conflict",
    Trouble.OTHER: "runtime",
}
"""The type of an error."""


def write_progress(text: str, region: Region, progress: ProgressReport) -> list[Span]:
    """The replacements that bring a state file up to date."""
    data = read_data(text, region.start, region.end)
    if isinstance(data, Flaw) or data.root.kind is not Kind.MAPPING:
        return []
    editor = Editor(text, data.root)
    phases = find_phases(data.root)
    by_id = {phase_id(item): item for item in phases.items} if phases is not None else {}
    for step in progress.steps:
        if step.step in by_id:
            _write_phase(editor, by_id[step.step], step)
    _write_session(editor, data.root, progress, by_id)
    if editor.spans:
        editor.set(data.root, "updated", progress.now)
    return editor.spans


def _write_phase(editor: Editor, phase: Node, step: StepProgress) -> None:
    if step.started:
        editor.set(phase, "started", step.started)
    if step.finished and step.state == StepStanding.DONE:
        editor.set(phase, "completed", step.finished)
    for key, paths in _manifests(step):
        old = _texts(phase.get(key))
        editor.set(phase, key, list(dict.fromkeys([*old, *(clean(path) for path in paths)])))
    if step.retries > _count(phase.get("retry_count")):
        editor.set(phase, "retry_count", step.retries)
    _write_context(editor, phase, step.said)
    _write_errors(editor, phase, step)


def read_downstream(root: Node, phase_of: str) -> str:
    """What the progress report has of a phase for those that come after it; empty if that is nothing."""
    phases = find_phases(root)
    phase = next((one for one in phases.items if phase_id(one) == phase_of), None) if phases is not None else None
    context = phase.get("downstream_context") if phase is not None else None
    if context is None or context.kind is not Kind.MAPPING:
        return ""
    told = {name: [word for word in _texts(context.get(name)) if word.strip()] for name in FIELDS}
    return "\n".join(f"- {name.replace('_', ' ')}: {'; '.join(words)}" for name, words in told.items() if words)


def _manifests(step: StepProgress) -> list[tuple[str, Sequence[str]]]:
    lists = {"files_created": step.created, "files_modified": step.modified, "files_deleted": step.deleted}
    return [(key, paths) for key, paths in lists.items() if paths]


def _write_context(editor: Editor, phase: Node, said: str) -> None:
    context = {name: [clean(word) for word in words] for name, words in read_context(said).items()}
    if not populated({name: tuple(words) for name, words in context.items()}):
        return
    old = phase.get("downstream_context")
    if old is None or old.kind is not Kind.MAPPING or not old.pairs:
        editor.set(phase, "downstream_context", context)
        return
    for name in FIELDS:
        editor.set(old, name, context[name])


def _write_errors(editor: Editor, phase: Node, step: StepProgress) -> None:
    """One entry for each failure, with what came of it; a phase that is over has none left to ask about."""
    errors = phase.get("errors")
    known = [item for item in errors.items if item.kind is Kind.MAPPING] if errors is not None else []
    left = list(known)
    new: list[Value] = []
    for failure in step.failures:
        there = next((item for item in left if _is_about(item, failure)), None)
        if there is None:
            new.append(_error_record(agent_of(phase), failure, step.state))
            continue
        left.remove(there)
        _settle(editor, there, failure, step.state)
    if step.state in _OVER:
        for item in (item for item in left if _open(item)):
            _resolve(editor, item, "skipped" if step.state == StepStanding.SKIPPED else "retried")
    if not new:
        return
    if errors is None or not errors.items:
        editor.set(phase, "errors", new)
        return
    for record in new:
        editor.insert_after(errors, len(errors.items) - 1, record)


def _is_about(error: Node, failure: StepFailure) -> bool:
    return error.text("message") == clean(failure.message) and error.text("timestamp") == failure.at


def _settle(editor: Editor, error: Node, failure: StepFailure, state: str) -> None:
    """Write what came of a failure into its entry, unless it is settled."""
    wanted = _resolution(failure, state)
    if _open(error) and error.text("resolution") != wanted:
        editor.set(error, "resolution", wanted)
    if _open(error) and state in _OVER:
        editor.set(error, "resolved", True)


def _resolve(editor: Editor, error: Node, word: str) -> None:
    editor.set(error, "resolution", word)
    editor.set(error, "resolved", True)


def _resolution(failure: StepFailure, state: str) -> str:
    if failure.retried:
        return "retried"
    return "skipped" if state == StepStanding.SKIPPED else "pending"


def _open(error: Node) -> bool:
    found = error.get("resolved")
    return found is None or found.value is not True


def _error_record(agent: str, failure: StepFailure, state: str) -> dict[str, Value]:
    return {
        "agent": agent,
        "timestamp": failure.at,
        "type": _TYPES[failure.trouble],
        "message": clean(failure.message),
        "resolution": _resolution(failure, state),
        "resolved": state in _OVER,
    }


def agent_of(phase: Node) -> str:
    """The agent of a phase as it is written there."""
    several = phase.get("agents")
    named = [item.value for item in several.items if isinstance(item.value, str)] if several is not None else []
    return phase.text("agent") or (named[0] if named else "coder")


def _write_session(editor: Editor, root: Node, progress: ProgressReport, by_id: Mapping[str, Node]) -> None:
    phases = find_phases(root)
    if phases is None:
        return
    states = {step.step: step.state for step in progress.steps}
    if progress.mode in _MODES:
        editor.set(root, "execution_mode", progress.mode)
    editor.set(root, "status", "completed" if progress.state == RunStanding.DONE and is_over(root) else "in_progress")
    running = [item for item in phases.items if states.get(StepId(phase_id(item))) == StepStanding.RUNNING]
    current = running[0] if running else _first_open(phases, states)
    if current is not None and current.get("id") is not None:
        editor.set(root, "current_phase", current.pairs["id"].value)
    ids = [phase_id(item) for item in running]
    editor.set(root, "current_batch", f"batch-{'-'.join(ids)}" if len(ids) > 1 else None)
    if root.get("total_phases") is not None:
        editor.set(root, "total_phases", len(phases.items))
    _write_usage(editor, root, _spent_by_agent(progress, by_id))


def _first_open(phases: Node, states: Mapping[StepId, str]) -> Node | None:
    """The phase that comes next, or the last one if nothing is left."""
    for item in phases.items:
        done = item.text("status") in ("completed", "skipped") or states.get(StepId(phase_id(item))) in _OVER
        if not done:
            return item
    return phases.items[-1] if phases.items else None


def _write_usage(editor: Editor, root: Node, spent: dict[str, dict[str, int]]) -> None:
    """Set what this run's agents used; totals never shrink below what was there."""
    if not spent:
        return
    usage = root.get("token_usage")
    if usage is None or usage.kind is not Kind.MAPPING:
        editor.set(root, "token_usage", {**_totals(spent, None), "by_agent": spent})
        return
    by_agent = usage.get("by_agent")
    merged = {**_counted(by_agent), **spent}
    for key, total in _totals(merged, usage).items():
        editor.set(usage, key, total)
    if by_agent is None or by_agent.kind is not Kind.MAPPING or not by_agent.pairs:
        editor.set(usage, "by_agent", spent)
        return
    for agent, counts in spent.items():
        editor.set(by_agent, agent, counts)


def _spent_by_agent(progress: ProgressReport, by_id: Mapping[str, Node]) -> dict[str, dict[str, int]]:
    spent: dict[str, dict[str, int]] = {}
    for step in progress.steps:
        used = {name: int(step.usage.get(name, 0)) for name in _COUNTS}
        if step.step not in by_id or not any(used.values()):
            continue
        agent = agent_of(by_id[step.step])
        role = find_role(agent)
        counts = spent.setdefault(role.name if role else clean(agent), dict.fromkeys(_COUNTS, 0))
        for name, number in used.items():
            counts[name] += number
    return spent


def _counted(by_agent: Node | None) -> dict[str, dict[str, int]]:
    pairs = by_agent.pairs if by_agent is not None else {}
    return {agent: {name: _count(counts.get(name)) for name in _COUNTS} for agent, counts in pairs.items()}


def _totals(spent: Mapping[str, Mapping[str, int]], usage: Node | None) -> dict[str, int]:
    sums = {key: sum(counts[name] for counts in spent.values()) for name, key in _COUNTS.items()}
    return {key: max(total, _count(usage.get(key)) if usage else 0) for key, total in sums.items()}


def _count(node: Node | None) -> int:
    value = node.value if node is not None else 0
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _texts(node: Node | None) -> list[str]:
    return [item.value for item in node.items if isinstance(item.value, str)] if node is not None else []
