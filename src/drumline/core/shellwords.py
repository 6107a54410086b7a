"""Command lines taken apart: the commands in them, the files that these execute, the targets that they make."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from posixpath import basename, normpath

from drumline.patterns import compile_late
from drumline.record import Record

MAKES = ("make", "gmake")
_ASSIGNMENT = compile_late(r"[A-Za-z_]\w*=")
_INTERPRETER = compile_late(r"(?:ba|da|k|z)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|env|timeout|nice|source|\.")


class Part(Record):
    """One command of a command line; `piped` says that what it prints goes to the next one."""

    words: tuple[str, ...]
    piped: bool = False


def split_command(command: str) -> list[Part]:
    """The commands that stand between shell operators; of the node ids of pytest only the file."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        words = command.split()
    parts: list[Part] = []
    here: list[str] = []
    for word in [*words, ";"]:
        if set(word) <= set("();<>|&"):
            parts += [Part(words=tuple(here), piped=word in ("|", "|&"))] if here else []
            here = []
        else:
            here.append(word.partition("::")[0])
    return parts


def find_scripts(part: Sequence[str]) -> list[str]:
    """The files that a command executes: itself, or the first argument of an interpreter that is not an option."""
    words = drop_assignments(part)
    if not words:
        return []
    if not _INTERPRETER.fullmatch(basename(words[0])):
        return [normpath(words[0])]
    return [normpath(word) for word in words[1:] if not word.startswith("-")][:1]


def list_goals(path: str, commands: Sequence[str]) -> list[list[str]]:
    """What each call of make in the commands makes, if it is known that it reads this file; none if one is unclear."""
    found: list[list[str]] = []
    for words in (drop_assignments(part.words) for command in commands for part in split_command(command)):
        calls = [place for place, word in enumerate(words) if basename(word) in MAKES]
        if calls and (calls[0] or not _is_plain(words[1:]) or "/" in path or path.endswith(".mk")):
            return []
        found += [[word for word in words[1:] if word[0] != "-" and "=" not in word]] if calls else []
    return found


def _is_plain(options: Sequence[str]) -> bool:
    """Whether none of the options of make takes it to another file or folder."""
    return all(
        word and not re.match(r"-[a-zA-Z]*[CfIW]|--(?:dir|file|makefile|eval|include)", word) for word in options
    )


def drop_assignments(words: Sequence[str]) -> list[str]:
    """The words of a command without the variables that are set for it."""
    return [word for word in words if not _ASSIGNMENT.match(word)]
