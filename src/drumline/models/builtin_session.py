"""One assignment of the built-in agent: a model takes turns with its tools until it says that it is done.

The rule: whatever goes wrong is an outcome with its class, and what was done until then is told.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from typing import Any

import anyio
from pydantic_ai import Agent, ModelRetry, StructuredDict, Tool
from pydantic_ai import exceptions as ai
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models import infer_model
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import RunUsage, UsageLimits

from drumline.core.flow.model import Json
from drumline.core.redaction import Secrets
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.models.confined import ConfinedProcesses, confine
from drumline.models.faults import blame, judge
from drumline.models.filetools import FileTools
from drumline.models.lifetime import hold
from drumline.models.memory import Memory
from drumline.models.narration import Narration
from drumline.models.servers import choose_servers, start_servers
from drumline.models.shelltools import ShellTools
from drumline.models.tiers import spell
from drumline.models.toolbox import LOOKING, build_tools, choose_tools, name_servers
from drumline.models.transcript import Transcript
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.jail import Wrapper
from drumline.ports.processes import Processes
from drumline.profiles import Grant, McpServer
from drumline.record import Record, replace

TURNS = 200
"""Turns that it may take; a budget or a timeout ends it sooner."""
SCHEMA_TRIES = 2
EXEC = "execute_command"
NAMES: Mapping[str, str] = {
    "fs_cat": "read",
    "fs_ls": "list",
    "fs_grep": "search",
    "fs_glob": "find",
    "fs_write": "write",
    "fs_patch": "patch",
    "fs_mkdir": "make_folder",
    "fs_rm": "remove",
    EXEC: "exec",
}
GUIDES = ("AGENTS.md", "CLAUDE.md")
LONGEST_GUIDE = 32 * 1024
INSTRUCTIONS = """You are a coding agent. You work alone, in one folder of a git repository, until the task is done.
Paths are relative to that folder. Look before you change something, change what the task asks for and no more,
and run the project's own checks where there are any. Do not commit. When you are done, say briefly what you did."""
IDLED = "the agent exited without output and changed nothing"
SPENT = "the budget of this assignment is used up"
NOT_FITTING = "no answer of it fitted the schema"


class Spent(Exception):
    """The budget is used up."""


class Equipment(Record):
    """What an agent works with: a model, what starts its commands and servers, and what limits those."""

    model: str
    secrets: Secrets
    processes: Processes
    jail: Wrapper | None
    grant: Grant
    servers: Mapping[str, McpServer]


class BuiltinSession:
    """Runs one assignment; `heard` is when something happened last."""

    def __init__(self, assignment: Assignment, equipment: Equipment) -> None:
        secrets = equipment.secrets
        self._equipment = equipment
        self._assignment = assignment
        self._model = equipment.model
        self._secrets = secrets
        self._usage = RunUsage()
        self._memory = Memory(assignment, secrets)
        self._narration = Narration(assignment, Transcript(assignment.log, secrets), secrets)

    async def run(self) -> Outcome:
        """The outcome, whatever happens."""
        try:
            outcome = await self._converse()
        except InvalidInput as error:
            outcome = Outcome(failure=Failure.PERMANENT.value, message=str(error))
        except Spent:
            outcome = Outcome(failure=Failure.QUOTA.value, message=SPENT)
        except Exception as error:
            # The libraries of providers raise what they like; to a plan all of it is a failed attempt.
            outcome = self._explain(error)
        if outcome.failure:
            self._narration.write(f"failed ({outcome.failure})", outcome.message)
        return self._finish(outcome)

    async def wait_silence(self) -> None:
        """Return once nothing has happened for longer than the assignment allows."""
        idle = self._assignment.idle
        if idle is None:
            await anyio.sleep_forever()
            return
        left = idle
        while left > 0:
            await anyio.sleep(left)
            left = self._narration.heard + idle - anyio.current_time()

    def explain_stop(self, *, silent: bool) -> Outcome:
        """The outcome of work that was stopped for its silence, or because its time was up."""
        last = self._narration.last
        doing = f"; the last thing it did: {last[:500]}" if last else "; it had done nothing yet"
        if silent:
            failure, message = Failure.CRASH, f"said nothing for {self._assignment.idle:g} s and was stopped"
        else:
            failure, message = Failure.TIMEOUT, f"timed out after {self._assignment.timeout:g} s"
        return self._finish(Outcome(failure=failure.value, message=message + doing))

    async def _converse(self) -> Outcome:
        assignment, memory = self._assignment, self._memory
        known = list(self._equipment.servers.values())
        servers = choose_servers(name_servers(assignment.tools or (), assignment.mcp_servers), known)
        async with AsyncExitStack() as stack:
            processes = stack.enter_context(self._confine())
            tools = self._build_tools(processes)
            await self._narration.begin(memory.id, self._model)
            model = await stack.enter_async_context(hold(infer_model(spell(self._model))))
            toolsets = await start_servers(
                servers, stack, processes=processes, cwd=assignment.workspace, log=assignment.log
            )
            agent = _build_agent(assignment, tools, toolsets)
            limits = UsageLimits(request_limit=_count_turns(assignment))
            run = await stack.enter_async_context(
                agent.iter(
                    assignment.prompt,
                    model=model,
                    message_history=memory.past or None,
                    usage_limits=limits,
                    usage=self._usage,
                )
            )
            async for node in run:
                # What the tools answered is with the library only once the model has been asked again.
                coming = [node.request] if Agent.is_model_request_node(node) else []
                await self._attend([*run.all_messages(), *coming])
            value = None if run.result is None else run.result.output
            return self._accept(_read_last(run.all_messages()), value)

    async def _attend(self, messages: Sequence[ModelMessage]) -> None:
        """Tell and keep what is new; stop where the budget is used up."""
        await self._narration.tell(messages[len(self._memory.past) :], count_usage(self._usage))
        self._memory.keep(messages)
        budget, cost = self._assignment.budget, self._usage.cost
        if budget is not None and cost is not None and float(cost) > budget:
            raise Spent

    def _accept(self, text: str, value: Any) -> Outcome:
        if self._assignment.output_schema is not None and isinstance(value, dict):
            return Outcome(message=text, structured=value)
        if not text.strip() and not self._narration.last:
            return Outcome(failure=Failure.VALIDATION.value, message=IDLED)
        return Outcome(message=text)

    def _finish(self, outcome: Outcome) -> Outcome:
        lost = self._memory.lost
        notices = (f"the session {lost} could not be used; it began a new one",) if lost else ()
        return replace(
            outcome,
            message=self._secrets.hide(outcome.message),
            usage=count_usage(self._usage),
            source="builtin",
            session=self._memory.id,
            notices=notices,
        )

    def _explain(self, error: Exception) -> Outcome:
        if isinstance(error, ai.UsageLimitExceeded):
            message = f"it took more turns than it may ({_count_turns(self._assignment)})"
            return Outcome(failure=Failure.TURNS.value, message=message)
        failure, said = judge(error, limit=TURNS)
        if isinstance(error, ai.UnexpectedModelBehavior) and self._assignment.output_schema is not None:
            return Outcome(failure=Failure.VALIDATION.value, message=f"{NOT_FITTING}: {said}")
        if isinstance(error, ai.ModelRateLimitError):
            resets_at = None if error.retry_after is None else time.time() + error.retry_after
            return Outcome(failure=Failure.QUOTA.value, message=said, resets_at=resets_at)
        return Outcome(failure=failure.value, message=blame(failure, said, model=self._model))

    def _confine(self) -> AbstractContextManager[ConfinedProcesses]:
        """What holds all that it starts, its commands and its servers."""
        equipment, assignment = self._equipment, self._assignment
        return confine(
            equipment.processes,
            jail=equipment.jail,
            workspace=assignment.workspace,
            log=assignment.log,
            grant=equipment.grant,
            writable=assignment.writable,
            sealed=assignment.sealed,
            read_only=assignment.read_only,
        )

    def _build_tools(self, processes: ConfinedProcesses) -> list[Tool[None]]:
        assignment, jail = self._assignment, self._equipment.jail
        chosen = list(NAMES) if assignment.tools is None else choose_tools(assignment.tools)
        if assignment.read_only:
            # In a jail the kernel keeps commands from writing.
            chosen = [name for name in chosen if name in LOOKING or (name == EXEC and jail is not None)]
        shell = ShellTools(workspace=assignment.workspace, processes=processes, log=assignment.log)
        functions = build_tools(chosen, FileTools(workspace=assignment.workspace, sealed=assignment.sealed), shell)
        return [Tool(function, takes_ctx=False, name=NAMES[name]) for name, function in functions.items()]


