"""What an item of a list of checks says: one command, or why it is none.

People write names, values, file names and sentences in backticks, too. The rule: only what reads as a command is run,
and it is run as it is written; everything else is named as not run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from drumline.late import import_late
from drumline.patterns import compile_late
from drumline.planfiles.spans import Piece, split_spans
from drumline.record import Record

if TYPE_CHECKING:
    import shutil
else:
    shutil = import_late("shutil")

IsProgram = Callable[[str], bool]


class Criterion(Record):
    """The command to run, or the fault that keeps the item from being one."""

    command: str = ""
    fault: str = ""


@cache
def find_program(name: str) -> bool:
    """Whether a program of this name is on the PATH."""
    return shutil.which(name) is not None


def read_criterion(text: str, is_program: IsProgram = find_program) -> Criterion:
    """The command of an item without its box."""
    pieces = split_spans(text)
    spans = [number for number, piece in enumerate(pieces) if piece.code]
    if not spans:
        return Criterion(fault="it has no command in backticks")
    chosen = spans if len(spans) == 1 else [number for number in spans if _VERB.search(_before(pieces, number))]
    if len(chosen) != 1:
        named = "none of them" if not chosen else "more than one"
        return Criterion(fault=f"it has {len(spans)} texts in backticks, and {named} follows the word Run")
    number = chosen[0]
    command = pieces[number].text
    if any(other != number and _PLACE.search(_before(pieces, other)) for other in spans):
        return Criterion(fault="it names another folder to run in; write the command with cd")
    around = (_before(pieces, number), "".join(piece.text for piece in pieces[number + 1 :]))
    fault = _find_fault(command, around, is_program)
    return Criterion(fault=fault) if fault else Criterion(command=command)


def find_told(text: str) -> str:
    """The command that a sentence tells to run with success; "" if there is none, or if it is expected to fail.

    A sentence says more than an item of a list of checks, so this is for proposals that a person looks at.
    """
    if "`" not in text or _FAILS.search(_blank_spans(text)):
        return ""
    pieces = split_spans(text)
    spans = [number for number, piece in enumerate(pieces) if piece.code]
    told = [number for number in spans if _VERB.search(_before(pieces, number)) or _RUN.match(_after(pieces, number))]
    if not told and len(spans) == 1 and _ABOUT.search(text):
        told = spans
    found = [_command_at(pieces, number, find_program) for number in told]
    return next((command for command in found if command), "")


_VERB = compile_late(
    r"(?:^|[\s(*_])(?:re-?)?(?:run(?:s|ning)?|execut(?:e|es|ing)|invok(?:e|es|ing))(?: the command)?[:*_]*\s*$",
    re.IGNORECASE,
)
_RUN = compile_late(
    r"[\s*_)]*(?:command\s+)?(?:is|are|must be|should be|gets?)?\s*"
    r"(?:run|ran|executed|invoked|called|pass(?:es|ed)?|succeeds?|exits? (?:with )?(?:code |status )?0)\b",
    re.IGNORECASE,
)
_ABOUT = compile_late(
    r"\b(?:runs?|running|execut(?:e|es|ing)|verify|validate|ensure|confirm|check|returns?|passes)\b", re.IGNORECASE
)
_FAILS = compile_late(
    r"(?<!no )(?<!without )(?<!not )(?<!never )\b(?:fail(?:s|ed|ure)?|errors?|refuses?|rejects?|aborts?|non-?zero"
    r"|(?:exits?|code|status)(?: (?:with|code|status))* [1-9])\b",
    re.IGNORECASE,
)
_PLACE = compile_late(r"\b(?:from|in|inside|under|within)(?: the)?\s*$", re.IGNORECASE)


def _blank_spans(text: str) -> str:
    """The text without its code spans."""
    return " ".join(piece.text for piece in split_spans(text) if not piece.code)


def _command_at(pieces: Sequence[Piece], number: int, is_program: IsProgram) -> str:
    """The span's text if it is a command. A single word counts only where the words before it tell to run it."""
    command = pieces[number].text
    around = (_before(pieces, number), _after(pieces, number) if _RUN.match(_after(pieces, number)) else "")
    return "" if _find_fault(command, around, is_program) else command


def _after(pieces: Sequence[Piece], number: int) -> str:
    """The text that stands directly behind a piece."""
    return pieces[number + 1].text if number + 1 < len(pieces) and not pieces[number + 1].code else ""


