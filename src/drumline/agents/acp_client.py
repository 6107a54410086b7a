"""Our side of the Agent Client Protocol: what an agent may ask of us, and what is noted while it works.

The rule: a file is written for the agent only inside the workspace, and what only a person can allow is refused until
a person did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import anyio
from acp.exceptions import RequestError
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
    WriteTextFileResponse,
)

from drumline.agents.acp_permissions import describe
from drumline.agents.acp_policy import SEALED, Policy, Verdict
from drumline.agents.acp_updates import Updates
from drumline.core.flow.model import Json
from drumline.core.plaintext import strip_controls
from drumline.isolation.contained import fill_contained
from drumline.ports.agents import Assignment, Happening
from drumline.record import replace

REFUSED = -32001
YES = ("allow_once", "allow_always")
NO = ("reject_once", "reject_always")


class Desk:
    """Serves one assignment: hands on what happens, answers what is asked, remembers what matters for the end."""

    def __init__(self, assignment: Assignment, policy: Policy) -> None:
        self.updates = Updates()
        self.listening = False
        self.gave_up = False
        self.heard = anyio.current_time()
        self.last = ""
        self.questions: list[str] = []
        self.notices: list[str] = []
        self._assignment = assignment
        self._policy = policy
        self._written: set[str] = set()

    def hear(self) -> None:
        """The agent has said something, whatever it was."""
        self.heard = anyio.current_time()

    async def note(self, update: Mapping[str, Json]) -> None:
        """Hand on what an update means; those of a session that is only being loaded are its past."""
        if self.listening:
            await self.tell(self.updates.read(update))

    async def tell(self, happenings: Iterable[Happening]) -> None:
        """Report what happened; files of the workspace are named from there."""
        for happening in happenings:
            text = strip_controls(happening.text)
            if happening.kind == "edit":
                text = self._place(text)
                if text in self._written:
                    self._written.remove(text)
                    continue
            if happening.kind == "usage" and self._assignment.session:
                continue  # what it tells of a session gone on with has what came before
            if happening.kind in ("tool", "command", "edit"):
                self.last = f"{happening.kind} {text}"
            await self._assignment.report(replace(happening, text=text))

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: object
    ) -> RequestPermissionResponse:
        """Answer by policy; what the policy does not know becomes a question to a person."""
        call = self.updates.recall(tool_call.model_dump(by_alias=True, exclude_none=True))
        verdict = self._policy.judge(call)
        if verdict.answer == "allow" and (option := _choose(options, YES)):
            return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option))
        await self._refuse(call, verdict)
        if option := _choose(options, NO):
            return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option))
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    async def write_text_file(self, session_id: str, path: str, content: str, **_: object) -> WriteTextFileResponse:
        """Write a file of the workspace for the agent, or refuse."""
        place = self._policy.locate(path)
        if self._assignment.read_only or place is None or self._policy.is_sealed(path):
            inside = SEALED if place else "it is outside the workspace"
            why = "nothing may be changed here" if self._assignment.read_only else inside
            await self._warn(f"it was not allowed to write {path}: {why}")
            raise RequestError(REFUSED, f"{path} cannot be written: {why}")
        try:
            # The agent works meanwhile: a link that it puts on the way now is not followed.
            await anyio.to_thread.run_sync(fill_contained, *place, content.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise RequestError(REFUSED, f"{path} cannot be written: {error.strerror}") from error
        await self.tell([Happening(kind="edit", text=path)])
        # Most agents tell of it as well, once the tool by which they asked is done.
        self._written.add(self._place(path))
        return WriteTextFileResponse()

    async def _refuse(self, call: Mapping[str, Json], verdict: Verdict) -> None:
        if verdict.answer != "ask":
            why = verdict.reason or "it offers no way to allow it"
            await self._warn(f"it was not allowed to use {describe(call)}: {why}")
        elif verdict.question not in self.questions:
            self.questions.append(verdict.question)

    async def _warn(self, text: str) -> None:
        self.notices.append(strip_controls(text))
        await self._assignment.report(Happening(kind="notice", text=self.notices[-1]))

    def _place(self, path: str) -> str:
        workspace = self._assignment.workspace
        place = workspace / path
        if place.is_relative_to(workspace):
            return str(place.relative_to(workspace))
        if not self._policy.is_inside(path):
            self.notices.append(f"it edited {place}, which is outside its workspace")
        return path


def _choose(options: list[PermissionOption], kinds: tuple[str, ...]) -> str:
    found = [option.option_id for kind in kinds for option in options if option.kind == kind]
    return found[0] if found else ""
