"""The tables of `.drumline/config.toml`: agents by name, models by tier, and MCP servers.

The rule: whatever is wrong in any of them is reported at once, each with its place and with what would be legal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from drumline.core.routing import TIERS
from drumline.errors import InvalidInput
from drumline.late import import_late
from drumline.patterns import compile_late
from drumline.record import Record, field

if TYPE_CHECKING:
    import difflib
else:
    difflib = import_late("difflib")

PLACE = ".drumline/config.toml"
HINT = f"correct {PLACE} and try again"
DEFAULT = "default"
OTHER = "other"
"""In the flow of a step: who takes over from its agent, or that agent one tier up."""


class Grant(Record):
    """What a person grants an agent beside its own: variables it may see, and folders it may write to.

    What he takes away: paths that it does not see, and the network.
    """

    env: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    network: bool = True


NOTHING = Grant()


class Profile(Record):
    """Who a name stands for: an agent's spec, and with which tier or model it works. What is empty is the default.

    `fast`, `standard` and `strong` are the models that the tiers mean for this agent. `env` and `folders` are what it
    is granted; what is in `hide` it does not see, and without `network` it reaches nobody. `jobs` is how many
    steps it works on at the same time.
    """

    agent: str = ""
    tier: str = ""
    model: str = ""
    fast: str = ""
    standard: str = ""
    strong: str = ""
    env: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    network: bool = True
    jobs: str = ""

    @property
    def tiers(self) -> dict[str, str]:
        """The models of the tiers that have one here."""
        return {tier: model for tier in TIERS if (model := getattr(self, tier))}


class McpServer(Record):
    """A server of tools: either a program to start or an address. `env` may hold secrets and is never shown."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Without `env`."""
        return f"{type(self).__name__}(name={self.name!r}, command={self.command!r}, url={self.url!r})"


class Profiles(Record):
    """All tables. `tiers` has the models of the tiers that are configured, `model` the one to use without a tier.

    `commands` are checks by name.
    """

    agents: Mapping[str, Profile] = field(default_factory=dict)
    tiers: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    mcp: Mapping[str, McpServer] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)


class TableKey(Record):
    """One key of a table as people read about it."""

    table: str
    key: str
    legal: str
    help: str


COMMAND_NAME = compile_late(r"[\w.-]+")
# A star alone would grant everything.
VARIABLE_NAME = compile_late(r"[A-Za-z_]\w*\*?", re.ASCII)
FOLDER = compile_late(r"[/~$][^\n]*")
_TEXT = "a text that is not empty"
_MODEL = "a model such as provider:model or scripted:FILE"

TABLES: tuple[TableKey, ...] = (
    TableKey(table="agents.NAME", key="agent", legal=_TEXT, help="The agent that NAME stands for, as for `--agent`."),
    TableKey(table="agents.NAME", key="tier", legal=", ".join(TIERS), help="The class of model it works with."),
    TableKey(table="agents.NAME", key="model", legal=_MODEL, help="The model it works with; overrules the tier."),
    *(
        TableKey(table="agents.NAME", key=tier, legal=_TEXT, help=f"The model that the tier `{tier}` means for it.")
        for tier in TIERS
    ),
    TableKey(
        table="agents.NAME",
        key="env",
        legal='a list of names of variables; "MY_*" stands for all that begin so',
        help="Variables of your environment that it may see beside its own.",
    ),
    TableKey(
        table="agents.NAME",
        key="folders",
        legal="a list of folders, each absolute or with ~ or $NAME in front; one that ends with / is made",
        help="Folders that it may write to beside its own, where bubblewrap holds it; it sees them even if they would "
        "be hidden.",
    ),
    TableKey(
        table="agents.NAME",
        key="hide",
        legal="a list of files and folders, each absolute or with ~ or $NAME in front",
        help="What it does not see beside what is hidden from every agent, where bubblewrap holds it.",
    ),
    TableKey(
        table="agents.NAME",
        key="network",
        legal="true or false",
        help="Whether it reaches the network, where bubblewrap holds it; true unless set.",
    ),
    TableKey(
        table="agents.NAME",
        key="jobs",
        legal="a whole number of at least 1",
        help="How many steps of a run it works on at the same time; no limit of its own unless set.",
    ),
    TableKey(table="models", key=DEFAULT, legal=_MODEL, help="The model of `llm` nodes that name none."),
    *(TableKey(table="models", key=tier, legal=_MODEL, help=f"The model of the tier `{tier}`.") for tier in TIERS),
    TableKey(
        table="commands",
        key="NAME",
        legal="a shell command",
        help="What a `check` node runs that names NAME among its checks; `format`, `lint`, `build` and `test` are also "
        "checks of every step of a plan.",
    ),
    TableKey(
        table="mcp.NAME",
        key="command",
        legal="a list of texts: a program and its arguments",
        help="What starts the MCP server NAME.",
    ),
    TableKey(
        table="mcp.NAME", key="url", legal="an address with http:// or https://", help="Where the server is, instead."
    ),
    TableKey(
        table="mcp.NAME",
        key="env",
        legal="a table of texts; `$NAME` alone stands for a variable of the environment, if it is set",
        help="What the server's environment has beside the usual; keep secrets out of the file by `$NAME`.",
    ),
)