def _before(pieces: Sequence[Piece], number: int) -> str:
    """The text that stands directly before a piece."""
    return pieces[number - 1].text if number and not pieces[number - 1].code else ""


def _find_fault(command: str, around: tuple[str, str], is_program: IsProgram) -> str:
    words = command.split()
    if not words:
        return "the text in backticks is empty"
    if len(words) == 1:
        return _find_lone_fault(words[0], around, is_program)
    unquoted = _QUOTED.sub("''", command)
    if _PLACEHOLDER.search(unquoted):
        return "the command has a placeholder"
    shape = next((fault for pattern, fault in _NOT_COMMANDS if pattern.search(command)), "")
    return shape and f"the text in backticks is {shape}"


# --- several words ----------------------------------------------------------------------------------------------

_QUOTED = compile_late(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_PLACEHOLDER = compile_late(r"(?<![<\w])<[A-Za-z][\w -]*>(?!\()|…|(?:^|\s)\.\.\.(?:\s|$)")
_NOT_COMMANDS = (
    (compile_late(r"^(?:SELECT|INSERT|UPDATE|DELETE|EXPLAIN|CREATE|ALTER|DROP|PRAGMA)\s"), "a query"),
    (compile_late(r"^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+(?:/|https?:)"), "a request"),
    (compile_late(r"^\S+\s+(?:={1,3}|!==?|[<>]=|=>|->|:=|\+=|IS)\s"), "an expression"),
    (compile_late(r"^[\w.=\"']+[:,](?:\s|$)"), "a list of values"),
    (compile_late(r"^\{(?![^;]*;)"), "a value"),
    (compile_late(r"^[\w.]+\((?!\)\s*\{)"), "a call of a function"),
    (compile_late(r"^(?:const|let|var|def|class|return|interface|func|fn|async|await)\s"), "a line of code"),
    (compile_late(r"^(?:from\s+\S+\s+import\s|import\s+(?:[{*]|\w+\s+from\s))"), "a line of code"),
    (compile_late(r"^[\\<@#%&*=>|)\]},:;+?-]"), "not written as a command"),
    (
        compile_late(r"^(?:(?:ba|da|k|z)?sh|node|ruby|perl|python[\d.]*)(?:\s+-[A-Za-z]+)+(?<![-\s][cemV])$"),
        "an interpreter without a file",
    ),
    (compile_late(r"^[A-Z][A-Za-z]*(?:\s+(?:&|[A-Za-z]+))+[.!]?$"), "a sentence"),
    (
        compile_late(r"^(?:the|a|an|all|no|each|every|it|is|should|must|when|that|verify|ensure|confirm)\s", re.I),
        "a sentence",
    ),
)

# --- one word ---------------------------------------------------------------------------------------------------

_PASSES = compile_late(
    r"^(?:still\s+|is\s+)?(?:pass(?:es|ed)?|succeeds?|succeeded|success|green|clean|ok|works|runs|exits?|completes|finishes|builds)\b",
    re.IGNORECASE,
)
_MARKUP = " \t\n*_.;,!()[]—–-✓✅"
_PROGRAM = compile_late(r"[a-z][a-z0-9_+-]*")
_TOOL_FOLDERS = frozenset({"bin", "script", "scripts", "tools", "ci", "hack"})


def _find_lone_fault(word: str, around: tuple[str, str], is_program: IsProgram) -> str:
    """Why a single word is not run; empty if it is a program, and the item is about running it."""
    before, after = around[0].strip(_MARKUP), around[1].strip(_MARKUP + ":")
    leads = not before or before.endswith(":") or bool(_VERB.search(before))
    if not leads or (after and not _PASSES.search(after)):
        return f"`{word}` is a word and not a command"
    if _is_script(word) or is_program(word):
        return ""
    if _PROGRAM.fullmatch(word):
        return f"no program on this machine is called `{word}`"
    return f"`{word}` is a word and not a command"


def _is_script(word: str) -> bool:
    """Whether a word is the path of something in the work tree that is meant to be run; it need not be there yet."""
    folders, _, name = word.rpartition("/")
    if not folders or not name or folders.startswith(("/", "~")) or re.search(r"[*?{}\[\]:(=]", word):
        return False
    return (
        word.startswith(("./", "../")) or name.endswith((".sh", ".bash")) or bool(_TOOL_FOLDERS & {*folders.split("/")})
    )
