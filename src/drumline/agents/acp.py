"""Any agent that speaks the Agent Client Protocol: `acp:COMMAND` starts it, and the protocol's library talks with it.

The rule: the program runs like every other agent, supervised and jailed; the protocol only carries words.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from drumline.agents.acp_programs import find_own, find_restraint
from drumline.agents.confinement import Confinement, make_scratch
from drumline.agents.jail import Jail
from drumline.agents.kills import add_left
from drumline.agents.silence import describe_silence
from drumline.agents.verdicts import discard_overlong
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.isolation.outside import look_on
from drumline.isolation.privatehome import open_homes
from drumline.ports.agents import Agent, Assignment, Happening, Outcome
from drumline.ports.processes import Conversation, Job, Processes
from drumline.profiles import NOTHING, Grant, McpServer
from drumline.record import Record, field, replace

if TYPE_CHECKING:
    from drumline.agents.acp_client import Desk
    from drumline.agents.acp_talk import Talk


class AcpAgent(Record):
    """Starts one program per assignment and talks with it; `servers` are the MCP servers there are, by name."""

    argv: tuple[str, ...]
    processes: Processes
    jail: Jail | None = None
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    grant: Grant = NOTHING

    async def work(self, assignment: Assignment) -> Outcome:
        """Do the assignment in its workspace. No process of it is left when this returns or is cancelled."""
        unknown = [name for name in assignment.mcp_servers if name not in self.servers]
        if unknown:
            known = ", ".join(self.servers) or "none"
            message = f"no MCP server is called {', '.join(unknown)} (there are: {known})"
            return Outcome(failure=Failure.PERMANENT.value, message=message)
        work = partial(self._work, assignment)
        outcome = await (work() if self.jail else look_on(assignment, work))
        return discard_overlong(outcome, session=assignment.session)

    async def _work(self, assignment: Assignment) -> Outcome:
        keep, homes = find_own(self.argv)
        jailed, granted = self.jail is not None, self.grant.folders
        with (
            make_scratch(assignment, self.jail) as scratch,
            open_homes(homes, assignment, jailed=jailed, granted=granted) as private,
        ):
            held = Confinement(
                assignment=assignment,
                scratch=scratch,
                jail=self.jail,
                keep=(*keep, *self.grant.env),
                folders=granted,
                homes=private,
                words=tuple(word for name in assignment.mcp_servers for word in self.servers[name].command),
            )
            try:
                async with self.processes.open(self._write_job(held)) as conversation:
                    outcome = await self._attend(assignment, conversation)
                return add_left(outcome, conversation)
            except OSError as error:
                return Outcome(failure=Failure.PERMANENT.value, message=f"could not be started: {error}")

    async def _attend(self, assignment: Assignment, conversation: Conversation) -> Outcome:
        """Talk until there is an outcome, the time is up, or nothing was heard for too long."""
        from drumline.agents.acp_client import Desk
        from drumline.agents.acp_policy import Policy
        from drumline.agents.acp_talk import Talk

        policy = Policy(
            workspace=assignment.workspace,
            writable=assignment.writable,
            sealed=assignment.sealed,
            read_only=assignment.read_only,
            jailed=self.jail is not None,
            servers=assignment.mcp_servers,
            answers=assignment.answers,
        )
        desk = Desk(assignment, policy)
        servers = tuple(self.servers[name] for name in assignment.mcp_servers)
        talk = Talk(conversation, assignment, desk, servers=servers, jailed=policy.jailed)
        found: list[Outcome] = []
        async with _count_at_end(assignment, desk, talk), anyio.create_task_group() as tasks:
            tasks.start_soon(_watch, desk, assignment.idle, tasks.cancel_scope)
            with anyio.move_on_after(assignment.timeout):
                found.append(await talk.hold())
            tasks.cancel_scope.cancel()
        if found:
            return replace(found[0], notices=(*desk.notices, *found[0].notices))
        return _explain_stop(assignment, desk, talk)

    def _write_job(self, held: Confinement) -> Job:
        assignment = held.assignment
        log = assignment.log.with_name(assignment.log.name + ".stderr")
        reading = assignment.read_only and self.jail is None
        return held.write_job(self.argv, log=log, env=find_restraint(self.argv) if reading else {})


def open_acp(
    argument: str,
    *,
    processes: Processes,
    base: Path,
    tiers: Mapping[str, str],
    servers: Mapping[str, McpServer],
    jail: Jail | None,
    grant: Grant = NOTHING,
) -> Agent:
    """The agent that the command `argument` starts, with words as a shell would part them; no shell is involved.

    `base` and `tiers` do not matter: the workspace is where it runs, and its models have names of its own.
    """
    hint = "drumline run PLAN --agent 'acp:gemini --acp'"
    try:
        words = shlex.split(argument)
    except ValueError as error:
        raise InvalidInput(f"{argument!r} cannot be parted into words: {error}", hint=hint) from error
    program = shutil.which(words[0]) if words and "\0" not in argument else None
    if program is None:
        raise InvalidInput(f"there is no program {words[0] if words else ''!r} on PATH", hint=hint)
    return AcpAgent(argv=(program, *words[1:]), processes=processes, jail=jail, servers=servers, grant=grant)


async def _watch(desk: Desk, idle: float | None, scope: anyio.CancelScope) -> None:
    """Cancel `scope` once nothing was heard for too long."""
    while idle is not None:
        left = desk.heard + idle - anyio.current_time()
        if left <= 0:
            desk.gave_up = True
            scope.cancel()
            return
        await anyio.sleep(left)


@asynccontextmanager
async def _count_at_end(assignment: Assignment, desk: Desk, talk: Talk) -> AsyncIterator[None]:
    """If the talk in this block is cut short, report what was used by then before anything else."""
    try:
        yield
    except anyio.get_cancelled_exc_class():
        if usage := _count(assignment, desk, talk):
            with anyio.CancelScope(shield=True):
                await assignment.report(Happening(kind="usage", usage=usage))
        raise


def _count(assignment: Assignment, desk: Desk, talk: Talk) -> dict[str, float]:
    """What was used, as far as it was told; the cost of a session gone on with has what came before."""
    cost = {} if desk.updates.cost is None or assignment.session else {"cost_usd": desk.updates.cost}
    return {**talk.used, **cost}


def _explain_stop(assignment: Assignment, desk: Desk, talk: Talk) -> Outcome:
    doing = f"; the last thing it did: {desk.last[:500]}" if desk.last else "; it had done nothing yet"
    if desk.gave_up:
        failure, message = Failure.CRASH, describe_silence(assignment)
    else:
        failure, message = Failure.TIMEOUT, f"timed out after {assignment.timeout:g} s"
    usage = _count(assignment, desk, talk)
    return Outcome(
        failure=failure.value,
        message=message + doing,
        usage=usage,
        source="acp" if usage else "",
        session=talk.session,
        notices=tuple(desk.notices),
    )
