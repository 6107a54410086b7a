"""The commands that a task of a Superpowers plan says to run, and what it expects of them.

A command that is expected to pass is a check. One that is expected to fail is not run on the landed tree: if the same
command is expected to pass later, the check must be red before the work. Anything else is named and not run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import Enum

from drumline.core.plan import Check, Problem
from drumline.planfiles.acting import acts, records
from drumline.planfiles.correction import code_span
from drumline.planfiles.criterion import read_criterion
from drumline.planfiles.outline import Block, Entry, Kind
from drumline.planfiles.spans import code_spans
from drumline.planfiles.tasklist import warning
from drumline.record import Record

_RUN = re.compile(r"(?:\[.\])?[\s>*_-]*(?:re-?)?run\b(?P<rest>.*)", re.IGNORECASE)
_RUN_LABEL = re.compile(r"[a-z ,'/()-]{0,60}:[\s*_]*$|[\s*_:]*$")
_EXPECTED = re.compile(
    r"\bexpect(?:ed|s)?\b(?:\s+(?:output|result|outcome))?[\s*_:：→-]*(?P<words>.*)|(?:→|=>)(?P<arrow>.*)",
    re.IGNORECASE,
)
_NO_FAILURE = re.compile(
    r"\b(?:0|no|zero|without(?: any)?)\s+(?:\w+\s+)?"
    r"(?:fail(?:ures?|ed|ing|s)?|errors?|warnings?|issues?|regressions?)\b",
    re.IGNORECASE,
)
_FAIL = re.compile(
    r"\b(?:fail(?:s|ed|ure|ures|ing)?|red|\w*error(?:s)?|not found|non-?zero|exit(?:s)?(?: code)? 1)\b|失敗|失败",
    re.IGNORECASE,
)
_PASS = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|succeeds?|success(?:ful(?:ly)?)?|green|(?<!\")ok|clean|exit(?:s)?(?: code)? 0"
    r"|no output)\b"
    r"|成功|通过|合格|空。",
    re.IGNORECASE,
)
_WEAK = re.compile(r"\b(?:builds?|compiles?)\b", re.IGNORECASE)
"""What passes unless a failure is named as well: "build fails" is one."""
_NO_PASS = re.compile(
    r"\b(?:not|never|cannot|(?:doesn|don|won|can)['’]t)\s+(?:yet\s+)?(?:pass|build|compile|succeed)\b|\b0\s+pass(?:ed|ing)?\b"
    r"|\b[1-9][0-9]*\s+(?:\w+\s+)?fail(?:s|ed|ures?|ing)?\b",
    re.IGNORECASE,
)
_SHORTENED = re.compile(r"\|\s*(?:tail|head)(?:\s+-n)?(?:\s+-?[0-9]+)?\s*$")
_LEAVES = re.compile(r"(?:^|[;&|(]|\n)\s*(?:cd|pushd)\s+[\"']?(?:/|~|\$HOME)")
_SHELLS = frozenset({"", "bash", "sh", "shell", "zsh", "console", "powershell", "terminal"})


_STOPS = "set -e"
_COMPOUND = re.compile(
    r"[;\\]|(?<![&>])&(?![&>])|<<|(?:&&|\|)\s*$"
    r"|^\s*(?:for|while|until|if|elif|else|then|do|done|fi|case|esac|function|set|export|source|\.|[{}()]|\w+=\S*)(?:\s|$)"
)
"""What makes a line more than one command by itself: such a block stays a script."""
_CONTINUED = re.compile(r"(?<!\\)\n")
"""The ends of lines that no backslash continues."""
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
MOST_SHOWN = 80


class Verdict(Enum):
    """What is expected of a command."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    UNCLEAR = "unclear"


class Found(Record):
    """The checks of a task, what is not run, and why."""

    checks: tuple[Check, ...]
    not_run: tuple[str, ...]
    problems: tuple[Problem, ...]


class _Run(Record):
    """One command that should be run: the line of the box it belongs to, and what is expected."""

    command: str
    fault: str
    line: int
    box: int
    verdict: Verdict
    expected: str


def read_checks(blocks: Sequence[Block], boxes: Sequence[Entry], path: str) -> Found:
    """What the blocks of one task say to run."""
    failing: set[str] = set()
    checks: dict[str, Check] = {}
    not_run: list[str] = []
    problems: list[Problem] = []
    for run in _read_runs(blocks, boxes):
        if run.verdict is Verdict.FAIL:
            failing.add(run.command)
        elif run.fault or run.verdict is Verdict.UNCLEAR:
            why = run.fault or f"what is expected of it is neither to pass nor to fail: {run.expected[:60]!r}"
            not_run.append(" ".join(run.command.split()))
            message = f"{_shorten(run.command)!r} is not run: {why}"
            problems.append(warning("check_not_command", message, path, run.line))
        else:
            red = run.command in failing
            checks.setdefault(run.command, Check(command=run.command, line=run.box, red_first=red))
    return Found(checks=tuple(checks.values()), not_run=tuple(not_run), problems=tuple(problems))


