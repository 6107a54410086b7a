"""Every setting, as one table; where a value comes from is decided here and nowhere else.

The rule: flag > `DRUMLINE_*` variable > plan > `.drumline/config.toml` > the person's own file > default, and whatever
is wrong in any of them is reported at once, each with its place and with what would be legal. What protects a person
from a repository (`PROTECTIVE`) is an exception: the repository's file may ask for more protection, never for less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from drumline.configfiles import CONFIG
from drumline.core.kinds import CONFIGURED, ENVIRONMENT, NAMED, VARIABLES, arrange, list_commands, name_kinds
from drumline.core.plan import Check
from drumline.core.proof import Require
from drumline.core.vocabulary import FULL, QUICK, STANDARD, Mutants, OnConflict, Ownership, Place, Review
from drumline.errors import InvalidInput
from drumline.late import import_late
from drumline.protection import AUTO, choose_stronger, find_weaker
from drumline.record import Record
from drumline.settingrows import PREFIX, TABLE, TOOL, Setting

if TYPE_CHECKING:
    import difflib
else:
    difflib = import_late("difflib")

__all__ = [
    "FULL",
    "PREFIX",
    "QUICK",
    "TABLES",
    "TOOL",
    "Setting",
    "Settings",
    "first_settings",
    "list_given",
    "resolve",
    "settings_table",
]
TABLES = ("agents", "models", "mcp", "commands")
"""Tables of the configuration that are not settings; `profiles.py` reads them."""
HINT = "drumline run --help"
FIRST = ("agent", "checks", "setup", "provide", "require", "rigor", "review", "autonomy", "budget")
"""The settings that most repositories need, if any."""


class Settings(Record):
    """The resolved settings of one command. Durations are seconds.

    `kinds` are the commands for kinds of checks: they have no row, since each source has its own place for them.
    """

    agent: str = ""
    fallback: tuple[str, ...] = ()
    mode: str = "ask"
    autonomy: str = "critical"
    jobs: int = 4
    retries: int = 2
    rigor: str = STANDARD
    review: str = Review.RISK.value
    flow: str = ""
    require: str = Require.KEPT.value
    stale_claim: float = 3600.0
    lease: float = 30.0
    step_timeout: float = 7200.0
    agent_timeout: float = 3600.0
    agent_idle: float = 600.0
    quota_wait: float = 900.0
    questions: str = "line"
    budget: float | None = None
    check_timeout: float = 1200.0
    build_timeout: float = 600.0
    lint_timeout: float = 300.0
    format_timeout: float = 300.0
    git_timeout: float = 600.0
    setup: str = ""
    provide: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    check_jobs: int = 2
    check_env: tuple[str, ...] = ()
    check_folders: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()
    mutants: str = Mutants.SHOW.value
    ownership: str = Ownership.FOREIGN.value
    shared: tuple[str, ...] = ()
    on_conflict: str = OnConflict.AGENT.value
    held_out: str = ""
    work_in: str = Place.WORKTREE.value
    worktrees: str = ""
    notify: str = ""
    subject: str = ""
    sandbox: str = AUTO
    trust: str = AUTO
    kinds: tuple[Check, ...] = ()

    @property
    def configured(self) -> tuple[str, ...]:
        """The commands that judge every step, whoever has named them."""
        return tuple(dict.fromkeys((*list_commands(arrange((), self.kinds).checks), *self.checks)))


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
        raise InvalidInput("\n".join(problems), hint=_choose_hint(problems[0]))
    return Settings(**merged, kinds=_read_kinds(environ, config))  # type: ignore[arg-type]  # parsed by their rows


def _choose_hint(problem: str) -> str:
    """What to do about a setting that is wrong: where it stands, it can be corrected."""
    place = problem.partition(":")[0]
    if place.startswith("--"):
        return HINT
    if place.startswith(PREFIX):
        return f"unset {place}, or give it a value that is legal"
    return f"correct {place} and try again"


def _read_kinds(environ: Mapping[str, str], config: Mapping[str, object]) -> tuple[Check, ...]:
    """The commands for kinds of checks that the environment and the configuration name."""
    table = config.get("commands")
    commands = table if isinstance(table, Mapping) else {}
    names = {kind: kind.value for kind in NAMED}
    return (*name_kinds(environ, ENVIRONMENT, VARIABLES), *name_kinds(commands, CONFIGURED, names))


def list_given(flags: Mapping[str, object], environ: Mapping[str, str]) -> frozenset[str]:
    """The settings that a person set for this command, by flag or variable."""
    typed = {key for key, value in flags.items() if value is not None}
    return frozenset(typed | {key for key, setting in _BY_KEY.items() if environ.get(setting.env)})


def settings_table() -> list[Setting]:
    """All settings in the order people should read them."""
    return list(TABLE)


def first_settings() -> list[Setting]:
    """The settings that `drumline init` writes; all others are for special cases."""
    return [_BY_KEY[key] for key in FIRST]


ALSO: Mapping[str, str] = {"workspace": "work_in"}
"""Other names of settings in files. No variable has one: `DRUMLINE_WORKSPACE` says to agents where they work."""

_BY_KEY: Mapping[str, Setting] = {setting.key: setting for setting in TABLE}


def _check(values: Mapping[str, object], place: Callable[[str], str], problems: list[str]) -> dict[str, object]:
    """The values of one source that are right; what is wrong is added to `problems`."""
    right: dict[str, object] = {}
    for name, value in values.items():
        key = ALSO.get(name, name)
        setting = _BY_KEY.get(key)
        if setting is None:
            problems.append(f"{place(key)}: there is no such setting ({_suggest(key)})")
            continue
        if key != name and key in values:
            problems.append(f"{place(name)}: this is another name of {key}, which is given as well")
            continue
        try:
            right[key] = setting.parse(value)
        except ValueError:
            problems.append(f"{place(name)}: {value!r} is not legal here (legal: {setting.legal})")
    return right


def _check_own(own: Mapping[str, object], problems: list[str]) -> dict[str, object]:
    """The person's own settings; tables are a repository's, for its flows and plans name what is in them."""
    place = "your own config.toml"
    problems += [f"{place}: {key}: belongs into {CONFIG.as_posix()} of a repository" for key in own if key in TABLES]
    return _check(_without_tables(own), lambda key: f"{place}: {key}", problems)


def _without_tables(config: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in config.items() if key not in TABLES}


def _suggest(key: str) -> str:
    close = difflib.get_close_matches(key, (*_BY_KEY, *TABLES), n=1)
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
        elif close := difflib.get_close_matches(key, _BY_KEY, n=1, cutoff=0.8):
            problems.append(f"{name}: there is no such setting (did you mean {_BY_KEY[close[0]].env}?)")
    return found
