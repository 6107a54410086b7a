"""What `doctor` examines: each finding says what was tried and, if something is wrong, what to do."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio

from drumline.agents.jail import Jail, find_jail
from drumline.agents.layers import find_way
from drumline.agents.sandbox import explain_absence
from drumline.app.agents import UNCONFIGURED, Configured, Listed, list_agents
from drumline.app.breakout import Attempt, try_breaking_out
from drumline.app.leftovers import IN_GIT, clear_leftovers
from drumline.errors import DrumlineError
from drumline.isolation.outside import UNHELD
from drumline.ports.roster import Standing
from drumline.profiles import read_profiles
from drumline.protection import REQUIRED
from drumline.record import Record
from drumline.wiring import STORE, Project, open_project
from drumline.workspace.git import require_git

PATIENCE = 10
UPDATE = "bwrap --version"
OVERLAY = "unshare --user --map-root-user --mount true (it needs to work, and overlays on the disk of $TMPDIR)"
UNHELD_CHECKS = (
    "not held: what agents wrote runs in them with your rights, reads your files, writes outside of the workspace and "
    "finds code that is installed from your checkout; only variables that look like credentials are kept from them"
)
GRANTED_CACHES = (
    "held as agents are, but overlays cannot be made here: they write to the caches in your home themselves"
)
LIMITS = {"abstract-socket": "Linux before 6.12 cannot refuse it to a program that has the network"}
"""Ways out that not every machine can close."""


class Finding(Record):
    """One thing that was looked at: `ok`, a `note`, or a `problem` with a hint."""

    name: str
    level: str
    text: str
    hint: str = ""


def examine() -> list[Finding]:
    """Everything, in the order in which it matters."""
    project: Project | None = None
    findings = [_python(), _git()]
    try:
        project = open_project()
        findings.append(Finding(name="repository", level="ok", text=str(project.repository.top)))
    except DrumlineError as error:
        findings.append(Finding(name="repository", level="problem", text=str(error), hint=error.hint))
    if project is not None:
        findings += [
            _commit(project),
            *_git_folder(project),
            _config(project),
            *_store(project),
            *_drivers(project),
            _worktrees(project),
            *_leftovers(project),
        ]
    return [*findings, *_agents(project), *_sandbox(project)]


def _python() -> Finding:
    return Finding(name="python", level="ok", text=f"{platform.python_version()} at {sys.executable}")


def _git() -> Finding:
    try:
        require_git()
    except DrumlineError as error:
        return Finding(name="git", level="problem", text=str(error), hint=error.hint)
    said = _try(["git", "--version"])
    return Finding(name="git", level="ok", text=said or "installed")


def _commit(project: Project) -> Finding:
    try:
        return Finding(name="base", level="ok", text=f"a run would start from {project.repository.head_commit()[:12]}")
    except DrumlineError as error:
        return Finding(name="base", level="problem", text=str(error), hint=error.hint)


def _git_folder(project: Project) -> Iterator[Finding]:
    """Whether a run could write its journal, its refs and its worktrees: what git keeps has to be writable."""
    folder = project.repository.common_dir
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        text = f"{folder} cannot be written ({error.strerror}), so nothing can be run here"
        hint = f"mount {folder} writable, or see who may write it: ls -ld {folder}"
        yield Finding(name="git folder", level="problem", text=text, hint=hint)


def _config(project: Project) -> Finding:
    if project.config_path is None:
        return Finding(
            name="config", level="note", text="no .drumline/config.toml; defaults are used", hint="drumline init"
        )
    try:
        read_profiles(project.config)
    except DrumlineError as error:
        return Finding(name="config", level="problem", text=str(error), hint=error.hint)
    agent = project.settings.agent or "none set"
    return Finding(name="config", level="ok", text=f"{project.config_path} (agent: {agent})")


def _store(project: Project) -> Iterator[Finding]:
    path = project.state_dir / STORE
    if not path.exists():
        yield Finding(name="store", level="ok", text="nothing was run here yet")
        return
    try:
        store = project.open_store(read_only=True)
        damage = list(store.find_damage())
        runs = len(store.runs())
        store.close()
    except DrumlineError as error:
        yield Finding(name="store", level="problem", text=str(error), hint=error.hint)
        return
    if damage:
        hint = f"keep a copy of {path}, then restore it from a backup"
        yield Finding(name="store", level="problem", text=f"damaged: {damage[0]}", hint=hint)
        return
    yield Finding(name="store", level="ok", text=f"sound, {runs} runs, {path.stat().st_size:,} bytes")


def _drivers(project: Project) -> Iterator[Finding]:
    root = project.state_dir / "drivers"
    if not root.is_dir():
        return
    for driver in project.roster.entered():
        standing = project.roster.standing(driver)
        if standing is Standing.FROZEN:
            hint = "drumline resume (takes over after ending it)"
            yield Finding(name="driver", level="note", text=f"{driver} does not answer", hint=hint)
        elif standing is Standing.LIVE:
            yield Finding(name="driver", level="ok", text=f"{driver} is at work")


def _worktrees(project: Project) -> Finding:
    configured = Path(project.settings.worktrees) if project.settings.worktrees else None
    root = project.repository.worktrees_root(configured)
    nearest = next(folder for folder in (root, *root.parents) if folder.exists())
    free = shutil.disk_usage(nearest).free
    if root.is_relative_to(project.repository.top):
        text = f"{root} lies in the checkout: tools would find your node_modules and configuration from there"
        return Finding(name="worktrees", level="problem", text=text, hint="set worktrees in .drumline/config.toml")
    level = "ok" if free > 1 << 30 else "problem"
    return Finding(name="worktrees", level=level, text=f"{root} ({free >> 20:,} MiB free)")


def _leftovers(project: Project) -> Iterator[Finding]:
    """What dead processes of ours left, removed on the way: until then the user's own git may fail."""
    store = None
    with suppress(DrumlineError):  # a store that cannot be opened is a finding of its own
        store = project.open_store() if project.has_store() else None
    try:
        found = anyio.run(clear_leftovers, project.cleanup(store))
    except (DrumlineError, OSError) as error:
        yield Finding(name="leftovers", level="problem", text=str(error), hint="drumline gc")
        return
    finally:
        if store is not None:
            store.close()
    broken = [str(one.path.relative_to(project.repository.common_dir.resolve())) for one in found if one.kind in IN_GIT]
    if broken:
        text = f"removed what an interrupted git left: {', '.join(broken)}"
        yield Finding(name="git leftovers", level="note", text=text)
    for one in (one for one in found if one.kind not in IN_GIT):
        if one.left:
            yield Finding(name="leftovers", level="note", text=f"{one.kind} {one.path} stays: {one.left}")
        else:
            note = f" ({one.note})" if one.note else ""
            yield Finding(name="leftovers", level="note", text=f"{one.deed} {one.kind} {one.path}{note}")


