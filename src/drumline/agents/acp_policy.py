"""Whether an agent that asks may use a tool. The rule: inside the workspace yes, outside no, unknown asks a person.

A person is asked once: what was answered before decides, but nobody can allow what is outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from drumline.agents.acp_permissions import LONGEST, find_answer, write_question
from drumline.agents.acp_updates import EDITS, find_command, find_paths
from drumline.agents.reading import read_map, read_text
from drumline.core.blocked import Reply
from drumline.core.flow.model import Json
from drumline.errors import InvalidInput
from drumline.isolation.containment import contain
from drumline.record import Record

SEALED = "it belongs to the plan or to a flow, and may not be changed"
LOOKING = ("read", "search", "think", "fetch")
TOOL = r"[\w.-]+"
SERVED = (
    "mcp__{server}__{tool}",  # Claude Code
    "mcp_{server}_{tool}",  # Gemini CLI and Qwen Code, by its plain name
    r"{tool} \({server} MCP Server\)",  # the same, as they show it
    r"mcp\.{server}\.{tool}",  # Codex
    "Tool: {server}/{tool}",  # Codex before
    "{server}__?{tool}",  # OpenCode, and goose by its plain name
    r"{server}: [\w .-]+(?: · .*)?",  # goose, with what the tool is given
)
"""How programs call the tools of MCP servers; a title has to be one of these as a whole."""


class Verdict(Record):
    """What a request comes to: `ask` refuses it too, and hands its `question` to a person."""

    answer: Literal["allow", "deny", "ask"]
    reason: str = ""
    question: str = ""


ALLOW = Verdict(answer="allow")


class Policy(Record):
    """What one assignment allows. In a jail the kernel keeps commands from writing outside; `servers` may be used.

    What is `sealed` may be read only. `answers` are what a person said before, each with the question.
    """

    workspace: Path
    writable: tuple[Path, ...] = ()
    sealed: tuple[Path, ...] = ()
    read_only: bool = False
    jailed: bool = False
    servers: tuple[str, ...] = ()
    answers: tuple[Reply, ...] = ()

    def judge(self, call: Mapping[str, Json]) -> Verdict:
        """The verdict on the tool call that a permission is asked for."""
        verdict = self._judge(call)
        if verdict.answer != "ask":
            return verdict
        question = write_question(call, verdict.reason)
        if len(question) > LONGEST:
            return Verdict(answer="deny", reason="it says too much for a question to a person")
        match find_answer(question, self.answers):
            case None:
                return Verdict(answer="ask", reason=verdict.reason, question=question)
            case True:
                return ALLOW
            case False:
                return Verdict(answer="deny", reason="a person did not allow it")

    def _judge(self, call: Mapping[str, Json]) -> Verdict:
        kind = call.get("kind")
        paths = [*find_paths(call), *self._find_folder(call)]
        if outside := [path for path in paths if not self.is_inside(path)]:
            return Verdict(answer="deny", reason=f"outside the workspace or git's own: {', '.join(outside)}")
        if kind in EDITS:
            return self._judge_edit(call, paths)
        if kind == "execute":
            return self._judge_command(call)
        if kind in LOOKING or self._names_server(call) or (paths and not self.read_only):
            return ALLOW
        return Verdict(answer="ask", reason="it is not known what this does")

    def is_inside(self, path: str) -> bool:
        """Whether a path, by all its links, is in the workspace or in a folder that may be written to."""
        return self.locate(path) is not None

    def is_sealed(self, path: str) -> bool:
        """Whether a path, by all its links, is in what may be read only."""
        place = (self.workspace / path).resolve()
        return any(place.is_relative_to(sealed.resolve()) for sealed in self.sealed)

    def locate(self, path: str) -> tuple[Path, str] | None:
        """The folder that may be written to in which a path is, and the path in it without links; None if in none."""
        # A plain name is one of the workspace's, whatever the other folders have by that name.
        place = str(self.workspace / path)
        for folder in (self.workspace, *self.writable):
            try:
                found = contain(folder, place, top=True)
            except InvalidInput:
                continue
            root = folder.resolve()
            return root, str(found.relative_to(root))
        return None

    def _judge_edit(self, call: Mapping[str, Json], paths: Sequence[str]) -> Verdict:
        if self.read_only:
            return Verdict(answer="deny", reason="nothing may be changed here")
        if sealed := [path for path in paths if self.is_sealed(path)]:
            return Verdict(answer="deny", reason=f"{SEALED}: {', '.join(sealed)}")
        if paths or self.jailed:
            return ALLOW
        return Verdict(answer="ask", reason="it does not say which file")

    def _judge_command(self, call: Mapping[str, Json]) -> Verdict:
        # Without a jail nobody can tell what a command writes; what it did outside is told afterwards.
        if self.read_only and not self.jailed:
            return Verdict(answer="deny", reason="nothing may be changed here, and a command might")
        if find_command(call) or read_text(call.get("title")):
            return ALLOW
        return Verdict(answer="ask", reason="it does not say which command")

    def _names_server(self, call: Mapping[str, Json]) -> bool:
        title = read_text(call.get("title"))
        return any(re.fullmatch(form, title) for server in self.servers for form in _list_forms(server))

    def _find_folder(self, call: Mapping[str, Json]) -> list[str]:
        given = read_map(call.get("rawInput"))
        return [folder for name in ("cwd", "workdir") if (folder := read_text(given.get(name)))]


def _list_forms(server: str) -> Iterator[str]:
    """Patterns of the titles that a server's tools have; some programs show only plain characters of its name."""
    for name in {server, re.sub(r"[^\w-]", "_", server), server.replace("_", " ")}:
        yield from (form.format(server=re.escape(name), tool=TOOL) for form in SERVED)
