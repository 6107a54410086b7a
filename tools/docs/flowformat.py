"""The reference of flow files: every key of every kind of node, from the tables that the reader reads by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tools.docs.flowdefaults import Made, default_of
from tools.docs.flowproblems import FLOW_PROBLEMS
from tools.docs.tables import join, table

from drumline.core.flow.ends import STATUS_WORDS
from drumline.core.flow.fields import (
    CASE_FIELDS,
    FLOW_FIELDS,
    NODE_FIELDS,
    SETTINGS_FIELDS,
    VARIABLE_FIELDS,
    FieldRule,
    KindRule,
)
from drumline.core.flow.kinds import KINDS
from drumline.core.flow.model import REDUCERS, VERSION, Case, Flow, FlowSettings, Node, Variable

EXAMPLE = """\
```yaml
# yaml-language-server: $schema=flow.schema.json
name: small
start: work
initial_state: {tries: 0}
nodes:
  work: {type: agent, agent: coder, prompt: "{{initial_prompt}}", next: prove}
  prove: {type: check, checks: ["make test"], on_pass: done, on_fail: ask}
  ask:
    type: approval
    question: The tests fail. Try again?
    options: [again, stop]
    routes: {again: work, stop: lost}
    on_other: lost
  done: {type: end, output: The tests pass.}
  lost: {type: end, status: failed}
```"""

CONDITIONS = """\
`when` of a `route` is an expression over the state that is true or false: `tries < 3 and not check.passed`. It may have

- keys of the state, and what is inside them: `review.score`, `items[0]`, `names["a b"]`;
- numbers, texts in quotes, lists, `true`, `false`, `null`;
- `== != < <= > >=`, `in`, `not in`, `and`, `or`, `not`, `x if condition else y`;
- `+ - * / %` on numbers, and `+` on texts;
- `len(x)`, `lower(text)`, `int(x)`, `float(x)`, `str(x)`, and `get("review.score", 0)`: the value at a path, or the
  second argument if there is none.

A key that is not there, a comparison of a text with a number, and a result that is neither true nor false fail the
node; nothing is silently false. Variables of the flow are handed to scripts only: they are not in the state."""

ENDS = f"""\
`status` of an end decides the state of the run and the exit code. Graphs of the format do not have that key: without
it the status is that of the first of these words in the end's id, as a whole word after a split at `_`, `-` and
changes of case (`end_blocked`, `stepFailed`):

{table(("status", "words"), [(f"`{state}`", ", ".join(words)) for state, words in STATUS_WORDS.items()])}

Where the id has none of them, the first word of the output is split and read in the same way (`STEP_REJECTED`). Where
that word comes from the state (`{{{{report}}}}`), it counts only in capitals, as a marker: `CODER_FAILED`. A word after
`no`, `not` or `without`, or before `free`, `fixed`, `handled` or `resolved`, does not count (`no_errors`). In all other
cases the end is `done`. `drumline flow validate` names the ends whose status is read from such a word, and a run that
comes to one warns of it; a `status` in the file overrules everything."""


def flow_format_page() -> str:
    """All keys, the rules about cycles and names, and every problem that validation can find."""
    return join(
        "# Flow files",
        "A flow is a graph of nodes in a YAML file. `drumline flow validate FILE` tells everything that is wrong with "
        "one, `drumline flow graph FILE` draws it. The schema for editors is shipped with the package as "
        "`drumline/schemas/flow.schema.json`.",
        EXAMPLE,
        f'The version of the format is "{VERSION}". Unknown keys are ignored; one that looks like a known key gets '
        "a warning. A key without a value counts as missing. `yes` and `no` are texts. YAML aliases are "
        "followed within bounds, tags are refused.",
        "## The flow",
        _fields(FLOW_FIELDS, Flow),
        f"Reducers: {_listed(REDUCERS)}.",
        "### settings",
        _fields(SETTINGS_FIELDS, FlowSettings),
        "### variables",
        _fields(VARIABLE_FIELDS, Variable),
        "## Nodes",
        f"`type` is one of {_listed(KINDS)}. Every node may also have:",
        _fields(NODE_FIELDS, Node),
        *[_kind(kind) for kind in KINDS.values()],
        "## How a flow ends",
        ENDS,
        "## Conditions",
        CONDITIONS,
        "## Cycles",
        "A cycle is legal only if somebody decides whether to go round once more: through the edges of a `route`, a "
        "`check` or an `approval`, or through the `_next` of a script, which no file declares. A cycle that consists "
        "of `next`, `fallback` and `branch` alone is an error. `max_loop_iterations` bounds every cycle.",
        "## At the same time",
        "The nodes that one `next` lists run at the same time. None of them may ask a person; a key that several of "
        "them write needs a reducer; none may read what another one writes; and a script among them says under "
        "`state_updates`, which may be empty, what it writes. What counts as written: keys of `state_updates`, "
        "`values`, `into`, `collect_into`, and the top-level properties of an `output_schema`.",
        "## Problems",
        "All are told at once, each as `file:line: severity: message [code]`. Errors keep a flow from being run (exit "
        "code 3) unless it says `validate_before_run: false`, which does not help a file that cannot be read. The "
        "codes do not change.",
        table(("code", "severity", "meaning"), [(f"`{code}`", level, said) for code, level, said in FLOW_PROBLEMS]),
    )


def _kind(kind: KindRule) -> str:
    parts = [f"### {kind.name}", kind.about, _fields(kind.fields, kind.make)]
    if kind.name == "route":
        parts += ["A case:", _fields(CASE_FIELDS, Case)]
    return "\n\n".join(parts)


def _fields(rules: Sequence[FieldRule], make: Made) -> str:
    rows = [(f"`{rule.name}`", _shape(rule), _default(rule, make), rule.about) for rule in rules]
    return table(("key", "value", "default", "meaning"), rows)


def _shape(rule: FieldRule) -> str:
    return f"one of {_listed(rule.choices)}" if rule.choices else rule.shape.value


def _default(rule: FieldRule, make: Made) -> str:
    if rule.required:
        return "required"
    found = default_of(make, rule)
    if found is None or found == "":
        return ""
    whole = int(found) if isinstance(found, float) and found.is_integer() else found
    return f"`{json.dumps(whole)}`" if not isinstance(found, str) else f"`{found}`"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