def _agents(project: Project | None) -> Iterator[Finding]:
    found = list_agents(_configured(project))
    yield from filter(None, map(_agent, found))
    if not any(agent.path for agent in found):
        missing = [agent.name for agent in found if not (agent.installed or agent.fault or agent.agent)]
        text = f"none of {', '.join(missing)} is on PATH; any command can be an agent"
        yield Finding(name="agents", level="note", text=text, hint="drumline agents")


def _configured(project: Project | None) -> Configured:
    """What the repository says of agents; nothing if it says it wrongly, which is a finding of its own."""
    if project is None:
        return UNCONFIGURED
    try:
        return Configured(tables=read_profiles(project.config).agents, own=project.settings.agent)
    except DrumlineError:
        return UNCONFIGURED


def _agent(agent: Listed) -> Finding | None:
    """What there is to say of an agent: nothing if it is not here, or is whatever its argument names."""
    if agent.fault:
        return Finding(name=agent.name, level="note", text=agent.fault, hint=agent.next)
    if agent.path and not agent.version:
        return Finding(name=agent.name, level="note", text=f"{agent.path} does not say its version")
    if agent.path:
        return Finding(name=agent.name, level="ok", text=f"{agent.version} at {agent.path}")
    if agent.installed and any(agent.tiers.values()):
        models = ", ".join(f"{tier} {model}" for tier, model in agent.tiers.items() if model)
        return Finding(name=agent.name, level="ok", text=f"has a key ({models})")
    return None


def _sandbox(project: Project | None) -> Iterator[Finding]:
    """Whether agents can be jailed and the jail holds: a bubblewrap that is there may be forbidden to do its work."""
    jail = find_jail()
    if jail is None:
        absence = explain_absence()
        required = _requires_sandbox(project)
        then = f"no agent runs here, because sandbox = {REQUIRED!r}" if required else UNHELD
        yield Finding(
            name="bubblewrap",
            level="problem" if required else "note",
            text=f"{absence.reason}; {then}",
            hint=absence.hint,
        )
        yield Finding(name="checks", level="note", text=UNHELD_CHECKS, hint=absence.hint)
        return
    attempts = try_breaking_out(jail)
    opened = [attempt.tried for attempt in attempts if not attempt.held and attempt.name not in LIMITS]
    if opened:
        text = f"does not hold agents: a program in it could {', '.join(opened)}; {UNHELD}"
        yield Finding(name="bubblewrap", level="problem", text=text, hint=UPDATE)
    else:
        text = "works: agents can write only to their workspace and their own folders"
        yield Finding(name="bubblewrap", level="ok", text=text)
    yield from map(_attempt, attempts)
    yield _checks(jail)


def _checks(jail: Jail) -> Finding:
    """How checks are held."""
    if find_way(jail.list_words()) is None:
        return Finding(name="checks", level="note", text=GRANTED_CACHES, hint=OVERLAY)
    return Finding(name="checks", level="ok", text="held as agents are; what they write to your home goes with them")


def _requires_sandbox(project: Project | None) -> bool:
    """Whether runs are refused here without it; no if the configuration is wrong, which is a finding of its own."""
    try:
        return project is not None and project.settings.sandbox == REQUIRED
    except DrumlineError:
        return False


def _attempt(attempt: Attempt) -> Finding:
    """What came of one way out of the jail."""
    name = f"sandbox {attempt.name}"
    if attempt.held:
        return Finding(name=name, level="ok", text=f"held: a program in it cannot {attempt.tried} ({attempt.answer})")
    if attempt.name in LIMITS:
        text = f"open: a program in it can {attempt.tried}; {LIMITS[attempt.name]}"
        return Finding(name=name, level="note", text=text, hint="set network = false in [agents.NAME]")
    return Finding(name=name, level="problem", text=f"open: a program in it can {attempt.tried}", hint=UPDATE)


def _try(argv: list[str]) -> str | None:
    """What the command prints; None if it cannot be run or fails."""
    try:
        done = subprocess.run(
            argv, capture_output=True, encoding="utf-8", errors="replace", timeout=PATIENCE, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
