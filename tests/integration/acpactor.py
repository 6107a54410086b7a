"""An agent of the Agent Client Protocol that does what its prompt says: a JSON list of steps, one key each.

It is a program of its own: `python acpactor.py`. Sessions it remembers are files in the folder it is given; steps that
are there in `steps.json` go before those of any prompt.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, run_agent
from acp.schema import (
    AgentCapabilities,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    SessionConfigOptionSelect,
    SessionConfigSelectGroup,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    SetSessionConfigOptionResponse,
    ToolCallUpdate,
    Usage,
)

OPTIONS = [
    PermissionOption(kind="allow_once", name="Yes", option_id="yes"),
    PermissionOption(kind="reject_once", name="No", option_id="no"),
]
MODES = SessionModeState(
    current_mode_id="default",
    available_modes=[SessionMode(id="default", name="Default"), SessionMode(id="plan", name="Plan")],
)

MODE = SessionConfigOptionSelect(
    type="select",
    id="mode",
    name="Mode",
    category="mode",
    current_value="build",
    options=[
        SessionConfigSelectGroup(
            group="all",
            name="All",
            options=[SessionConfigSelectOption(value=value, name=value) for value in ("build", "plan")],
        )
    ],
)


class Actor:
    """Plays the steps of a prompt."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._cancelled = asyncio.Event()
        self._heard: dict[str, Any] = {}

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, **given: Any) -> InitializeResponse:
        self._heard["capabilities"] = given["client_capabilities"].model_dump(mode="json")
        if "deaf" in sys.argv:
            await asyncio.sleep(1000)
        if "locked" in sys.argv:
            raise RequestError(-32000, "Authentication required")
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION, agent_capabilities=AgentCapabilities(load_session=True)
        )

    async def new_session(self, cwd: str, **given: Any) -> NewSessionResponse:
        self._heard["servers"] = [server.model_dump(mode="json") for server in given.get("mcp_servers") or ()]
        name = f"s-{len(list(self._memory.glob('s-*'))) + 1}"
        (self._memory / name).touch()
        if "optional" in sys.argv:
            return NewSessionResponse(session_id=name, config_options=[MODE])
        return NewSessionResponse(session_id=name, modes=None if "modeless" in sys.argv else MODES)

    async def load_session(self, cwd: str, session_id: str, **given: Any) -> LoadSessionResponse:
        if not (self._memory / session_id).exists():
            raise RequestError(-32603, "No such session")
        await self._update(session_id, {"sessionUpdate": "agent_message_chunk", "content": _text("of old")})
        return LoadSessionResponse(modes=MODES)

    async def set_session_mode(self, mode_id: str, session_id: str, **given: Any) -> None:
        self._heard["mode"] = mode_id

    async def set_config_option(self, config_id: str, session_id: str, value: Any, **given: Any) -> Any:
        self._heard[config_id] = value
        return SetSessionConfigOptionResponse(config_options=[MODE])

    async def cancel(self, session_id: str, **given: Any) -> None:
        Path("cancelled").touch()
        self._cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **given: Any) -> PromptResponse:
        stop, usage = "end_turn", None
        text = prompt[0].text
        with (self._memory / session_id).open("a") as file:
            file.write(text + "\n")
        given_before = self._memory / "steps.json"
        for step in json.loads(given_before.read_text() if given_before.exists() else text[text.index("[") :]):
            for key, value in step.items():
                if key == "stop":
                    stop = value
                elif key == "usage":
                    usage = Usage(**value)
                else:
                    await getattr(self, f"play_{key}")(session_id, value)
        return PromptResponse.model_construct(stop_reason=stop, usage=usage)

    async def play_say(self, session: str, value: str) -> None:
        for piece in (value[:3], value[3:]):
            await self._update(session, {"sessionUpdate": "agent_message_chunk", "content": _text(piece)})

    async def play_update(self, session: str, value: dict[str, Any]) -> None:
        await self._update(session, value)

    async def play_ask(self, session: str, value: dict[str, Any]) -> None:
        call = ToolCallUpdate.model_validate({"toolCallId": "c1", **value})
        answer = await self._client.request_permission(session_id=session, tool_call=call, options=OPTIONS)
        chosen = getattr(answer.outcome, "option_id", "cancelled")
        with Path("answers").open("a") as file:
            file.write(f"{chosen}\n")

    async def play_write(self, session: str, value: dict[str, str]) -> None:
        try:
            await self._client.write_text_file(session_id=session, **value)
        except RequestError as error:
            await self.play_say(session, f"refused: {error}")

    async def play_shell(self, session: str, value: str) -> None:
        subprocess.run(["bash", "-c", value])  # noqa: ASYNC221 - whoever runs a command does not listen meanwhile

    async def play_error(self, session: str, value: dict[str, Any]) -> None:
        raise RequestError(value["code"], value["message"], value.get("data"))

    async def play_die(self, session: str, value: int) -> None:
        print("something broke", file=sys.stderr, flush=True)
        os._exit(value)

    async def play_wait(self, session: str, value: float) -> None:
        await asyncio.sleep(value)

    async def play_await_cancel(self, session: str, value: str) -> None:
        await self._cancelled.wait()

    async def play_tell(self, session: str, value: str) -> None:
        Path(value).write_text(json.dumps(self._heard))

    async def play_print(self, session: str, value: str) -> None:
        sys.stdout.write(value + "\n")
        sys.stdout.flush()

    async def _update(self, session: str, update: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}
        await self.play_print(session, json.dumps(message))


def _text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


if __name__ == "__main__":
    asyncio.run(run_agent(Actor(Path(sys.argv[1]))))  # type: ignore[arg-type]  # only what the tests need
