"""What belongs to a program that is known by its command only. The rule: it sees its own folders and keys, no others.

A program that has an adapter of its own is known from there; of others the folders named after them are theirs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from drumline.agents import PROGRAMS, load
from drumline.agents.program import Program

LAUNCHERS = frozenset({"node", "npx", "bun", "bunx", "deno", "uvx", "uv", "env", "python", "python3", "exec", "run"})
ENDINGS = re.compile(r"(?:\.[cm]?js|\.py|@[^/]*|-acp|-agent|-code|-cli)+$")
PROVIDERS = (
    "ANTHROPIC_*",
    "OPENAI_*",
    "GEMINI_*",
    "GOOGLE_*",
    "AZURE_*",
    "MISTRAL_*",
    "OPENROUTER_*",
    "DEEPSEEK_*",
    "GROQ_*",
    "XAI_*",
)
"""Keys of model providers: an agent that nobody knows needs one of them, and says not which."""
FOLDERS = ("~/.{0}", "~/.config/{0}", "~/.local/share/{0}", "~/.local/state/{0}", "~/.cache/{0}")
BELOW = ("$XDG_CONFIG_HOME/{0}", "$XDG_DATA_HOME/{0}", "$XDG_STATE_HOME/{0}", "$XDG_CACHE_HOME/{0}")


def name_program(argv: Sequence[str]) -> str:
    """The program's plain name: `npx @google/gemini-cli --acp` and `gemini --acp` are both `gemini`."""
    for word in argv:
        name = PurePath(word).name
        if name not in LAUNCHERS and not word.startswith("-") and "=" not in word:
            return ENDINGS.sub("", name) or name
    return ""


def find_own(argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The variables that the program may see, and the folders it may write to, with `~` and `$NAME`."""
    name = name_program(argv)
    known = load(name) if name in PROGRAMS else None
    if isinstance(known, Program):
        return known.keep, known.homes
    upper = re.sub(r"\W", "_", name).upper()
    keep = (*PROVIDERS, f"{upper}_*") if upper else PROVIDERS
    return keep, tuple(folder.format(name) for folder in (*FOLDERS, *BELOW)) if name else ()
