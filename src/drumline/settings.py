"""Every setting, as one table; where a value comes from is decided here and nowhere else.

The rule: flag > `DRUMLINE_*` variable > plan > `.drumline/config.toml` > the person's own file > default, and whatever
is wrong in any of them is reported at once, each with its place and with what would be legal. What protects a person
from a repository (`PROTECTIVE`) is an exception: the repository's file may ask for more protection, never for less.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from drumline.configfiles import CONFIG
from drumline.core.subject import PLACES
from drumline.errors import InvalidInput
from drumline.protection import AUTO, PROTECTIVE, choose_stronger, find_weaker
from drumline.record import Record, asdict
from drumline.settingvalues import (
    choose,
    count_from,
    parse_commands,
    parse_duration,
    parse_money,
    parse_subject,
    parse_text,
)

TABLES = ("agents", "models", "mcp", "commands")
"""Tables of the configuration that are no settings; `profiles.py` reads them."""
PREFIX = "DRUMLINE_"
HINT = "drumline run --help"
QUICK, STANDARD, FULL = "quick", "standard", "full"
"""The values of `rigor`."""
TOOL = "tool"
"""The value of `questions` by which agents get a tool to ask with."""


class Settings(Record):
    """The resolved settings of one command. Durations are seconds."""

    agent: str = ""
    fallback: tuple[str, ...] = ()
    mode: str = "ask"
    autonomy: str = "critical"
    jobs: int = 4
    retries: int = 2
    rigor: str = STANDARD
    flow: str = ""
    stale_claim: float = 3600.0
    lease: float = 30.0
    agent_timeout: float = 3600.0
    agent_idle: float = 600.0
    quota_wait: float = 900.0
    questions: str = "line"
    budget: float | None = None
    check_timeout: float = 1200.0
    git_timeout: float = 600.0
    setup: str = ""
    checks: tuple[str, ...] = ()
    check_jobs: int = 2
    check_env: tuple[str, ...] = ()
    check_folders: tuple[str, ...] = ()
    worktrees: str = ""
    notify: str = ""
    subject: str = ""
    sandbox: str = AUTO
    trust: str = AUTO


class Setting(Record):
    """One row of the table: `legal` says what is accepted, `parse` raises ValueError for the rest."""

    key: str
    parse: Callable[[object], object]
    legal: str
    help: str
    default: str = ""
    flag: str = ""

    @property
    def env(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.key.upper()


def resolve(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    plan: Mapping[str, object],
    config: Mapping[str, object],
    *,
    own: Mapping[str, object] | None = None,
    foreign: Mapping[str, object] | None = None,
) -> Settings:
    """Merge all sources into settings, or raise InvalidInput with every problem of every source.

    A flag that is None and a variable that is empty count as not given. `config` is the repository's file, `own` the
    person's. `foreign` is what another tool's settings say; they count only where ours are silent.
    """
    problems: list[str] = []
    merged: dict[str, object] = {}
    given = {key: value for key, value in flags.items() if value is not None}
    mine = _check_own(own or {}, problems)
    theirs = _check(_without_tables(config), lambda key: f"{CONFIG.as_posix()}: {key}", problems)
    problems += find_weaker(theirs)
    # Lowest first, so that a later source replaces an earlier one; all are checked, even those that lose.
    for values in (
        _check(foreign or {}, lambda key: f"the settings of another tool: {key}", problems),
        mine,
        theirs,
        choose_stronger(mine, theirs),
        _check(plan, lambda key: f"the plan: {key}", problems),
        _check(_from_environ(environ, problems), lambda key: PREFIX + key.upper(), problems),
        _check(given, lambda key: "--" + key.replace("_", "-"), problems),
    ):
        merged.update(values)
    if problems:
        raise InvalidInput("\n".join(problems), hint=HINT)
    return Settings(**merged)  # type: ignore[arg-type]  # each value went through its row's parser


def list_given(flags: Mapping[str, object], environ: Mapping[str, str]) -> frozenset[str]:
    """The settings that a person set for this command, by flag or variable."""
    typed = {key for key, value in flags.items() if value is not None}
    return frozenset(typed | {key for key, setting in _BY_KEY.items() if environ.get(setting.env)})


def digest(settings: Settings) -> str:
    """A hash that is equal exactly when all settings are, on any machine."""
    text = json.dumps(asdict(settings), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def settings_table() -> list[Setting]:
    """All settings in the order people should read them."""
    return list(TABLE)


_COMMAND = "a shell command"
_DURATION = "a duration above zero such as 90, 90s, 15m or 1h"

TABLE: tuple[Setting, ...] = (
    Setting(
        key="agent",
        parse=parse_text,
        legal="text such as scripted:FILE or command:CMD",
        flag="--agent",
        help="The agent that works on the steps.",
    ),
    Setting(
        key="fallback",
        parse=parse_commands,
        legal="a list of agents (one per line in the variable)",
        help="Agents that take over, in order, when one is out of quota, not let in, without credit or broken.",
    ),
    Setting(
        key="mode",
        parse=choose("ask", "parallel", "sequential"),
        legal="ask, parallel or sequential",
        default="ask",
        flag="--mode",
        help="Whether independent steps run at the same time; ask puts the question when the run starts.",
    ),
    Setting(
        key="autonomy",
        parse=choose("autopilot", "critical", "verbose"),
        legal="autopilot, critical or verbose",
        default="critical",
        flag="--autonomy",
        help="How often a person is asked: for blockers only, after waves that need it, or after every step.",
    ),
    Setting(
        key="jobs",
        parse=count_from(1),
        legal="a whole number of at least 1",
        default="4",
        flag="--jobs",
        help="How many steps may be worked on at the same time.",
    ),
    Setting(
        key="retries",
        parse=count_from(0),
        legal="a whole number of at least 0",
        default="2",
        flag="--retries",
        help="How often a failing check goes back to the agent before the step is blocked.",
    ),
    Setting(
        key="rigor",
        parse=choose(QUICK, STANDARD, FULL),
        legal="quick, standard or full",
        default=STANDARD,
        help="How much is done around the work on a step; by default full for phased plans, and always quick for do. "
        "It is recorded with the run. So far all three do the same: implement, checks, fixes, landing.",
    ),
    Setting(
        key="flow",
        parse=parse_text,
        legal="the name of a flow, or the path of its file",
        help="The flow that steps walk which name none; `step` is the shipped one.",
    ),
    Setting(
        key="stale_claim",
        parse=parse_duration,
        legal=_DURATION,
        default="1h",
        help="How old a claim of somebody else in a plan file must be before it is taken over.",
    ),
    Setting(
        key="lease",
        parse=parse_duration,
        legal=_DURATION,
        default="30s",
        help="How long a driver may be silent before it counts as frozen.",
    ),
    Setting(
        key="agent_timeout",
        parse=parse_duration,
        legal=_DURATION,
        default="1h",
        help="How long one attempt of an agent may take.",
    ),
    Setting(
        key="agent_idle",
        parse=parse_duration,
        legal=_DURATION,
        default="10m",
        help="How long an agent may be silent before it is stopped.",
    ),
    Setting(
        key="quota_wait",
        parse=parse_duration,
        legal=_DURATION,
        default="15m",
        help="How long to stay for an agent's quota if there is nothing else to do; beyond that the run parks.",
    ),
    Setting(
        key="questions",
        parse=choose("line", TOOL),
        legal="line or tool",
        default="line",
        help="How an agent asks a person: by the last line of its answer, or with a tool as well, which starts slower.",
    ),
    Setting(
        key="budget",
        parse=parse_money,
        legal="a number of dollars above zero such as 5 or 2.50; empty for none",
        help="How many dollars a run may spend before a person is asked whether to go on.",
    ),
    Setting(
        key="check_timeout",
        parse=parse_duration,
        legal=_DURATION,
        default="20m",
        help="How long one check may take.",
    ),
    Setting(
        key="git_timeout",
        parse=parse_duration,
        legal=_DURATION,
        default="10m",
        help="How long one git that Drumline starts may take before it counts as stuck and is killed.",
    ),
    Setting(
        key="setup",
        parse=parse_text,
        legal=_COMMAND,
        help="A command run in each new workspace before the agent starts, for example to install dependencies.",
    ),
    Setting(
        key="checks",
        parse=parse_commands,
        legal="a list of shell commands (one per line in the variable)",
        help="Checks run for every step after the step's own.",
    ),
    Setting(
        key="check_jobs",
        parse=count_from(1),
        legal="a whole number of at least 1",
        default="2",
        help="How many checks one driver runs at the same time; 1 for checks that share a port or a database.",
    ),
    Setting(
        key="check_env",
        parse=parse_commands,
        legal="a list of names of variables, * stands for any letters (one per line in the variable)",
        help="Variables that checks see although their names look like credentials, or with the checkout in them.",
    ),
    Setting(
        key="check_folders",
        parse=parse_commands,
        legal="a list of paths, with ~ and $NAME (one per line in the variable)",
        help="Folders, files and sockets outside of the workspace that checks may write to.",
    ),
    Setting(
        key="worktrees",
        parse=parse_text,
        legal="a path",
        help="The folder that holds the workspaces; empty means the user's state folder.",
    ),
    Setting(
        key="notify",
        parse=parse_text,
        legal=_COMMAND,
        help="A command run when a run waits for an answer and nobody is at the terminal, with the questions on stdin.",
    ),
    Setting(
        key="subject",
        parse=parse_subject,
        legal=f"a text on one line with {{title}}; known places: {', '.join('{' + place + '}' for place in PLACES)}",
        help="The first line of a step's commit; by default it names the step, and the ticket where there is one.",
    ),
    Setting(
        key="sandbox",
        parse=choose(*PROTECTIVE["sandbox"]),
        legal="required, auto or off; a repository's file cannot say off",
        default=AUTO,
        help="Whether agents run in the sandbox: refuse to run them without it, use it where it works, or never.",
    ),
    Setting(
        key="trust",
        parse=choose(*PROTECTIVE["trust"]),
        legal="ask, auto or off; a repository's file cannot say off",
        default=AUTO,
        help="Whether you are asked about commands that the repository brings: always, on a terminal, or never.",
    ),
)

_BY_KEY: Mapping[str, Setting] = {setting.key: setting for setting in TABLE}


def _check(values: Mapping[str, object], place: Callable[[str], str], problems: list[str]) -> dict[str, object]:
    """The values of one source that are right; what is wrong is added to `problems`."""
    right: dict[str, object] = {}
    for key, value in values.items():
        setting = _BY_KEY.get(key)
        if setting is None:
            problems.append(f"{place(key)}: there is no such setting ({_suggest(key)})")
            continue
        try:
            right[key] = setting.parse(value)
        except ValueError:
            problems.append(f"{place(key)}: {value!r} is not legal here (legal: {setting.legal})")
    return right


def _check_own(own: Mapping[str, object], problems: list[str]) -> dict[str, object]:
    """The person's own settings; tables are a repository's, for its flows and plans name what is in them."""
    place = "your own config.toml"
    problems += [f"{place}: {key}: belongs into {CONFIG.as_posix()} of a repository" for key in own if key in TABLES]
    return _check(_without_tables(own), lambda key: f"{place}: {key}", problems)


def _without_tables(config: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in config.items() if key not in TABLES}


def _suggest(key: str) -> str:
    close = get_close_matches(key, (*_BY_KEY, *TABLES), n=1)
    return f"did you mean {close[0]!r}?" if close else "legal: " + ", ".join(_BY_KEY)


def _from_environ(environ: Mapping[str, str], problems: list[str]) -> dict[str, object]:
    """The variables that name a setting.

    What Drumline runs gets `DRUMLINE_RUN` and the like, and may call Drumline again: an unknown variable is a problem
    only when it looks like a misspelt setting.
    """
    found: dict[str, object] = {}
    for name in sorted(n for n, value in environ.items() if n.startswith(PREFIX) and value):
        key = name.removeprefix(PREFIX).lower()
        if key in _BY_KEY:
            found[key] = environ[name]
        elif close := get_close_matches(key, _BY_KEY, n=1, cutoff=0.8):
            problems.append(f"{name}: there is no such setting (did you mean {_BY_KEY[close[0]].env}?)")
    return found
