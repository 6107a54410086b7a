"""The reference of the formats' tables: words of status, what is written where, roles, keys. None is typed by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from tools.docs.specimens import SPECIMENS, Specimen, Written, insert_step, read_word, write_marks
from tools.docs.tables import join, table

from drumline.app.finding import PLACES
from drumline.core.plan import Marks, Status
from drumline.core.roles import ROLES, Role
from drumline.core.routing import MODELS
from drumline.planfiles import FORMATS
from drumline.planfiles.maestro_phases import PHASE_LIMITS, WORDS
from drumline.planfiles.phased import RESULTS, form_for
from drumline.planfiles.stepfile import STATUSES
from drumline.planfiles.waves_fields import CHUNK_FIELDS, PLAN_FIELDS, FieldRule

DRIFTED = ("in progress", "inprogress", "started", "complete", "finished", "not started", "todo", "skip", "wip")
"""Words that plans are seen to use beside those of the formats themselves."""

CANDIDATES = tuple(dict.fromkeys([*STATUSES, *form_for("").reads, *WORDS, *DRIFTED]))
CLAIM = Marks(status=Status.CLAIMED, assignee="drumline/RUN", claimed_at="2026-03-14T09:15:00Z")
ROLE_COLUMNS = ("role", "may", "tier", "minutes", "turns", "temperature", "its prompt adds")
OUTCOMES: Mapping[str, tuple[Marks, ...]] = {
    "in work": (CLAIM,),
    "done": (CLAIM, Marks(status=Status.DONE)),
    "given back": (CLAIM, Marks()),
    "blocked": (CLAIM, Marks(status=Status.BLOCKED, reason="WHY")),
    "failed": (CLAIM, Marks(status=Status.FAILED, reason="WHY")),
    "skipped": (CLAIM, Marks(status=Status.SKIPPED, reason="WHY")),
}
"""What can become of a step, each as the writes that lead there."""


def formats_page() -> str:
    """All tables on one page."""
    return join(
        "# Tables of the plan formats",
        "What the tables say was found by reading and writing a small plan of each format. The rules behind them are "
        "in [plan formats](formats.md).",
        "## Which format a plan has",
        f"They are tried in this order: {_listed(FORMATS)}. The first that recognises the files is taken; "
        "`--format` overrules it.",
        "## Where the newest unfinished plan is looked for",
        "\n".join(f"- `{place}`" for place in PLACES),
        "## Words of status that are read",
        "Capitals, and `_` or a blank for `-`, make no difference in frontmatter. Words in the last column are read "
        "with a warning. Any other word is an error (`bad_status`), except in brackets behind a heading: there it "
        "belongs to the title, and the step has no status, which means pending, with a warning (`no_status`).",
        *[_words(specimen) for specimen in SPECIMENS if specimen.has_words],
        "## What each outcome writes",
        "Lines that are new or changed in the plan's file, and what the sidecar then says of the step. Where the "
        "file has no place for it, nothing is written there.",
        *[_outcomes(specimen) for specimen in SPECIMENS],
        "### phased, beside a handoff",
        "The status word that is written for each mark, by the `result` of the step's handoff.",
        _beside_handoffs(),
        "## How a corrective step looks",
        "A step that helps the only step of the small plan, as it is inserted. Every other line stays.",
        *[_inserted(specimen) for specimen in SPECIMENS],
        "## Keys of a plan in waves",
        "The JSON Schema for editors is `drumline/schemas/waves.schema.json` in the package. Unknown keys are ignored "
        "with a warning.",
        *_keys(),
        "## Phases by declared complexity",
        _limits(),
        "## Roles",
        "The agents that a maestro plan may name, in any case, with `_` or `-`.",
        table(ROLE_COLUMNS, map(_role, ROLES.values())),
    )


def _words(specimen: Specimen) -> str:
    found = {word: read_word(specimen, word) for word in CANDIDATES}
    rows = []
    for status in Status:
        read = [word for word, (meant, drifted) in found.items() if meant is status and not drifted]
        drifting = [word for word, (meant, drifted) in found.items() if meant is status and drifted]
        rows.append((status.value, _listed(read), _listed(drifting)))
    return f"### {specimen.title}\n\n" + table(("meaning", "words", "with a warning"), rows)


def _outcomes(specimen: Specimen) -> str:
    rows = [(name, *_shown(write_marks(specimen, *marks))) for name, marks in OUTCOMES.items()]
    return f"### {specimen.title}\n\n" + table(("outcome", "in the file", "in the sidecar"), rows)


def _shown(written: Written) -> tuple[str, str]:
    steps = json.loads(written.beside)["steps"] if written.beside else {}
    kept = [f"`{json.dumps(marks)}`" for marks in steps.values()]
    return "<br>".join(_code(line) for line in written.lines), "<br>".join(kept)


def _inserted(specimen: Specimen) -> str:
    parts = [f"### {specimen.title}"]
    for name, lines in insert_step(specimen).items():
        parts.append(f"`{name}`\n\n" + "\n".join(["```diff", *lines, "```"]))
    return "\n\n".join(parts)


def _beside_handoffs() -> str:
    forms = [form_for(result) for result in ("", *RESULTS)]
    rows = [(status.value, *(f"`{form.writes[status]}`" for form in forms)) for status in Status]
    return table(("mark", "no handoff", *RESULTS), rows)


def _keys() -> Iterable[str]:
    for name, fields in (("The file", PLAN_FIELDS), ("A chunk", CHUNK_FIELDS)):
        yield f"### {name}"
        yield table(("key", "value", "required", "meaning"), map(_key, fields))
    yield table(("model", "tier"), [(f"`{model}`", tier) for model, tier in MODELS.items()])


def _key(rule: FieldRule) -> tuple[str, str, str, str]:
    return f"`{rule.name}`", rule.kind.value, "yes" if rule.required else "", rule.about


def _limits() -> str:
    rows = [(f"`{name}`", str(most)) for name, most in PHASE_LIMITS.items()]
    return table(("`task_complexity`", "phases at most"), [*rows, ("any other, or none", "no limit")])


def _role(role: Role) -> tuple[str, ...]:
    limits = (str(role.minutes), str(role.turns), f"{role.temperature:g}")
    return f"`{role.name}`", role.capability.value.replace("_", " "), role.tier, *limits, role.prompt


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _code(line: str) -> str:
    return f"`` {line} ``" if "`" in line else f"`{line}`"