def _count_turns(assignment: Assignment) -> int:
    """How many turns it may take: what the assignment says, if that is less."""
    return TURNS if assignment.turns is None else min(TURNS, assignment.turns)


def _build_agent(
    assignment: Assignment, tools: Sequence[Tool[None]], toolsets: Sequence[AbstractToolset[None]]
) -> Agent[None, Any]:
    schema = assignment.output_schema
    wants_value = schema is not None and schema.get("type") == "object"
    # An empty answer is judged by us, not asked again; wrong arguments go back to the model.
    output: Any = StructuredDict(dict(schema or {})) if wants_value else [str, type(None)]
    agent: Agent[None, Any] = Agent(
        output_type=output,
        deps_type=type(None),
        instructions=_write_instructions(assignment),
        tools=tools,
        toolsets=toolsets,
        retries={"tools": TURNS, "output": SCHEMA_TRIES if wants_value else 0},
        name="drumline",
    )
    if wants_value:
        agent.output_validator(lambda value: _check(value, schema or {}))
    return agent


def _check(value: Any, schema: Mapping[str, Json]) -> Any:
    """The value, if it fits; else the model is told why not."""
    from jsonschema import Draft202012Validator

    faults = [fault.message for fault in Draft202012Validator(dict(schema)).iter_errors(value)]
    if faults:
        raise ModelRetry(f"that does not fit the schema: {'; '.join(faults)[:1000]}")
    return value


def _write_instructions(assignment: Assignment) -> str:
    """What it is, what the repository says to agents, and what the assignment says."""
    for name in GUIDES:
        path = assignment.workspace / name
        if path.is_file() and path.resolve().is_relative_to(assignment.workspace.resolve()):
            with path.open(encoding="utf-8", errors="replace") as file:
                guide = f"{name} of this repository:\n\n{file.read(LONGEST_GUIDE)}"
            break
    else:
        guide = ""
    return "\n\n".join(part for part in (INSTRUCTIONS, guide, assignment.instructions) if part)


def count_usage(usage: RunUsage) -> dict[str, float]:
    """The tokens, those from a cache among the input; a cost only if the price is known."""
    counts = {
        "input": float(usage.input_tokens),
        "output": float(usage.output_tokens),
        "cached": float(usage.cache_read_tokens),
    }
    return counts if usage.cost is None else counts | {"cost_usd": float(usage.cost)}


def _read_last(messages: Sequence[ModelMessage]) -> str:
    last = next((message for message in reversed(messages) if isinstance(message, ModelResponse)), None)
    return "" if last is None else "".join(part.content for part in last.parts if isinstance(part, TextPart)).strip()
