"""Puts an intent into the words of the agent that asks, from the tools its own request offers and their schemas."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence

from tests.modelserver.conversation import Ask, Call, Reply, Tool, as_map
from tests.modelserver.scenario import Answer, Intent, Read, Run, Turn, Use, Write

from drumline.core.flow.model import Json
from drumline.errors import InvalidInput

# Best first: where a program offers several, its own model would take the first.
WRITERS = ("Write", "apply_patch", "write_file", "write", "create")
READERS = ("Read", "read_file", "read")
SHELLS = ("Bash", "exec_command", "shell", "run_shell_command", "bash", "shell_command", "exec")
ANSWERERS = ("StructuredOutput", "structured_output", "final_output", "final_result")

PATHS = ("file_path", "filePath", "absolute_path", "path")
CONTENTS = ("content", "contents", "file_text", "patchText", "input", "patch")
COMMANDS = ("command", "cmd")
# Where the agent works, as the programs say it to their model.
FOLDER = re.compile(r"(?:working directory:|working in the directory:|<cwd>|<working-directory>)\s*(/[^\n<]+)", re.I)
FILLERS: Mapping[str, Json] = {"string": "as asked", "boolean": False, "integer": 1, "number": 1, "array": []}


def spell(turn: Turn, ask: Ask, *, id: str) -> Reply:
    """The reply a turn gives to this very question."""
    calls = [_spell_intent(intent, ask, f"call_{id}_{index}") for index, intent in enumerate(turn.calls)]
    text = turn.text
    if turn.answer is not None:
        if tool := pick(ask, ANSWERERS):
            calls.append(Call(id=f"call_{id}_answer", tool=tool, arguments=_fields(turn.answer)))
        else:
            text += json.dumps(turn.answer.value)
    return Reply(id=f"msg_{id}", text=text, calls=tuple(calls), usage=turn.usage)


def pick(ask: Ask, names: Sequence[str]) -> Tool | None:
    """The first offered tool of these names; a prefix such as `server__` before the name does not matter."""
    for name in names:
        if exact := ask.tools.get(name):
            return exact
        for tool in ask.tools.values():
            if tool.name.endswith(f"__{name}"):
                return tool
    return None


def _fields(answer: Answer) -> Mapping[str, Json]:
    # A tool takes an object; anything else arrives wrapped, which is a wrong schema as well.
    return as_map(answer.value) or {"response": answer.value}


def _spell_intent(intent: Intent, ask: Ask, id: str) -> Call:
    if isinstance(intent, Write) and (tool := pick(ask, WRITERS)):
        return _spell_write(intent, tool, ask, id=id)
    if isinstance(intent, Read) and (tool := pick(ask, READERS)):
        return Call(id=id, tool=tool, arguments=_arguments(tool, {_key(tool, PATHS): _place(intent.path, ask)}))
    if isinstance(intent, Use):
        return Call(id=id, tool=_demand(ask, (intent.tool,)), arguments=intent.arguments)
    shell = _demand(ask, SHELLS)
    return Call(id=id, tool=shell, arguments=_arguments(shell, {_key(shell, COMMANDS): _command(intent, shell)}))


def _spell_write(intent: Write, tool: Tool, ask: Ask, *, id: str) -> Call:
    if tool.name != "apply_patch":
        given = {_key(tool, PATHS): _place(intent.path, ask), _key(tool, CONTENTS): intent.content}
        return Call(id=id, tool=tool, arguments=_arguments(tool, given))
    added = "".join(f"+{line}\n" for line in intent.content.splitlines())
    patch = f"*** Begin Patch\n*** Add File: {intent.path}\n{added}*** End Patch\n"
    if tool.freeform:
        return Call(id=id, tool=tool, text=patch)
    return Call(id=id, tool=tool, arguments=_arguments(tool, {_key(tool, CONTENTS): patch}))


def _place(path: str, ask: Ask) -> str:
    """The path from the root, as some tools insist, if the agent said where it works."""
    for text in (ask.system, *(entry.text for entry in ask.entries if entry.kind in ("user", "note"))):
        if found := FOLDER.search(text):
            return posixpath.join(found[1].strip(), path)
    return path


def _command(intent: Write | Read | Run, shell: Tool) -> Json:
    if isinstance(intent, Run):
        line = intent.command
    elif isinstance(intent, Read):
        line = shlex.join(["cat", intent.path])
    else:
        line = f"{shlex.join(['printf', '%s', intent.content])} > {shlex.quote(intent.path)}"
    takes_words = as_map(shell.properties.get(_key(shell, COMMANDS))).get("type") == "array"
    return ["bash", "-lc", line] if takes_words else line


def _demand(ask: Ask, names: Sequence[str]) -> Tool:
    tool = pick(ask, names)
    if tool is None:
        offered = ", ".join(sorted(ask.tools)) or "nothing"
        raise InvalidInput(f"the scenario needs one of the tools {', '.join(names)}, but the agent offers {offered}")
    return tool


def _key(tool: Tool, names: Sequence[str]) -> str:
    return next((name for name in names if name in tool.properties), names[0])


def _arguments(tool: Tool, given: Mapping[str, Json]) -> Mapping[str, Json]:
    """What is given, and something for every other argument the tool insists on."""
    filled = {name: _filler(tool.properties.get(name)) for name in tool.required if name not in given}
    return {**given, **filled}


def _filler(schema: Json) -> Json:
    fields = as_map(schema)
    choices = fields.get("enum")
    if isinstance(choices, list) and choices:
        first: Json = choices[0]
        return first
    return FILLERS.get(str(fields.get("type")), {})
