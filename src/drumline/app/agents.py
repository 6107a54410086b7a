"""Which agents there are here, and whether one really works: it is given a tiny task in a repository of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio

from drumline.agents import AGENTS, EXAMPLES, PROGRAMS, list_names, load, open_agent
from drumline.agents.acp import AcpAgent
from drumline.agents.cli import CliAgent, find_executable
from drumline.agents.command import CommandAgent
from drumline.agents.program import Abilities, Program
from drumline.core.ids import IMPLEMENT, DriverId, RunId, StepId
from drumline.core.routing import TIERS
from drumline.core.taxonomy import Failure
from drumline.engine.questions import AskingAgent
from drumline.engine.redacted import RedactedAgent
from drumline.engine.services import Worker
from drumline.errors import DrumlineError, InvalidInput
from drumline.extras import require_provider
from drumline.models.builtin import BuiltinAgent
from drumline.models.tiers import KEYS, find_default
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.processes import Processes
from drumline.processes.supervised import SupervisedProcesses
from drumline.profiles import PLACE, Profile
from drumline.record import Record, asdict, field, replace

PATIENCE = 15.0
"""Seconds a program may take to say its version: some start slowly the first time."""
TRIAL = 300.0
TASK = (
    "This is a test of whether you can work here. Write the word ready into a new file hello.txt in the current "
    "folder. Change nothing else, and do not commit. Then say: done."
)
VERSION = re.compile(r"\d+(?:\.\d+)+(?:[\w.+-]*\w)?")
CHEAPEST = "fast"
BUILTIN = "builtin"
BUILTIN_ABILITIES = Abilities(
    resumes=True,
    names_session=True,
    validates_schema=True,
    reads_only=True,
    takes_budget=True,
    takes_servers=True,
    counts_tokens=True,
    prices=True,
)
NO_KEY = f"has no API key: set one of {', '.join(KEYS)}, or name a model of another provider"
SET_KEY = f"export {KEYS[0]}=…"


def open_plainly(spec: str, processes: Processes) -> Worker:
    """The agent of a spec where nothing is configured."""
    return Worker(agent=open_agent(spec, processes=processes, base=Path.cwd()))


class Configured(Record):
    """What the configuration says of agents: `own` is the default one, `tables` are those of `[agents.NAME]`.

    `open` opens one by its name or its spec, as a run would.
    """

    tables: Mapping[str, Profile] = field(default_factory=dict)
    own: str = ""
    open: Callable[[str, Processes], Worker] = open_plainly

    def find_spec(self, name: str) -> str:
        """What a name stands for; a table that names no agent is about the default one, which may be none."""
        if name not in self.tables:
            return name
        own = self.tables[self.own].agent if self.own in self.tables else self.own
        return self.tables[name].agent or own


UNCONFIGURED = Configured()


class Listed(Record):
    """An agent as people see it. `abilities` are words; `next` is what to type if it cannot be used.

    One that is installed may still have a `fault`, such as a key that is missing. `agent` is what a name of the
    configuration stands for. `efforts` are how hard it thinks in a tier that has no model of its own.
    """

    name: str
    spec: str
    installed: bool = True
    path: str = ""
    version: str = ""
    abilities: tuple[str, ...] = ()
    tiers: Mapping[str, str] = field(default_factory=dict)
    origin: str = "drumline"
    fault: str = ""
    next: str = ""
    agent: str = ""
    efforts: Mapping[str, str] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether it could be given work."""
        return self.installed and not self.fault


class Trial(Record):
    """How an agent did: `fault` is empty if all is well, `next` is what to do about it if not.

    `jailed` says that the kernel held what it wrote; of the built-in agent, what its commands wrote.
    """

    spec: str
    edited: bool
    seconds: float
    outcome: Outcome
    jailed: bool = False
    fault: str = ""
    next: str = ""


