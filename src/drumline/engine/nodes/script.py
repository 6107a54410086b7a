"""Script nodes: a program reads the state from its environment and prints one JSON object.

Whatever a script does is an outcome, never an exception; nothing it started and no copy of the state outlives it. One
that is killed from outside has neither worked nor failed: it runs again, and blocks the run if that happens every time.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from drumline.core.flow.extraction import read_object
from drumline.core.flow.model import Json, ScriptNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.values import render
from drumline.core.leftovers import tell_left
from drumline.core.steprules import explain_kills
from drumline.core.taxonomy import MOST_KILLS, Failure
from drumline.engine.kills import KILL_WAIT
from drumline.engine.nodes.visit import Visit
from drumline.errors import InvalidInput
from drumline.isolation.scratch import open_scratch
from drumline.ports.processes import PRINTED_LIMIT, Ended, Job, Processes
from drumline.record import replace

# A state up to this size is handed over inside the environment, a larger one as a file.
INLINE_LIMIT = 32_768
STATE, STATE_FILE = "GRAPH_STATE", "GRAPH_STATE_FILE"
PROMPT_UTILS = Path(__file__).resolve().parents[2] / "flows" / "prompt-utils.sh"
# How much of its stderr the message about a failed script repeats.
STDERR_SHOWN = 2_000
PROBE_TIMEOUT = 10.0

Sleep = Callable[[float], Awaitable[None]]
Ask = Callable[[Sequence[str]], Awaitable[str]]

PROGRAMS = {".sh": "bash", ".py": "python3"}
LOCAL_TSX = Path("node_modules", ".bin", "tsx")
# In the order of trust in how much TypeScript they understand.
TYPESCRIPT_RUNNERS = (("tsx",), ("bun", "run"), ("deno", "run", "-A"))
# Node says `strip` or `transform` if it runs TypeScript by itself, and anything else if it does not.
NODE_PROBE = ("node", "-p", "process.features.typescript")
NODE_ABILITIES = frozenset({"strip", "transform"})

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_IN_A_NAME = re.compile("[^A-Z0-9_]")


async def run_script(node: ScriptNode, visit: Visit, processes: Processes, sleep: Sleep) -> Outcome:
    """The object that the script printed, `_next` included, or why there is none."""
    notices: list[str] = []
    outcome = await _run_patiently(node, visit, _Noting(processes, notices), sleep)
    return replace(outcome, notices=tuple(notices)) if notices else outcome


class _Noting:
    """Runs commands, and notes what of them could not be ended."""

    def __init__(self, processes: Processes, notices: list[str]) -> None:
        self._processes = processes
        self._notices = notices

    async def run(self, job: Job) -> Ended:
        """Run to the end."""
        ended = await self._processes.run(job)
        if ended.left:
            self._notices.append(tell_left(ended.left))
        return ended


async def _run_patiently(node: ScriptNode, visit: Visit, processes: _Noting, sleep: Sleep) -> Outcome:
    """The outcome of the first time that the script is not killed from outside."""
    named = f"script '{node.script}'"
    try:
        for _ in range(MOST_KILLS):
            answer = await _run_once(node, visit, processes)
            if answer is not None:
                return Outcome(output=answer)
            await sleep(KILL_WAIT)
    except InvalidInput as refusal:
        return Outcome(failure=f"{named}: {refusal}")
    except OSError as error:
        return Outcome(failure=f"{named}: its files cannot be used: {error}")
    return Outcome(blocked=explain_kills(MOST_KILLS, named), failure_class=Failure.KILLED.value)


async def _run_once(node: ScriptNode, visit: Visit, processes: _Noting) -> Mapping[str, Json] | None:
    """What the script printed; None if it was killed from outside, which says nothing about it."""
    script = _find_script(node, visit)
    log = visit.log("script")
    with open_scratch(log.with_suffix(".tmp")) as scratch:
        argv = await build_argv(script, folder=visit.folder, ask=_Prober(processes, scratch).ask)
        job = Job(
            argv=argv,
            cwd=visit.folder,
            log=log,
            env=_describe(visit) | _hand_over(visit.values, scratch),
            # Where a script of one flow runs another, the state of the outer one must not shine through.
            unset=(STATE, STATE_FILE),
            timeout=min(node.timeout, node.timeout if visit.timeout is None else visit.timeout),
            printed=scratch / "printed",
        )
        ended = await processes.run(job)
        return None if ended.killed else _read_answer(job, scratch / "printed", ended)


def _find_script(node: ScriptNode, visit: Visit) -> Path:
    """The script's file, wherever its path leads: a flow is code of the person who runs it."""
    path = visit.source.absolute() / node.script
    try:
        if path.is_file():
            return path
    except OSError as error:
        raise InvalidInput(f"Script file cannot be looked for: {error}") from error
    raise InvalidInput(f"Script file not found: {str(path)!r}; its path starts at the flow's folder")


