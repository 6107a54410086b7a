"""One talk with an agent of the Agent Client Protocol, from the greeting to the end of its prompt.

The rule: whatever the agent answers, there is an outcome; the library's own errors do not get out of here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

import anyio
from acp import PROTOCOL_VERSION, text_block
from acp.client import ClientSideConnection
from acp.exceptions import RequestError
from acp.schema import (
    AcpMcpServer,
    ClientCapabilities,
    EnvVariable,
    FileSystemCapabilities,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    McpServerStdio,
    NewSessionResponse,
    PromptResponse,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectGroup,
    SseMcpServer,
)
from pydantic import ValidationError

from drumline import __version__
from drumline.agents.acp_client import Desk
from drumline.agents.acp_verdict import conclude, count_usage, explain_error
from drumline.agents.acp_wire import Wire
from drumline.agents.handover import join_prompt
from drumline.agents.verdicts import explain_end
from drumline.core.taxonomy import Failure
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Conversation
from drumline.profiles import McpServer
from drumline.record import replace

GRACE = 2.0
"""Seconds that an agent has to end by itself once it is told to."""
QUIET = 0.3
LONGEST_PAST = 10.0
READING_MODES = ("read-only", "plan", "approve")
"""Modes in which an agent only reads, or asks before every tool; the first that it has is chosen."""
UNHELD = "it has no mode for reading only and no jail holds it: what it changes is detected, not prevented"
Session = NewSessionResponse | LoadSessionResponse
Option = SessionConfigOptionSelect | SessionConfigOptionBoolean
Served = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio


class Talk:
    """What is said to one agent for one assignment; `used` is what it had used when it was told to stop."""

    def __init__(
        self,
        conversation: Conversation,
        assignment: Assignment,
        desk: Desk,
        *,
        servers: Sequence[McpServer] = (),
        jailed: bool = False,
    ) -> None:
        self.session = ""
        self.used: Mapping[str, float] = {}
        self._conversation = conversation
        self._assignment = assignment
        self._desk = desk
        self._servers = servers
        self._jailed = jailed
        self._doing = "the greeting"

    async def hold(self) -> Outcome:
        """The outcome; the program is told to end in any case."""
        desk = self._desk
        wire = Wire(self._conversation, self._assignment.log, hear=desk.hear, update=desk.note)
        # The library takes anything with these methods; its own type for it is not public.
        connection = ClientSideConnection(desk, wire)  # type: ignore[arg-type]
        try:
            outcome = await self._converse(connection)
        except RequestError as error:
            outcome = explain_error(error, doing=self._doing)
        except ValidationError as error:
            said = f"{self._doing} was answered by something that the protocol does not know: {error}"
            outcome = Outcome(failure=Failure.CRASH.value, message=said)
        except ConnectionError:
            outcome = await self._explain_death()
        finally:
            with anyio.CancelScope(shield=True):
                await connection.close()
            with anyio.move_on_after(GRACE, shield=True):
                await self._conversation.wait()
        await desk.tell(desk.updates.flush())
        return replace(outcome, session=self.session, source="acp" if outcome.usage else "")

    async def _converse(self, connection: ClientSideConnection) -> Outcome:
        greeting = await connection.initialize(
            protocol_version=PROTOCOL_VERSION,
            # Not for reading: some agents take our error about a missing file for a failure of their own.
            client_capabilities=ClientCapabilities(
                fs=FileSystemCapabilities(read_text_file=False, write_text_file=True), terminal=False
            ),
            client_info=Implementation(name="drumline", version=__version__),
        )
        session = await self._begin(connection, greeting)
        await self._desk.tell([Happening(kind="session", text=self.session)])
        await self._set_up(connection, session)
        self._doing = "the work"
        self._desk.listening = True
        response = await self._ask(connection)
        await self._desk.tell(self._desk.updates.flush())
        return conclude(response, self._desk, self._assignment)

    async def _ask(self, connection: ClientSideConnection) -> PromptResponse:
        """The answer to the prompt. Who is told to stop answers, too, and may say what it has used."""
        prompt = text_block(join_prompt(self._assignment))
        asked = asyncio.ensure_future(connection.prompt(session_id=self.session, prompt=[prompt]))
        try:
            return await asyncio.shield(asked)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(GRACE, shield=True), suppress(ConnectionError, RequestError, ValidationError):
                await connection.cancel(session_id=self.session)
                self.used = count_usage(await asked)
            raise
        finally:
            asked.cancel()

    async def _begin(self, connection: ClientSideConnection, greeting: InitializeResponse) -> Session:
        """Load the session to continue with, or begin a new one where that cannot be had."""
        cwd, wanted = str(self._assignment.workspace), self._assignment.session
        servers: list[Served] = [_describe(server) for server in self._servers]
        abilities = greeting.agent_capabilities
        if wanted and abilities is not None and abilities.load_session:
            self._doing = "loading the session"
            with suppress(RequestError):
                loaded = await connection.load_session(cwd=cwd, session_id=wanted, mcp_servers=servers)
                self.session = wanted
                await self._settle()
                return loaded
        if wanted:
            self._desk.notices.append(f"the session {wanted} could not be used; it began a new one")
        self._doing = "beginning a session"
        begun = await connection.new_session(cwd=cwd, mcp_servers=servers)
        self.session = begun.session_id
        return begun

    async def _settle(self) -> None:
        """Wait until a session that was loaded has been told: some agents continue with that after their answer."""
        with anyio.move_on_after(LONGEST_PAST):
            left = QUIET
            while left > 0:
                await anyio.sleep(left)
                left = self._desk.heard + QUIET - anyio.current_time()

    async def _set_up(self, connection: ClientSideConnection, session: Session) -> None:
        """Choose the model that is wanted, and a mode that only reads where no jail sees to it."""
        if self._assignment.read_only and not self._jailed:
            await self._hold_to_reading(connection, session)
        model = self._assignment.model
        if not model:
            return
        option = _find_option(session, "model")
        if option is None:
            self._desk.notices.append(f"it lets nobody choose its model; {model!r} was not set")
            return
        self._doing = f"choosing the model {model!r}"
        await connection.set_config_option(config_id=option.id, session_id=self.session, value=model)

    async def _hold_to_reading(self, connection: ClientSideConnection, session: Session) -> None:
        modes = [] if session.modes is None else [mode.id for mode in session.modes.available_modes]
        option = None if modes else _find_option(session, "mode")
        mode = next((mode for mode in READING_MODES if mode in (modes or _list_values(option))), None)
        if mode is None:
            self._desk.notices.append(UNHELD)
            return
        self._doing = f"choosing the mode {mode!r}"
        if option is None:
            await connection.set_session_mode(session_id=self.session, mode_id=mode)
        else:
            await connection.set_config_option(config_id=option.id, session_id=self.session, value=mode)

    async def _explain_death(self) -> Outcome:
        ended = await self._conversation.wait()
        if ended.exit_code is None and not ended.killed:
            return Outcome(failure=Failure.PERMANENT.value, message=f"could not be started: {ended.message}")
        return explain_end(ended, f"an answer to {self._doing}")


def _find_option(session: Session, about: str) -> Option | None:
    return next((o for o in session.config_options or () if about in (o.id, o.category)), None)


def _list_values(option: Option | None) -> list[str]:
    """What may be chosen; some part their choices into groups."""
    if not isinstance(option, SessionConfigOptionSelect):
        return []
    groups = [one.options if isinstance(one, SessionConfigSelectGroup) else [one] for one in option.options]
    return [choice.value for group in groups for choice in group]


def _describe(server: McpServer) -> Served:
    if server.url:
        return HttpMcpServer(type="http", name=server.name, url=server.url, headers=[])
    env = [EnvVariable(name=name, value=value) for name, value in server.env.items()]
    return McpServerStdio(name=server.name, command=server.command[0], args=list(server.command[1:]), env=env)