def _read_runs(blocks: Sequence[Block], boxes: Sequence[Entry]) -> Iterator[_Run]:
    """Every command with its expectation, which stands behind it, before the next command or box."""
    used = -1
    for number, block in enumerate(blocks):
        if block.kind is Kind.FENCE:
            if number != used and _is_expected(blocks[number + 1 : number + 2]) and block.language in _SHELLS - {""}:
                yield from _describe([(_script(block.content), "")], [""], number, blocks, boxes=boxes)
            continue
        lines = block.content.split("\n")
        for offset, line in enumerate(lines):
            found = _RUN.fullmatch(line)
            commands = list(_read_commands(found["rest"], blocks, number)) if found else []
            if commands:
                used = number + 1
                yield from _describe(commands, lines[offset:], number, blocks, boxes=boxes)


def _describe(
    commands: Sequence[tuple[str, str]],
    rest: Sequence[str],
    number: int,
    blocks: Sequence[Block],
    *,
    boxes: Sequence[Entry],
) -> Iterator[_Run]:
    block = blocks[number]
    behind = bisect_right(boxes, block.line, key=lambda entry: entry.line)
    box = boxes[behind - 1] if behind else None
    words, verdict = _judge(rest, blocks[number + 1 :], box.words if box else "")
    for command, fault in commands:
        if command:
            yield _Run(
                command=command,
                fault=fault or _find_fault(command),
                line=block.line,
                box=box.line if box else 0,
                verdict=verdict,
                expected=words,
            )


def _is_expected(following: Sequence[Block]) -> bool:
    return bool(following) and bool(re.match(r"[\s*_>-]*expected\b", following[0].content, re.IGNORECASE))


def _find_fault(command: str) -> str:
    """A command that goes to a folder outside of the tree would judge something else; one that commits, nothing."""
    if _LEAVES.search(command):
        return "it goes to a folder outside of the repository"
    return "it changes what git has of the repository" if records(command) else ""


def _read_commands(rest: str, blocks: Sequence[Block], number: int) -> Iterator[tuple[str, str]]:
    """The commands in backticks behind the word, else those of the code block below it; acts are left out."""
    spans = code_spans(rest)
    label = rest.partition("`")[0]
    if spans and _RUN_LABEL.fullmatch(label):
        command = _unshorten(spans[0].strip())
        if not acts(command):
            yield command, read_criterion(f"Run: {code_span(command)}").fault
        return
    following = blocks[number + 1] if number + 1 < len(blocks) else None
    ends = rest.rstrip(" *_").endswith(":") or not rest.strip(" *_:")
    if spans or following is None or following.kind is not Kind.FENCE or not ends or following.language not in _SHELLS:
        return
    script = _script(following.content)
    if script:
        yield script, ""


def _script(content: str) -> str:
    """The lines of a code block as one command that stops at the first failure; "" if they only act.

    A pipe into `tail` or `head` is left out: it shortens what a person reads, and with it no command could fail. So are
    lines that only stage and commit: landing does that.
    """
    lines = [line.removeprefix("$ ") for line in _CONTINUED.split(content.strip("\n"))]
    told = [_unshorten(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    told = [line for line in told if not _only_records(line.strip())]
    if not told or all(acts(line.strip()) for line in told):
        return ""
    simple = not any(_COMPOUND.search(line) for line in told)
    return " && ".join(line.strip() for line in told) if simple else "\n".join([_STOPS, *told])


def _only_records(line: str) -> bool:
    """Whether a line commits and does nothing else; what a message in quotes says does not count."""
    plain = _QUOTED.sub("''", line)
    return records(plain) and acts(plain)


def _unshorten(line: str) -> str:
    """The command without a pipe into `tail` or `head`."""
    found = _SHORTENED.search(line)
    return line if found is None else line[: found.start()].rstrip().removesuffix("2>&1").rstrip()


def _shorten(command: str) -> str:
    """The command as a person recognises it: the beginning of its first line."""
    first, _, more = command.removeprefix(f"{_STOPS}\n").partition("\n")
    return first if len(first) <= MOST_SHOWN and not more else f"{first[:MOST_SHOWN].rstrip()} …"


def _judge(rest: Sequence[str], following: Sequence[Block], box: str) -> tuple[str, Verdict]:
    """The words of the expectation and what they mean; without any, the words of the box, else that it passes."""
    for line in rest:
        found = _EXPECTED.search(line)
        if found and (words := found["words"] or found["arrow"] or ""):
            return words, _read_verdict(words)
    for block in following:
        if block.kind is Kind.ITEM and block.entry >= 0 and _RUN.match(block.content):
            break
        if block.kind is Kind.FENCE:
            continue
        if _RUN.fullmatch(block.content.split("\n")[0]) or block.content.lstrip().startswith(("[ ]", "[x]", "[X]")):
            break
        found = _EXPECTED.search(block.content)
        if found:
            words = " ".join((found["words"] or found["arrow"] or "").split()) or block.content
            return words, _read_verdict(words)
    told = _read_verdict(box)
    return box, told if told is not Verdict.UNCLEAR else Verdict.PASS


def _read_verdict(words: str) -> Verdict:
    """The word that comes first decides. "No failures" means that it passes, "1 failed" that it does not."""
    plain = _NO_FAILURE.sub(" passes ", words)
    if _NO_PASS.search(plain):
        return Verdict.FAIL
    fails, passes = _FAIL.search(plain), _PASS.search(plain)
    if fails and (not passes or fails.start() < passes.start()):
        return Verdict.FAIL
    return Verdict.PASS if passes or _WEAK.search(plain) else Verdict.UNCLEAR