def read_profiles(config: Mapping[str, object], environ: Mapping[str, str] | None = None) -> Profiles:
    """The tables of a configuration; InvalidInput with every problem of all of them.

    `environ` is where `$NAME` is looked up, the process's own environment unless another is given.
    """
    found = _Reading(environ=os.environ if environ is None else environ)
    agents = {name: found.read_profile(name, table) for name, table in found.tables(config, "agents")}
    models = found.read_models(config.get("models", {}))
    servers = {name: found.read_server(name, table) for name, table in found.tables(config, "mcp")}
    commands = found.read_commands(config.get("commands", {}))
    if found.problems:
        raise InvalidInput("\n".join(found.problems), hint=HINT)
    return Profiles(agents=agents, tiers=models, model=models.pop(DEFAULT, ""), mcp=servers, commands=commands)


def find_grant(profiles: Mapping[str, Profile], name: str, spec: str) -> Grant:
    """What `spec` is granted: by the table `name`, by that of its kind, and by others about the same agent."""
    kind = spec.partition(":")[0]
    tables = [table for own, table in profiles.items() if own in (name, kind) or table.agent == spec]
    return Grant(
        env=tuple(dict.fromkeys(name for table in tables for name in table.env)),
        folders=tuple(dict.fromkeys(folder for table in tables for folder in table.folders)),
        hide=tuple(dict.fromkeys(path for table in tables for path in table.hide)),
        network=all(table.network for table in tables),
    )


