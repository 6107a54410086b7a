"""What belongs to a program that is known by its command only. The rule: it sees its own folders and keys, no others.

A program that has an adapter of its own is known from there; of others the folders named after them are theirs, unless
the name is that of a folder with keys, or of one that everybody shares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from drumline.agents import PROGRAMS, load
from drumline.agents.hidden import CREDENTIALS, ELSEWHERE
from drumline.agents.program import Program
from drumline.isolation.homes import Home, describe_home

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
SHARED = frozenset(
    {
        "ssh",
        "sshpass",
        "docker",
        "podman",
        "kubectl",
        "kube",
        "aws",
        "gcloud",
        "azure",
        "gpg",
        "gnupg",
        "git",
        "gh",
        "pass",
        "password-store",
        "config",
        "local",
        "cache",
        "bash",
        "sh",
        "zsh",
        "sudo",
        "systemd",
        "autostart",
    }
)
"""Names whose folders are granted to nobody: who writes there gets into other machines, or into your next login."""
READING: Mapping[str, Mapping[str, str]] = {
    "opencode": {"OPENCODE_CONFIG_CONTENT": '{"permission": {"edit": "deny", "bash": "deny"}}'}
}
"""What keeps a program from writing that does not ask before it runs a command, not even in its mode for plans."""
FOLDERS = ("~/.{0}", "~/.config/{0}", "~/.local/share/{0}", "~/.local/state/{0}", "~/.cache/{0}")
BELOW = ("$XDG_CONFIG_HOME/{0}", "$XDG_DATA_HOME/{0}", "$XDG_STATE_HOME/{0}", "$XDG_CACHE_HOME/{0}")


def name_program(argv: Sequence[str]) -> str:
    """The program's plain name: `npx @google/gemini-cli --acp` and `gemini --acp` are both `gemini`."""
    for word in argv:
        name = PurePath(word).name
        if name not in LAUNCHERS and not word.startswith("-") and "=" not in word:
            return ENDINGS.sub("", name) or name
    return ""


def find_own(argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[Home, ...]]:
    """The variables that the program may see, and its homes."""
    name = name_program(argv)
    if known := _find_program(name):
        return known.keep, tuple(map(describe_home, known.homes))
    if not name or name.lower() in SHARED or name.startswith("."):
        return PROVIDERS, ()
    upper = re.sub(r"\W", "_", name).upper()
    folders = [folder.format(name) for folder in (*FOLDERS, *BELOW) if not _holds_secrets(folder.format(name))]
    return (*PROVIDERS, f"{upper}_*"), tuple(map(describe_home, folders))


def _holds_secrets(folder: str) -> bool:
    """Whether a folder is one that a jail hides, or has such a one in it: a name alone does not open it."""
    place = folder.removeprefix("~/")
    for start, variable in ELSEWHERE.items():
        place = place.replace(f"${variable}/", start)
    return any(PurePath(hidden).is_relative_to(place) for hidden in CREDENTIALS)


def find_restraint(argv: Sequence[str]) -> Mapping[str, str]:
    """Variables by which the program is kept to reading, beside what the protocol offers."""
    return READING.get(name_program(argv), {})


def find_known(argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[Home, ...]]:
    """The variables and homes of a program that has an adapter; nothing for any other."""
    known = _find_program(name_program(argv))
    return (known.keep, tuple(map(describe_home, known.homes))) if known else ((), ())


def _find_program(name: str) -> Program | None:
    found = load(name) if name in PROGRAMS else None
    return found if isinstance(found, Program) else None
