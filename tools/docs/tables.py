"""Reference pages that are tables of the code: settings, events, a step's life, failures, problems, exit codes."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence

from tools.docs.problems import FORMAT_PROBLEMS, PROBLEMS

from drumline.core import events as ev
from drumline.core.checkfailure import CHECK_RULES
from drumline.core.codec import FLOW_KINDS, KINDS, VERSION
from drumline.core.flow.inspection import Surroundings
from drumline.core.flow.kinds import kind_name
from drumline.core.life import OPEN, TRANSITIONS
from drumline.core.taxonomy import RULES, WAITS
from drumline.errors import DrumlineError
from drumline.flowfiles.library import SHIPPED, open_flow
from drumline.profiles import TABLES
from drumline.record import NODEFAULT, FieldInfo, fields
from drumline.settings import Setting, first_settings, settings_table
from drumline.views.flowgraph import flow_mermaid
from drumline.views.states import EXIT_CODES

ANYWHERE = (ev.StepClaimed, ev.StepReleased, ev.StepRestarted)
TYPES = {
    "StepId": "str",
    "RunId": "str",
    "GateId": "str",
    "DriverId": "str",
    "Commit": "str",
    "Tree": "str",
    "NodeId": "str",
}


TABLES_EXAMPLE = """\
```toml
agent = "command:my-agent --print"

[agents.architect]
agent = "command:my-agent --think"
tier = "strong"

[models]
default = "provider:model"
fast = "provider:small-model"

[mcp.tickets]
command = ["tickets-mcp", "--stdio"]
env = {TOKEN = "$TICKETS_TOKEN"}
```"""


def settings_page() -> str:
    """Every setting with its variable, flag, default and meaning."""
    first = first_settings()
    columns = ("key", "variable", "flag", "default", "meaning")
    legal = [(f"`{s.key}`", s.legal) for s in settings_table()]
    return join(
        "# Settings",
        "A flag overrules its `DRUMLINE_*` variable, that overrules the plan's root file (`autonomy` only), that "
        "overrules the nearest `.drumline/config.toml` from the current folder up to the top of the repository, that "
        "overrules your own file for all repositories (`$XDG_CONFIG_HOME/drumline/config.toml`, usually "
        "`~/.config/drumline/config.toml`; without tables), and that overrules the default. Everything "
        "that is wrong in any of them is reported at once, with its place "
        "(exit code 3). `drumline init` writes the usual settings into a `config.toml`, with their meanings.",
        table(columns, [_setting_row(s) for s in first]),
        "## Advanced",
        "Most repositories need none of these.",
        table(columns, [_setting_row(s) for s in settings_table() if s not in first]),
        "`sandbox` and `trust` protect you from a repository, so its file cannot weaken them: of your own file and the "
        "repository's the stricter value counts, `off` is refused there, and only a variable overrules both. See "
        "[what a repository may run](../explanation/trust.md).",
        "## What is legal",
        table(("key", "values"), legal),
        "## Tables",
        "`config.toml` may also give names to agents, models and MCP servers, for [flows](flow-format.md). They have "
        "no variables and no flags.",
        table(
            ("table", "key", "values", "meaning"), [(f"`[{t.table}]`", f"`{t.key}`", t.legal, t.help) for t in TABLES]
        ),
        TABLES_EXAMPLE,
        "A profile that names no agent is the default agent, with that tier or model. A flow's `agent: NAME` is a "
        "profile of that name; else a flow of that name beside it, or in `.drumline/flows`; else a shipped flow "
        "(`coder`, `code-reviewer`); else the default agent, with a warning. `agent: default` is the default agent.",
        "A run keeps the settings it was started with: agent, fallback, mode, autonomy, retries, budget, setup, checks "
        "and the timeouts of agents, checks and quotas are recorded in its journal. `retry`, and `resume` of a run "
        "that is blocked or failed, take the present configuration and say what differs; `--config pinned` keeps what "
        "the run began with, `--config new` takes it for a parked run, too. What was typed stays. Jobs, `git_timeout` "
        "and the lease belong to the process that drives.",
    )


def _setting_row(s: Setting) -> tuple[str, ...]:
    return f"`{s.key}`", f"`{s.env}`", f"`{s.flag}`" if s.flag else "", f"`{s.default}`" if s.default else "", s.help


def events_page() -> str:
    """Every kind of event with its fields."""
    of_steps = {kind for allowed in TRANSITIONS.values() for kind in allowed} | set(ANYWHERE)
    run = [kind for kind in KINDS.values() if kind not in of_steps]
    steps = [kind for kind in KINDS.values() if kind in of_steps]
    return join(
        "# Events",
        "A run is its journal: one stream of events for the run and one for each of its steps, ordered together by "
        "one sequence. Events are stored as JSON, are never changed, and carry the version of their shape (now "
        f"{VERSION}). A reader that meets a kind or a version it does not know stops with an error. Fields without a "
        "default are always there.",
        "## The run's stream",
        *[_event(kind) for kind in run],
        "## A step's stream",
        "Which of them may follow in which phase is in [a step's life](step-life.md).",
        *[_event(kind) for kind in steps],
        "## A flow's walk",
        "They stand among the events of the run or step that walks the flow. `scope` is empty for the flow itself, "
        "`node#visit` for a flow that a node calls and `node#visit[index]` for an item of a map; scopes nest with `/`.",
        *[_event(kind) for kind in FLOW_KINDS.values()],
    )


def life_page() -> str:
    """The step's life as a drawing and a table."""
    moves = [(here, kind.__name__, there) for here, allowed in TRANSITIONS.items() for kind, there in allowed.items()]
    drawing = [f"    {here.value} --> {there.value}: {name}" for here, name, there in moves]
    rows = [(f"`{here.value}`", f"`{name}`", f"`{there.value}`") for here, name, there in moves]
    shipped, _ = open_flow(SHIPPED / "step" / "graph.yaml", around=Surroundings())
    return join(
        "# A step's life",
        "Every step of a plan walks a flow: the shipped one, `step`, or another one that `flow` names in the step, in "
        "the plan's `root.md`, by `--flow` or in the configuration. A flow `step` in `.drumline/flows` replaces the "
        "shipped one. `drumline flow graph step` draws it:",
        f"```mermaid\n{flow_mermaid(shipped).rstrip()}\n```",
        table(
            ("node", "kind", "what it does"),
            [(f"`{node.id}`", f"`{kind_name(node)}`", node.description or "–") for node in shipped.nodes.values()],
        ),
        "`land` holds to its rules whatever the graph says: it refuses work on which a check of the step, the plan or "
        "the configuration fails beyond what failed before, or has not run since the work was changed last. A walk "
        "that comes to an end that is done without a landing leaves its step blocked.",
        "## What is recorded of the work",
        "Nodes that work on the step record what they do to its work. The phase says how far the work has got. "
        "Anything that is not in the table is refused, and the message names what would have been legal.",
        "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> waiting", *drawing, "    landed --> [*]", "```"]),
        table(("phase", "event", "next phase"), rows),
        f"In {_words(phase.value for phase in TRANSITIONS if phase in OPEN)} an intent is recorded and its outcome is "
        "not. If the driver dies there, the next one records `WorkLost`, which leads back to the phase before, and the "
        "work begins again.",
        f"{_words(kind.__name__ for kind in ANYWHERE)} may come in any phase. `StepRestarted` begins a new round at "
        "`waiting`; the other two leave the phase as it is.",
    )