def list_agents(configured: Configured = UNCONFIGURED) -> list[Listed]:
    """Every agent, with what is installed of it; programs are asked for their versions at the same time."""
    kinds = list_names()
    names = [*kinds, *(name for name in configured.tables if name not in kinds)]
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(lambda name: _look_for(name, configured), names))


def list_installed() -> list[str]:
    """The agent programs that are installed here, by name; none of them is started."""
    found = [(name, load(name)) for name in PROGRAMS if name != BUILTIN]
    return [name for name, program in found if isinstance(program, Program) and find_executable(program)]


def _look_for(name: str, configured: Configured) -> Listed:
    """What there is of an agent, with the models that the configuration gives to its tiers."""
    spec = configured.find_spec(name)
    if not spec:
        fault = "names no agent, and there is no default one"
        return Listed(name=name, spec=name, installed=False, origin=PLACE, fault=fault, next=f"set agent in {PLACE}")
    kind, _, argument = spec.partition(":")
    found = _look_at(kind)
    table = configured.tables.get(name, Profile())
    model = table.model or (argument if kind in PROGRAMS else "")
    tiers = dict.fromkeys(found.tiers, model) if model else {**found.tiers, **table.tiers}
    if spec == name:
        return replace(found, tiers=tiers)
    return replace(found, name=name, spec=name, tiers=tiers, origin=PLACE, agent=spec)


def _look_at(name: str) -> Listed:
    if name == BUILTIN:
        return describe_builtin(os.environ)
    origin = "drumline" if name in PROGRAMS or name in AGENTS else "another package"
    try:
        found = load(name)
    except DrumlineError as error:
        return Listed(name=name, spec=name, installed=False, origin=origin, fault=str(error), next=error.hint)
    if found is None:
        fault = f"there is no agent {name!r}"
        return Listed(name=name, spec=name, installed=False, origin=origin, fault=fault, next="drumline agents")
    if not isinstance(found, Program):
        # Programs behind the protocol have models, but none that anybody else could name.
        tiers = dict.fromkeys(TIERS, "") if name == "acp" else {}
        return Listed(name=name, spec=EXAMPLES.get(name, name), tiers=tiers, origin=origin)
    place = find_executable(found)
    return Listed(
        name=name,
        spec=f"{name}[:MODEL]",
        installed=place is not None,
        path=str(place or ""),
        version=ask_version(place) if place else "",
        abilities=tuple(_name_abilities(found.abilities)),
        tiers=dict.fromkeys(TIERS, "") | dict(found.list_models(Path.cwd())),
        efforts=found.efforts,
        origin=origin,
        next="" if place else found.install,
    )


def describe_builtin(environ: Mapping[str, str]) -> Listed:
    """The agent that is part of Drumline: it is always there, but works only with a provider's library and key."""
    tiers = {tier: find_default(tier, environ) for tier in TIERS}
    fault, advice = ("", "") if any(tiers.values()) else (NO_KEY, SET_KEY)
    try:
        require_provider(tiers[CHEAPEST].partition(":")[0])
    except InvalidInput as error:
        fault, advice = f"{error}; it also {fault}" if fault else str(error), error.hint
    return Listed(
        name=BUILTIN,
        spec=f"{BUILTIN}[:PROVIDER:MODEL]",
        abilities=tuple(_name_abilities(BUILTIN_ABILITIES)),
        tiers=tiers,
        fault=fault,
        next=advice,
    )


def _name_abilities(able: Abilities) -> list[str]:
    return [name.replace("_", " ") for name, has in asdict(able).items() if has]


