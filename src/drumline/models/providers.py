"""Models of providers, through pydantic-ai. The rule: whatever goes wrong there is an answer here, with its class.

This module is imported only when such a model is asked: it brings the provider's own library with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, infer_model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import RunUsage, UsageLimits

from drumline.core.redaction import Secrets
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.isolation.homes import find_homes
from drumline.isolation.outside import Watch, watch_over
from drumline.models.confined import confine
from drumline.models.faults import blame, judge
from drumline.models.filetools import FileTools
from drumline.models.lifetime import hold
from drumline.models.servers import choose_servers, start_servers
from drumline.models.shelltools import ShellTools
from drumline.models.tiers import spell
from drumline.models.toolbox import build_skill_tool, build_tools, choose_tools, name_servers
from drumline.models.transcript import Transcript
from drumline.ports.jail import Wrapper
from drumline.ports.models import Answer, Question
from drumline.ports.processes import Processes
from drumline.profiles import NOTHING, Grant, McpServer
from drumline.record import Record, field, replace

EXEC = ("exec", "execute_command")
"""Names of the tool that runs commands."""
EFFORTS = {
    "none": False,
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}


class PydanticModels(Record):
    """Asks the model that a question names as `provider:model`.

    What is started for it is held by the `jail`, if there is one; `grant` is what it may see and write to beside.
    """

    processes: Processes
    servers: Sequence[McpServer] = ()
    jail: Wrapper | None = None
    grant: Grant = NOTHING
    secrets: Secrets = field(default_factory=Secrets)
    find_model: Callable[[str], Model] = infer_model

    async def ask(self, question: Question) -> Answer:
        """The answer of the last turn; tools are used on the way, up to `max_iterations` turns.

        Without a jail, what changes outside the workspace while it has commands or servers is reported.
        """
        if self.jail is not None or not starts_commands(question):
            return await self._ask(question)
        watch = Watch(workspace=question.workspace, run=question.run, writable=find_homes(self.grant.folders))
        answer, found = await watch_over(watch, partial(self._ask, question))
        return replace(answer, notices=tuple(found))

    async def _ask(self, question: Question) -> Answer:
        usage = RunUsage()
        transcript = Transcript(question.log, self.secrets)
        transcript.add("model", question.model)
        try:
            text = await self._converse(question, usage, transcript)
        except InvalidInput as error:
            answer = _fail(Failure.PERMANENT, error.with_hint, usage)
        except Exception as error:
            # The libraries of providers raise what they like; to a flow all of it is a failed question.
            failure, said = judge(error, limit=question.max_iterations)
            answer = _fail(failure, self.secrets.hide(blame(failure, said, model=question.model)), usage)
        else:
            answer = _accept(self.secrets.hide(text), usage)
        if answer.failure:
            transcript.add(f"failed ({answer.failure})", answer.message)
        return answer

    async def _converse(self, question: Question, usage: RunUsage, transcript: Transcript) -> str:
        servers = choose_servers(name_servers(question.tools, question.mcp_servers), self.servers)
        settings = read_settings(question)
        async with AsyncExitStack() as stack:
            processes = stack.enter_context(
                confine(
                    self.processes,
                    jail=self.jail,
                    workspace=question.workspace,
                    log=question.log,
                    grant=self.grant,
                    sealed=question.sealed,
                )
            )
            tools = _build_tools(question, processes)
            model = await stack.enter_async_context(hold(self.find_model(spell(question.model))))
            toolsets = await start_servers(
                servers, stack, processes=processes, cwd=question.workspace, log=question.log
            )
            agent = _build_agent(question, tools, toolsets)
            limits = UsageLimits(request_limit=question.max_iterations)
            run = await stack.enter_async_context(
                agent.iter(question.prompt, model=model, model_settings=settings, usage_limits=limits, usage=usage)
            )
            told = 0
            _tell_question(transcript, question)
            async for _node in run:
                messages = run.all_messages()
                _tell(transcript, messages[told:])
                told = len(messages)
            return _read_last(run.all_messages())


def starts_commands(question: Question) -> bool:
    """Whether the model may start something: a command, or a server of tools."""
    named = any(tool.removesuffix(".sh") in EXEC for tool in question.tools)
    return named or bool(name_servers(question.tools, question.mcp_servers))


def _build_tools(question: Question, processes: Processes) -> list[Tool[None]]:
    shell = ShellTools(workspace=question.workspace, processes=processes, log=question.log)
    files = FileTools(workspace=question.workspace, sealed=question.sealed)
    functions = build_tools(choose_tools(question.tools), files, shell)
    functions |= build_skill_tool(question.skills)
    return [Tool(function, takes_ctx=False, name=name) for name, function in functions.items()]


def read_settings(question: Question) -> ModelSettings:
    """The settings of a question; what a provider does not take, its library leaves out."""
    settings = ModelSettings()
    if question.temperature is not None:
        settings["temperature"] = question.temperature
    if question.top_p is not None:
        settings["top_p"] = question.top_p
    if question.reasoning_effort:
        if question.reasoning_effort not in EFFORTS:
            said = f"reasoning_effort {question.reasoning_effort!r} is unknown (legal: {', '.join(EFFORTS)})"
            raise InvalidInput(said, hint="drumline flow validate FILE")
        settings["thinking"] = EFFORTS[question.reasoning_effort]  # type: ignore[typeddict-item]  # the table's values
    return settings


def _build_agent(
    question: Question, tools: Sequence[Tool[None]], toolsets: Sequence[AbstractToolset[None]]
) -> Agent[None, str | None]:
    # Wrong arguments go back to the model as often as it has turns; an empty answer is judged here, not asked again.
    return Agent(
        output_type=[str, type(None)],
        deps_type=type(None),
        instructions=question.instructions or None,
        tools=tools,
        toolsets=toolsets,
        retries={"tools": question.max_iterations, "output": 0},
        name="drumline",
    )


def _accept(text: str, usage: RunUsage) -> Answer:
    if not text.strip():
        return _fail(Failure.TRANSIENT, "the model produced no output", usage)
    return Answer(text=text, usage=count_usage(usage))


def _fail(failure: Failure, message: str, usage: RunUsage) -> Answer:
    return Answer(failure=failure.value, message=message, usage=count_usage(usage))


def count_usage(usage: RunUsage) -> dict[str, float]:
    """What was used, without what is zero; a cost only if the price is known."""
    counts = {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
        "requests": usage.requests,
        "tool_calls": usage.tool_calls,
    }
    used = {name: float(count) for name, count in counts.items() if count}
    return used if usage.cost is None else used | {"cost_usd": float(usage.cost)}


def _read_last(messages: Sequence[ModelMessage]) -> str:
    last = next((message for message in reversed(messages) if isinstance(message, ModelResponse)), None)
    return "" if last is None else "".join(part.content for part in last.parts if isinstance(part, TextPart))


def _tell_question(transcript: Transcript, question: Question) -> None:
    if question.instructions:
        transcript.add("instructions", question.instructions)
    transcript.add("prompt", question.prompt)


def _tell(transcript: Transcript, messages: Sequence[ModelMessage]) -> None:
    for message in messages:
        for part in message.parts:
            match part:
                case TextPart():
                    transcript.add("answer", part.content)
                case ToolCallPart():
                    transcript.add(f"calls {part.tool_name}", part.args_as_json_str())
                case ToolReturnPart():
                    transcript.add(f"{part.tool_name} says", part.model_response_str())
                case RetryPromptPart():
                    transcript.add("told to try again", part.model_response())
                case _:
                    pass
