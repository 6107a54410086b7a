"""The tools a question names, as functions for a model. The rule: what is not named is not there.

Names are those of the graph format that we adopt, with or without `.sh`, and others, each of which stands for one or
two of them. An error in a tool is text for the model, which may try otherwise; it never ends the question.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

import anyio.to_thread

from drumline.errors import InvalidInput
from drumline.models.filetools import FileTools
from drumline.models.servers import PREFIX
from drumline.models.shelltools import ShellTools

Tool = Callable[..., Awaitable[str]]

OURS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "read": ("fs_cat",),
        "list": ("fs_ls",),
        "search": ("fs_grep", "fs_glob"),
        "write": ("fs_write", "fs_mkdir"),
        "patch": ("fs_patch",),
        "exec": ("execute_command",),
        "fs_read": ("fs_cat",),
    }
)
LOOKING = ("fs_cat", "fs_ls", "fs_grep", "fs_glob")
WRITING = ("fs_write", "fs_patch", "fs_mkdir", "fs_rm")
SKILLS = "skill_load"
LEGAL = (*LOOKING, *WRITING, "execute_command")


def choose_tools(names: Sequence[str]) -> list[str]:
    """What the names stand for, once each; InvalidInput naming every one that is unknown. Servers are left out."""
    chosen: dict[str, None] = {}
    unknown: list[str] = []
    for name in names:
        plain = name.removesuffix(".sh")
        if plain in OURS or plain in LEGAL:
            chosen |= dict.fromkeys(OURS.get(plain, (plain,)))
        elif not name.startswith(PREFIX) and plain != SKILLS:  # skills are there whenever a question has some
            unknown.append(name)
    if unknown:
        said = ", ".join(repr(name) for name in unknown)
        legal = ", ".join((*LEGAL, *OURS, f"{PREFIX}SERVER"))
        raise InvalidInput(f"unknown tool {said} (legal: {legal})", hint="drumline flow validate FILE")
    return list(chosen)


def name_servers(tools: Sequence[str], servers: Sequence[str]) -> list[str]:
    """The MCP servers that a question names, in either of its two lists."""
    listed = [name.removeprefix(PREFIX) for name in tools if name.startswith(PREFIX)]
    return list(dict.fromkeys([*listed, *servers]))


def build_tools(names: Sequence[str], files: FileTools, shell: ShellTools) -> dict[str, Tool]:
    """The functions behind the chosen names."""
    known: dict[str, Callable[..., object]] = {
        "fs_cat": files.read,
        "fs_ls": files.list,
        "fs_grep": shell.search,
        "fs_glob": files.glob,
        "fs_write": files.write,
        "fs_patch": files.patch,
        "fs_mkdir": files.make_folder,
        "fs_rm": files.remove,
        "execute_command": shell.execute,
    }
    return {name: _guard(known[name]) for name in names}


def build_skill_tool(skills: Mapping[str, str]) -> dict[str, Tool]:
    """The tool that gives the text of a skill; none where there are no skills."""

    def load(name: str) -> str:
        """Give the whole text of a skill, by its name."""
        if name not in skills:
            raise InvalidInput(f"there is no skill {name!r} (there are: {', '.join(skills)})")
        return skills[name]

    return {SKILLS: _guard(load)} if skills else {}


class ToolError(str):
    """What a model is told when a tool could not do what it asked for; a file may begin with the same words."""

    __slots__ = ()


def _guard(function: Callable[..., object]) -> Tool:
    """The function with its errors told, and off the event loop if it is not async."""

    @functools.wraps(function)
    async def call(*args: object, **kwargs: object) -> str:
        try:
            if inspect.iscoroutinefunction(function):
                return str(await function(*args, **kwargs))
            return str(await anyio.to_thread.run_sync(functools.partial(function, *args, **kwargs)))
        except InvalidInput as error:
            return ToolError(f"error: {error}")
        except OSError as error:
            return ToolError(f"error: {error.strerror or error}")

    return call