def ask_version(place: Path, *, cache: Path | None = None) -> str:
    """What a program calls its version, or nothing; it is asked again only once its file has changed."""
    cache = cache or _find_cache()
    found = place.stat()
    key = f"{place} {found.st_size} {found.st_mtime_ns}"
    known = _read_cache(cache)
    if known.get(key):
        return known[key]
    try:
        done = subprocess.run(
            [str(place), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    told = VERSION.search(done.stdout) if done.returncode == 0 else None
    if told:
        _write_cache(cache, {**_read_cache(cache), key: told[0]})
    return told[0] if told else ""


def _find_cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "drumline" / "agent-versions.json"


def _read_cache(cache: Path) -> dict[str, str]:
    try:
        known = json.loads(cache.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in known.items()} if isinstance(known, dict) else {}


def _write_cache(cache: Path, known: Mapping[str, str]) -> None:
    """Keep what is known; a machine where that cannot be written does without."""
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=cache.parent, delete=False, encoding="utf-8") as file:
            json.dump(known, file)
        Path(file.name).replace(cache)
    except OSError:
        return


def try_agent(
    name: str,
    *,
    timeout: float = TRIAL,
    configured: Configured = UNCONFIGURED,
    begin: Callable[[], None] = lambda: None,
) -> Trial:
    """Let the agent do a tiny task in a temporary repository, and tell what came of it; `begin` is called before."""
    table = configured.tables.get(name, Profile())
    with tempfile.TemporaryDirectory(prefix="drumline-agent-") as place:
        folder = Path(place).resolve()
        workspace = folder / "work"
        subprocess.run(["git", "init", "--quiet", str(workspace)], check=True, capture_output=True)
        worker = configured.open(name, SupervisedProcesses(folder / "driver", DriverId("agents-test")))
        task = replace(_assign(workspace, folder, timeout), tier=table.tier or CHEAPEST, model=worker.model)
        begin()
        began = time.monotonic()
        outcome = anyio.run(worker.agent.work, task)
        seconds = time.monotonic() - began
        edited = _read(workspace / "hello.txt").strip() == "ready"
    fault, advice = judge(configured.find_spec(name), outcome, edited=edited, name=name)
    return Trial(
        spec=name,
        edited=edited,
        seconds=seconds,
        outcome=outcome,
        jailed=is_jailed(worker.agent),
        fault=fault,
        next=advice,
    )


def is_jailed(agent: Agent) -> bool:
    """Whether the kernel holds the agent; of those from other packages that is not known, so they count as free."""
    while isinstance(agent, RedactedAgent | AskingAgent):
        agent = agent.agent
    return isinstance(agent, CliAgent | AcpAgent | BuiltinAgent | CommandAgent) and agent.jail is not None


def judge(spec: str, outcome: Outcome, *, edited: bool, name: str = "") -> tuple[str, str]:
    """What is wrong with an agent that has tried, and what to do about it; both empty if nothing is.

    `name` is what a person calls it, if that is not its spec.
    """
    if not outcome.failure:
        said = f"; it said: {outcome.message[:300]}" if outcome.message else ""
        return (
            ("", "") if edited else (f"it says that it is done, but hello.txt is not as it was asked to be{said}", "")
        )
    again = f"drumline agents test {shlex.quote(name or spec)}"
    advice = {
        Failure.AUTH.value: _find_login(spec.partition(":")[0]),
        Failure.TRANSIENT.value: again,
        Failure.CRASH.value: again,
    }
    return f"{outcome.failure}: {outcome.message}", advice.get(outcome.failure, "")


def _find_login(name: str) -> str:
    if name == BUILTIN:
        return SET_KEY
    found = load(name)
    return found.login if isinstance(found, Program) else ""


def _assign(workspace: Path, folder: Path, timeout: float) -> Assignment:
    prompt_file = folder / "prompt.md"
    prompt_file.write_text(TASK)
    return Assignment(
        run=RunId("agents-test"),
        step=StepId("hello"),
        node=IMPLEMENT,
        attempt=1,
        prompt=TASK,
        prompt_file=prompt_file,
        workspace=workspace,
        log=folder / "agent.log",
        tier=CHEAPEST,
        timeout=timeout,
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def sort_listed(found: Sequence[Listed]) -> list[Listed]:
    """Those that can be used first."""
    return sorted(found, key=lambda listed: not listed.usable)
