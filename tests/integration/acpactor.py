"""An agent of the Agent Client Protocol that does what its prompt says: a JSON list of steps, one key each.

It is a program of its own: `python acpactor.py`. Sessions it remembers are files in the folder it is given; steps that
are there in `steps.json` go before those of any prompt. It speaks the protocol in plain JSON, whose shapes our client
checks with the protocol's library: that library takes a second to import, and tests start this program often. For the
same reason it has threads instead of an event loop, whose modules take four times as long to import as all others.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

VERSION = 1
OPTIONS = [
    {"kind": "allow_once", "name": "Yes", "optionId": "yes"},
    {"kind": "reject_once", "name": "No", "optionId": "no"},
]
MODES = {
    "currentModeId": "default",
    "availableModes": [{"id": "default", "name": "Default"}, {"id": "plan", "name": "Plan"}],
}
CHOICES = [{"value": value, "name": value} for value in ("build", "plan")]
MODE = {
    "type": "select",
    "id": "mode",
    "name": "Mode",
    "category": "mode",
    "currentValue": "build",
    "options": [{"group": "all", "name": "All", "options": CHOICES}],
}


class Refusal(Exception):
    """An error of the protocol, ours or the client's."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class Actor:
    """Plays the steps of a prompt."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._cancelled = Event()
        self._heard: dict[str, Any] = {}
        self._asked: dict[int, SimpleQueue[dict[str, Any]]] = {}
        self._listening = Lock()
        """Held while a command runs: an agent that runs one does not listen meanwhile."""
        self._methods: dict[str, Callable[[dict[str, Any]], Any]] = {
            "initialize": self.initialize,
            "session/new": self.new_session,
            "session/load": self.load_session,
            "session/set_mode": self.set_session_mode,
            "session/set_config_option": self.set_config_option,
            "session/cancel": self.cancel,
            "session/prompt": self.prompt,
        }

    def listen(self) -> None:
        """Answer until nobody speaks any more; each request is worked on while the next is heard."""
        for line in sys.stdin:
            message = json.loads(line)
            with self._listening:
                if "method" in message:
                    Thread(target=self._answer, args=[message], daemon=True).start()
                else:
                    self._asked.pop(message["id"]).put(message)
        self._listening.acquire()

    def _answer(self, message: dict[str, Any]) -> None:
        try:
            method = self._methods.get(message["method"])
            if method is None:
                raise Refusal(-32601, f"Method not found: {message['method']}")
            reply = {"result": method(message.get("params") or {})}
        except Refusal as refusal:
            reply = {"error": refusal.error}
        if "id" in message:
            _send({"id": message["id"], **reply})

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = len(self._asked) + 1
        answers = self._asked[number] = SimpleQueue()
        _send({"id": number, "method": method, "params": params})
        reply = answers.get()
        if "error" in reply:
            raise Refusal(reply["error"]["code"], reply["error"]["message"])
        return dict(reply["result"] or {})

    def initialize(self, given: dict[str, Any]) -> Any:
        self._heard["capabilities"] = given["clientCapabilities"]
        if "deaf" in sys.argv:
            Event().wait(1000)
        if "locked" in sys.argv:
            raise Refusal(-32000, "Authentication required")
        return {"protocolVersion": VERSION, "agentCapabilities": {"loadSession": True}}

    def new_session(self, given: dict[str, Any]) -> Any:
        self._heard["servers"] = given.get("mcpServers") or []
        name = f"s-{len(list(self._memory.glob('s-*'))) + 1}"
        (self._memory / name).touch()
        if "optional" in sys.argv:
            return {"sessionId": name, "configOptions": [MODE]}
        return {"sessionId": name} | ({} if "modeless" in sys.argv else {"modes": MODES})

    def load_session(self, given: dict[str, Any]) -> Any:
        if not (self._memory / given["sessionId"]).exists():
            raise Refusal(-32603, "No such session")
        self._update(given["sessionId"], {"sessionUpdate": "agent_message_chunk", "content": _text("of old")})
        return {"modes": MODES}

    def set_session_mode(self, given: dict[str, Any]) -> Any:
        self._heard["mode"] = given["modeId"]
        return {}

    def set_config_option(self, given: dict[str, Any]) -> Any:
        self._heard[given["configId"]] = given["value"]
        return {"configOptions": [MODE]}

    def cancel(self, given: dict[str, Any]) -> None:
        Path("cancelled").touch()
        self._cancelled.set()

    def prompt(self, given: dict[str, Any]) -> Any:
        session, text = given["sessionId"], given["prompt"][0]["text"]
        ending: dict[str, Any] = {"stopReason": "end_turn"}
        with (self._memory / session).open("a") as file:
            file.write(text + "\n")
        given_before = self._memory / "steps.json"
        for step in json.loads(given_before.read_text() if given_before.exists() else text[text.index("[") :]):
            for key, value in step.items():
                if key == "stop":
                    ending["stopReason"] = value
                elif key == "usage":
                    ending["usage"] = value
                else:
                    getattr(self, f"play_{key}")(session, value)
        return ending

    def play_say(self, session: str, value: str) -> None:
        for piece in (value[:3], value[3:]):
            self._update(session, {"sessionUpdate": "agent_message_chunk", "content": _text(piece)})

    def play_update(self, session: str, value: dict[str, Any]) -> None:
        self._update(session, value)

    def play_ask(self, session: str, value: dict[str, Any]) -> None:
        call = {"toolCallId": "c1", **value}
        answer = self._ask("session/request_permission", sessionId=session, toolCall=call, options=OPTIONS)
        chosen = answer["outcome"].get("optionId", "cancelled")
        with suppress(OSError), Path("answers").open("a") as file:  # where it may only read, the answer is not kept
            file.write(f"{chosen}\n")

    def play_write(self, session: str, value: dict[str, str]) -> None:
        try:
            self._ask("fs/write_text_file", sessionId=session, **value)
        except Refusal as error:
            self.play_say(session, f"refused: {error}")

    def play_shell(self, session: str, value: str) -> None:
        import subprocess  # the steps of most tests have no command

        with self._listening:
            subprocess.run(["bash", "-c", value])

    def play_error(self, session: str, value: dict[str, Any]) -> None:
        raise Refusal(value["code"], value["message"], value.get("data"))

    def play_die(self, session: str, value: int) -> None:
        print("something broke", file=sys.stderr, flush=True)
        os._exit(value)

    def play_wait(self, session: str, value: float) -> None:
        Event().wait(value)

    def play_await_cancel(self, session: str, value: str) -> None:
        self._cancelled.wait()

    def play_tell(self, session: str, value: str) -> None:
        Path(value).write_text(json.dumps(self._heard))

    def play_print(self, session: str, value: str) -> None:
        sys.stdout.write(value + "\n")
        sys.stdout.flush()

    def _update(self, session: str, update: dict[str, Any]) -> None:
        _send({"method": "session/update", "params": {"sessionId": session, "update": update}})


SENDING = Lock()


def _send(message: dict[str, Any]) -> None:
    with SENDING:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def _text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


if __name__ == "__main__":
    Actor(Path(sys.argv[1])).listen()