def failures_page() -> str:
    """Classes of failure and what follows from them."""
    rows = [(f"`{failure.value}`", rule.means, rule.reaction.value) for failure, rule in RULES.items()]
    of_checks = [
        (f"`{failure.value}`", rule.means, rule.reaction.value, rule.advice or "–")
        for failure, rule in CHECK_RULES.items()
    ]
    waits = " and ".join(f"{seconds:g} s" for seconds in WAITS)
    return join(
        "# Failures",
        "An attempt of an agent that does not succeed has one of these classes. The class decides what follows.",
        table(("class", "what it means", "what follows"), rows),
        f"*Wait and try again*: after {waits}; the failure after that blocks the step. *Back to the agent*: the "
        "message goes into the next prompt; it uses up one of the `retries`, as a failing check does, and when they "
        "are used up the step is blocked. Attempts that were lost with their driver count nowhere.",
        "The `command` agent judges by exit code: 0 is success, 75 is `transient`, 126 and 127 (cannot be run) are "
        "`permanent`, anything else and a timeout are `validation`. The `scripted` agent fails as its script says.",
        "## Of checks",
        "A failing check has one of these classes, in a plan and in a flow.",
        table(("class", "what it means", "what follows", "what to do"), of_checks),
        "*tool*: the exit code is 126 or 127 and the missing thing is a program. A file of the work tree, a path "
        "below it and a file that the step owns are the work's: `./run.sh` that the step was to create goes back to "
        "the agent. *network*: the output says that a name cannot be resolved or a network cannot be "
        "reached, or a check that is one `curl` says so by its exit code; lines "
        "about this machine and about names reserved for tests (`.invalid`, `example.com`) do not count, nor does a "
        "check whose output shows a failed assertion.",
        "*package*: the output says that a module or package is missing which the project's own files "
        "(`pyproject.toml`, `requirements.txt`, `package.json`, `Gemfile` …) declare, which the check itself names "
        "(`python3 -m pytest`), which the tree has in `src/` and nobody installed, or which Python "
        "has as a link to your checkout. What the work uses and does not "
        "declare is the work's. *port* and *disk*: the output says so, and shows no failed assertion. Before a check "
        "of the class *tool* or *package* is repeated, the setup command runs again. *killed*: in the sandbox also an "
        "exit code by which a shell tells a signal, such as 137.",
        "A check that is repeated uses up no fix and no attempt. A step blocked for it keeps its work: `drumline "
        "resume` and `drumline retry STEP` run only its checks again, unless its file was edited since. In a flow, "
        "`drumline resume` visits the check node again.",
        "A check that passes and changes files that it judges is [void](../explanation/proof.md#what-a-check-leaves-"
        "behind): the step lands without a proof. A setup command that fails, and changes that conflict with what "
        "landed meanwhile, block the step at once.",
    )