class _Reading(Record):
    """Turns tables into records; keeps every problem and goes on."""

    environ: Mapping[str, str]
    problems: list[str] = field(default_factory=list)

    def tables(self, config: Mapping[str, object], kind: str) -> list[tuple[str, Mapping[str, object]]]:
        """The tables below `[kind]` that are tables and have a name one can write into a flow."""
        outer = config.get(kind, {})
        if not isinstance(outer, Mapping):
            self._tell(kind, f"is not a table; write [{kind}.NAME]")
            return []
        found: list[tuple[str, Mapping[str, object]]] = []
        for name, table in outer.items():
            place = f"{kind}.{name}"
            if not isinstance(table, Mapping):
                self._tell(place, f"is not a table; write [{kind}.NAME] with its keys below")
            elif fault := _find_name_fault(name, kind):
                self._tell(place, fault)
            else:
                found.append((name, table))
        return found

    def read_profile(self, name: str, table: Mapping[str, object]) -> Profile:
        """One `[agents.NAME]`."""
        place = f"agents.{name}"
        self._check_keys(place, table, _keys("agents.NAME"))
        if not table:
            self._tell(place, "says nothing; give it an agent, a tier or a model")
        tiers = {tier: self._text(place, table, tier) for tier in TIERS}
        env = self._list(place, table, "env", VARIABLE_NAME)
        folders = self._list(place, table, "folders", FOLDER)
        hide = self._list(place, table, "hide", FOLDER)
        network = self._flag(place, table, "network")
        jobs = self._count(place, table, "jobs")
        # A table that only says what the tiers mean, or what is granted, is about the agent whose name it has.
        own = name if any((*tiers.values(), env, folders, hide, jobs, "network" in table)) else ""
        return Profile(
            agent=self._text(place, table, "agent") or own,
            tier=self._choice(place, table, "tier", TIERS),
            model=self._text(place, table, "model"),
            env=env,
            folders=folders,
            hide=hide,
            network=network,
            jobs=jobs,
            **tiers,
        )

    def read_models(self, table: object) -> dict[str, str]:
        """`[models]`: models by tier, and `default`."""
        if not isinstance(table, Mapping):
            self._tell("models", "is not a table; write [models] with fast, standard, strong or default below")
            return {}
        keys = _keys("models")
        self._check_keys("models", table, keys)
        return {key: text for key in keys if (text := self._text("models", table, key))}

    def read_server(self, name: str, table: Mapping[str, object]) -> McpServer:
        """One `[mcp.NAME]`."""
        place = f"mcp.{name}"
        self._check_keys(place, table, _keys("mcp.NAME"))
        if ("command" in table) == ("url" in table):
            self._tell(place, "needs either a command or a url")
        url = self._text(place, table, "url")
        if url and not url.startswith(("http://", "https://")):
            self._refuse(f"{place}.url", url, _legal("mcp.NAME", "url"))
        return McpServer(
            name=name,
            command=self._command(place, table),
            url=url,
            env=self._env(place, table.get("env", {})),
        )

    def read_commands(self, table: object) -> dict[str, str]:
        """`[commands]`: what the checks of flows may be called, each with its shell command."""
        if not isinstance(table, Mapping):
            self._tell("commands", 'is not a table; write [commands] with NAME = "command" below')
            return {}
        for name in table:
            if not COMMAND_NAME.fullmatch(name):
                self._tell(f"commands.{name}", "cannot be a name (legal: letters, digits, '-', '_' and '.')")
        return {name: text for name in table if (text := self._text("commands", table, name))}

    def _command(self, place: str, table: Mapping[str, object]) -> tuple[str, ...]:
        value = table.get("command")
        if value is None:
            return ()
        if isinstance(value, list) and value and all(map(_is_text, value)):
            return tuple(value)
        self._refuse(f"{place}.command", value, _legal("mcp.NAME", "command"))
        return ()

    def _env(self, place: str, value: object) -> dict[str, str]:
        """The server's variables. A value may be a secret: a problem names the variable and nothing more."""
        if not isinstance(value, Mapping):
            self._tell(f"{place}.env", f"is not {_legal('mcp.NAME', 'env')}")
            return {}
        found: dict[str, str] = {}
        for name, text in value.items():
            if not isinstance(text, str) or "\0" in text:
                self._tell(f"{place}.env.{name}", "is not a text")
            elif not (text.startswith("$") and text[1:].isidentifier()):
                found[name] = text
            elif text[1:] in self.environ:
                # One that is not set is left out: not everybody has the secrets of every server.
                found[name] = self.environ[text[1:]]
        return found

    def _text(self, place: str, table: Mapping[str, object], key: str) -> str:
        value = table.get(key)
        if value is None:
            return ""
        if not _is_text(value):
            self._refuse(f"{place}.{key}", value, _TEXT)
            return ""
        return str(value)

    def _list(self, place: str, table: Mapping[str, object], key: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
        value = table.get(key, [])
        if isinstance(value, list) and all(_is_text(text) and pattern.fullmatch(text) for text in value):
            return tuple(value)
        # The value is not told: who writes NAME=VALUE here has written a secret.
        self._tell(f"{place}.{key}", f"is not {_legal('agents.NAME', key)}")
        return ()

    def _flag(self, place: str, table: Mapping[str, object], key: str) -> bool:
        value = table.get(key, True)
        if not isinstance(value, bool):
            self._refuse(f"{place}.{key}", value, _legal("agents.NAME", key))
        return value is not False

    def _count(self, place: str, table: Mapping[str, object], key: str) -> str:
        value = table.get(key)
        if value is None:
            return ""
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            self._refuse(f"{place}.{key}", value, _legal("agents.NAME", key))
            return ""
        return str(value)

    def _choice(self, place: str, table: Mapping[str, object], key: str, legal: Sequence[str]) -> str:
        value = table.get(key)
        if value is None or value in legal:
            return str(value or "")
        close = difflib.get_close_matches(str(value), legal, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        self._refuse(f"{place}.{key}", value, ", ".join(legal) + meant)
        return ""

    def _check_keys(self, place: str, table: Mapping[str, object], legal: Collection[str]) -> None:
        for key in table:
            if key not in legal:
                close = difflib.get_close_matches(key, legal, n=1)
                advice = f"did you mean {close[0]!r}?" if close else f"legal: {', '.join(legal)}"
                self._tell(f"{place}.{key}", f"there is no such key ({advice})")

    def _refuse(self, place: str, value: object, legal: str) -> None:
        self._tell(place, f"{value!r} is not legal here (legal: {legal})")

    def _tell(self, place: str, problem: str) -> None:
        self.problems.append(f"{PLACE}: {place}: {problem}")


_STANDING = {DEFAULT: "agent", OTHER: "fallback"}


def _find_name_fault(name: str, kind: str) -> str:
    if not name.strip() or ":" in name or "/" in name or not name.isprintable():
        return f"{name!r} cannot be a name (legal: letters, digits and marks, without ':' and '/')"
    if kind == "agents" and name in _STANDING:
        return f"{name!r} stands for the {name} agent; set `{_STANDING[name]}` at the top of the file instead"
    return ""


def _keys(table: str) -> tuple[str, ...]:
    return tuple(row.key for row in TABLES if row.table == table)


def _legal(table: str, key: str) -> str:
    return next(row.legal for row in TABLES if (row.table, row.key) == (table, key))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value
