"""What runs a script, by the ending of its name. Only what is installed is used: nothing is ever downloaded."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from drumline.errors import InvalidInput

Ask = Callable[[Sequence[str]], Awaitable[str]]

PROGRAMS = {".sh": "bash", ".py": "python3"}
LOCAL_TSX = Path("node_modules", ".bin", "tsx")
# In the order of trust in how much TypeScript they understand.
TYPESCRIPT_RUNNERS = (("tsx",), ("bun", "run"), ("deno", "run", "-A"))
# Node says `strip` or `transform` if it runs TypeScript by itself, and anything else if it does not.
NODE_PROBE = ("node", "-p", "process.features.typescript")
NODE_ABILITIES = frozenset({"strip", "transform"})


async def build_argv(script: Path, *, folder: Path, ask: Ask) -> tuple[str, ...]:
    """The command that runs the script; InvalidInput if nothing here can. `ask` runs a command and returns its stdout.

    TypeScript is run by what stands closest: tsx of the packages around the script or the folder, then PATH.
    """
    if script.suffix in PROGRAMS:
        return (PROGRAMS[script.suffix], str(script))
    if script.suffix == ".ts":
        return (*await _find_typescript((script.parent, folder.absolute()), ask), str(script))
    legal = ", ".join([*PROGRAMS, ".ts"])
    raise InvalidInput(f"Unsupported script extension '{script.suffix}'; use one of {legal}")


async def _find_typescript(places: Sequence[Path], ask: Ask) -> tuple[str, ...]:
    for place in places:
        for parent in (place, *place.parents):
            if found := shutil.which(parent / LOCAL_TSX):
                return (str(found),)
    for runner in TYPESCRIPT_RUNNERS:
        if shutil.which(runner[0]):
            return runner
    if shutil.which("node") and (await ask(NODE_PROBE)).strip() in NODE_ABILITIES:
        return ("node",)
    raise InvalidInput("nothing here runs TypeScript; install tsx, bun, deno, or node 22.18 or later")