class _Prober:
    """Asks programs what they can."""

    def __init__(self, processes: _Noting, scratch: Path) -> None:
        self._processes = processes
        self._scratch = scratch

    async def ask(self, argv: Sequence[str]) -> str:
        """What the command printed; nothing if it failed."""
        printed = self._scratch / "probed"
        log = self._scratch / "probe.log"
        job = Job(argv=argv, cwd=self._scratch, log=log, printed=printed, timeout=PROBE_TIMEOUT)
        ended = await self._processes.run(job)
        return printed.read_text(encoding="utf-8", errors="replace") if ended.exit_code == 0 else ""


def _describe(visit: Visit) -> dict[str, str]:
    """What a script is told besides the state."""
    data = visit.logs / "data"
    data.mkdir(parents=True, exist_ok=True)
    source = visit.source.absolute()
    told = {
        "AUTO_CONFIRM": "true",
        "CLICOLOR_FORCE": "1",
        "FORCE_COLOR": "1",
        # Flows of the adopted format live in ROOT/agents/NAME and share files below the root.
        "LLM_ROOT_DIR": str(source.parent.parent if source.parent.name == "agents" else source),
        "LLM_PROMPT_UTILS_FILE": str(PROMPT_UTILS),
        "LLM_AGENT_DATA_DIR": str(data.absolute()),
        "DRUMLINE_RUN": visit.run,
        "DRUMLINE_NODE": visit.key.node,
        "DRUMLINE_SCOPE": visit.key.scope,
        "DRUMLINE_VISIT": str(visit.key.visit),
    }
    return told | {_name_variable(name): render(value) for name, value in visit.variables.items()}


def _name_variable(name: str) -> str:
    return "LLM_AGENT_VAR_" + _NOT_IN_A_NAME.sub("_", name.upper())


def _hand_over(values: Mapping[str, Json], scratch: Path) -> dict[str, str]:
    """The state as JSON: itself if it is small, else the file that has it."""
    try:
        text = render(values)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the state cannot be written as JSON: {error}") from error
    # Half a character is legal in JSON as an escape only, and in UTF-8 not at all.
    text = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    data = text.encode()
    if len(data) <= INLINE_LIMIT:
        return {STATE: text}
    path = (scratch / "state.json").absolute()
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(data)
    return {STATE_FILE: str(path)}


def _read_answer(job: Job, printed: Path, ended: Ended) -> Mapping[str, Json]:
    """The object that was printed; InvalidInput says why there is none."""
    if ended.timed_out:
        raise InvalidInput(f"timed out after {job.timeout:g}s{_quote(ended)}")
    if ended.exit_code is None:
        absent = "" if shutil.which(job.argv[0]) else f"; install {job.argv[0]!r} or put it on PATH"
        raise InvalidInput(f"{ended.message or 'cannot be started'}{absent}")
    if ended.exit_code != 0:
        raise InvalidInput(f"failed with exit code {ended.exit_code}{_quote(ended)}")
    if ended.cut:
        reason = ended.message or f"it printed more than {PRINTED_LIMIT:,} bytes, which is the most that is read"
        raise InvalidInput(f"{reason}; write large results to a file below LLM_AGENT_DATA_DIR and print its name")
    try:
        text = printed.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"its output is not UTF-8: byte {error.object[error.start]:#04x}") from error
    try:
        return read_object(text)
    except InvalidInput as refusal:
        raise InvalidInput(f"{refusal}{_quote(ended)}") from refusal


def _quote(ended: Ended) -> str:
    said = ended.errors.strip()
    return f"; its stderr ends with: {said[-STDERR_SHOWN:]}" if said else ""


async def build_argv(script: Path, *, folder: Path, ask: Ask) -> tuple[str, ...]:
    """The command that runs the script; InvalidInput if nothing here can. `ask` runs a command and returns its stdout.

    TypeScript is run by what stands closest: tsx of the packages around the script or the folder, then PATH.
    """
    if script.suffix in PROGRAMS:
        return (PROGRAMS[script.suffix], str(script))
    if script.suffix == ".ts":
        return (*await _find_typescript((script.parent, folder.absolute()), ask), str(script))
    legal = ", ".join([*PROGRAMS, ".ts"])
    raise InvalidInput(f"Unsupported script extension '{script.suffix}'; use one of {legal}")


async def _find_typescript(places: Sequence[Path], ask: Ask) -> tuple[str, ...]:
    for place in places:
        for parent in (place, *place.parents):
            if found := shutil.which(parent / LOCAL_TSX):
                return (str(found),)
    for runner in TYPESCRIPT_RUNNERS:
        if shutil.which(runner[0]):
            return runner
    if shutil.which("node") and (await ask(NODE_PROBE)).strip() in NODE_ABILITIES:
        return ("node",)
    raise InvalidInput("nothing here runs TypeScript; install tsx, bun, deno, or node 22.18 or later")