def problems_page() -> str:
    """What validation can find."""
    return join(
        "# Problems of a plan",
        "`drumline validate` reports all of them at once, each as `file:line: severity: message [code]`. Errors keep a "
        "plan from being run (exit code 3); warnings make `validate --strict` fail and stop nothing else. The codes do "
        "not change.",
        "## In the native format, and in others where they apply",
        _problems(PROBLEMS),
        *(f"## In {name}\n\n{_problems(found)}" for name, found in FORMAT_PROBLEMS.items()),
    )


def _problems(found: Iterable[tuple[str, str, str]]) -> str:
    rows = [(f"`{code}`", severity, meaning) for code, severity, meaning in found]
    return table(("code", "severity", "meaning"), rows)


def exit_codes_page() -> str:
    """Exit codes of runs and of errors."""
    states = [(str(code), f"`{state}`") for state, code in sorted(EXIT_CODES.items(), key=lambda item: item[1])]
    kinds = sorted({(kind.exit_code, _summary(kind), kind.__name__) for kind in _errors(DrumlineError)})
    errors = [(str(code), f"`{name}`", said) for code, said, name in kinds]
    return join(
        "# Exit codes",
        table(
            ("code", "meaning"),
            [
                ("0", "done"),
                ("1", "failed, rejected or cancelled; or the command was refused for another reason"),
                ("2", "blocked, or parked until a person answers"),
                ("3", "a plan, a setting or an argument is wrong; nothing was started"),
                ("130", "interrupted; the run can be resumed"),
            ],
        ),
        "## By the state of the run",
        "`run`, `resume`, `attach` and `wait` end with the code of the run's state. A driver stopped by Ctrl-C ends "
        "with 130 whatever the run is. `wait --timeout` ends with 1 when the time is up.",
        table(("code", "state"), states),
        "## By error",
        table(("code", "error", "meaning"), errors),
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in markdown."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def join(*parts: str) -> str:
    """Paragraphs of a page."""
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _event(kind: type[ev.Event]) -> str:
    rows = [(f"`{f.name}`", f"`{_type(kind, f.name)}`", _default(f)) for f in fields(kind)]
    head = f"### {kind.__name__}\n\n{inspect.getdoc(kind)}"
    return f"{head}\n\n{table(('field', 'type', 'default'), rows)}" if rows else head


def _type(kind: type[ev.Event], name: str) -> str:
    text = str(kind.__annotations__[name])
    for name, plain in TYPES.items():
        text = text.replace(name, plain)
    return text


def _default(field: FieldInfo) -> str:
    if field.default_factory is not NODEFAULT:
        return f"`{field.default_factory()!r}`"
    return "" if field.default is NODEFAULT else f"`{field.default!r}`"


def _errors(kind: type[DrumlineError]) -> list[type[DrumlineError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in _errors(child))]


def _summary(kind: type) -> str:
    return (inspect.getdoc(kind) or "").splitlines()[0]


def _words(names: Iterable[str]) -> str:
    listed = [f"`{name}`" for name in names]
    return ", ".join(listed[:-1]) + f" and {listed[-1]}"
