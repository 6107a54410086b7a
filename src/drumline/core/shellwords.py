"""Command lines taken apart: the commands in them, the files that these execute, the targets that they make."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from posixpath import basename, normpath

from drumline.patterns import compile_late
from drumline.record import Record, replace

MAKES = ("make", "gmake")
_ASSIGNMENT = compile_late(r"[A-Za-z_]\w*=")
_SHELL = compile_late(r"(?:ba|da|k|z)?sh")
_TAKES_TEXT = compile_late(r"-[a-z]*c")
_INTERPRETER = compile_late(r"(?:ba|da|k|z)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|env|timeout|nice|source|\.")


class Part(Record):
    """One command of a command line; `piped` says that what it prints goes to the next one."""

    words: tuple[str, ...]
    piped: bool = False


def split_command(command: str) -> list[Part]:
    """The commands that stand between shell operators, those that a shell gets as a text (`sh -c '…'`) included.

    Of the node ids of pytest only the file is left.
    """
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
            parts += split_command(inner) if (inner := _find_text(here)) else []
            here = []
        else:
            here.append(word)
    return [replace(part, words=tuple(word.partition("::")[0] for word in part.words)) for part in parts]


def _find_text(words: Sequence[str]) -> str:
    """The text that a shell among the words is to execute; empty if there is none."""
    shells = [place for place, word in enumerate(words) if _SHELL.fullmatch(basename(word))]
    behind = list(words[shells[0] + 1 :]) if shells else []
    return next((text for option, text in pairwise(behind) if _TAKES_TEXT.fullmatch(option)), "")


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
