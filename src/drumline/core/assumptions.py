"""What a step takes for granted and the tree that it begins with does not have.

The rule: a thing counts as missing only if the text says that it is there. What is merely mentioned, and what the step
makes itself, is not looked for: each finding may cost a question to a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from drumline.core.handoffs import Handoff
from drumline.core.namings import find_located, find_paths, find_symbols, is_assumed, is_created, is_own
from drumline.core.plan import Step
from drumline.core.proselines import FENCE, read_lines
from drumline.core.shellwords import drop_assignments, find_scripts, list_goals, split_command
from drumline.core.targets import read_makefile
from drumline.record import Record, field

MOST_SYMBOLS = 50
"""How many symbols of a step are looked for."""
MOST_TOLD = 20
MAKEFILE, PACKAGE = "Makefile", "package.json"
CONTEXT = frozenset({"context", "patterns", "existing patterns", "patterns to follow", "codebase patterns"})
"""Headings of what a step says about the code as it is."""
_GLOB = re.compile(r"[*?\[\]{}]|/$")
_UNCOMPARED = frozenset({"sh", "bash", "shell", "console", "text", "diff", "mermaid", "output", "tree"})
"""Kinds of code blocks that are not taken from a file."""
_TITLE = re.compile(
    r"\s*(?:#|//|--|;|/\*|<!--)\s*(?:file:\s*)?((?:[\w@.+-]+/)+[\w@+-][\w@.+-]*\.\w{1,8})(?::\d+(?:-\d+)?)?\s*(?:\*/|-->)?\s*",
    re.IGNORECASE,
)
"""A comment that only names a file: what follows it in a block of code is taken from there."""
_LEFT_OUT = re.compile(r"\W*(?:\.\.\.|…)\W*|.{0,3}")
_RESULT = re.compile(r"\A---\n(?:.*\n)*?result:\s*[\"']?(partial|blocked)\b", re.IGNORECASE)
_SCRIPT = re.compile(r"(?:[\w@.+-]+/)+[\w@.+-]+\.\w+")
_RUNNERS = ("npm", "pnpm", "yarn", "bun")


class Told(Record):
    """A step as its agent hears of it: its text, and what the steps left that it needs."""

    step: Step
    text: str
    handoffs: Sequence[Handoff] = ()


class Snippet(Record):
    """Lines that a step shows of a file."""

    path: str
    lines: tuple[str, ...]


class Wanted(Record):
    """What has to be known of a tree: paths that should be there, symbols, and files whose text is compared."""

    paths: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class TreeFacts(Record):
    """What is known of a tree: its paths, which of the wanted symbols it has, the texts of the wanted files."""

    paths: Collection[str] = ()
    symbols: Collection[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


def list_wanted(told: Told) -> Wanted:
    """What has to be looked up before the assumptions of a step can be judged; nothing for most steps."""
    scripts = [script for command in _list_commands(told.step) for script in _list_scripts(command, told)]
    claimed = [path for handoff in told.handoffs for path in _list_claimed(handoff)]
    own = [symbol for handoff in told.handoffs for symbol in _list_made(handoff)]
    located = [symbol for symbol, _ in _list_located(told.text)]
    snippets = [snippet.path for snippet in _list_snippets(told.text)]
    manifests = [_find_manifest(command) for command in _list_commands(told.step)]
    return Wanted(
        paths=tuple(dict.fromkeys([*_list_assumed(told), *scripts, *claimed])),
        symbols=tuple(dict.fromkeys([*_list_changed(told.text), *located, *own]))[:MOST_SYMBOLS],
        files=tuple(dict.fromkeys([*snippets, *(name for name in manifests if name)])),
    )


def assumptions(told: Told, tree: TreeFacts) -> tuple[str, ...]:
    """What the step takes for granted and the tree does not have, a sentence for each."""
    found = [
        *_judge_paths(told, tree),
        *_judge_symbols(told, tree),
        *_judge_snippets(told, tree),
        *_judge_commands(told, tree),
        *(line for handoff in told.handoffs for line in _judge_handoff(handoff, tree)),
    ]
    return tuple(dict.fromkeys(found))


def list_missing(found: Sequence[str]) -> str:
    """What is missing as a section of a prompt, with the empty line behind it; empty if nothing is."""
    if not found:
        return ""
    listed = "\n".join(f"- {line}" for line in found[:MOST_TOLD])
    more = f"\n- and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
    return f"## What the step takes for granted and was not found\n\n{listed}{more}\n\n"


def _judge_paths(told: Told, tree: TreeFacts) -> Iterator[str]:
    for path in _list_assumed(told):
        if not _has(tree, path):
            yield f"`{path}` is not there; the step works with it"


def _list_assumed(told: Told) -> list[str]:
    """Files that the text says are there: those that it works with, and those that it shows as context."""
    snippets = [snippet.path for snippet in _list_snippets(told.text)]
    named = [*(path for path in told.step.files if not _GLOB.search(path)), *find_paths(told.text), *snippets]
    shown = {*find_paths("\n".join(line.text for line in read_lines(told.text) if CONTEXT & {*line.path})), *snippets}
    return [
        path
        for path in dict.fromkeys(named)
        if not is_created(path, told.text) and (path in shown or is_assumed(path, told.text))
    ]


def _has(tree: TreeFacts, path: str) -> bool:
    return path in tree.paths or any(known.startswith(f"{path}/") for known in tree.paths)


def _judge_symbols(told: Told, tree: TreeFacts) -> Iterator[str]:
    for symbol in _list_changed(told.text):
        if symbol not in tree.symbols:
            yield f"the symbol `{symbol}` is not there; the step changes it"
    for symbol, path in _list_located(told.text):
        if symbol not in tree.symbols:
            yield f"the symbol `{symbol}` is not there; the step works with it in `{path}`"


def _list_changed(text: str) -> list[str]:
    named = dict.fromkeys(find_symbols(text))
    return [symbol for symbol in named if is_own(symbol, text) and not is_created(symbol, text)][:MOST_SYMBOLS]


def _list_located(text: str) -> list[tuple[str, str]]:
    """What the text works with, or shows as context, and says the file of: it is not that of a library."""
    shown = set(find_located("\n".join(line.text for line in read_lines(text) if CONTEXT & {*line.path})))
    return [
        (symbol, path)
        for symbol, path in dict.fromkeys(find_located(text))
        if not is_created(symbol, text) and not is_created(path, text) and not is_own(symbol, text)
        if (symbol, path) in shown or is_assumed(symbol, text)
    ][:MOST_SYMBOLS]


def _judge_snippets(told: Told, tree: TreeFacts) -> Iterator[str]:
    for snippet in _list_snippets(told.text):
        text = tree.texts.get(snippet.path)
        if text is None:
            continue
        there = {line.strip() for line in text.split("\n")}
        gone = next((line for line in snippet.lines if line not in there), "")
        if gone:
            yield f"`{snippet.path}` is not as the step shows it: it does not have the line `{gone[:80]}`"


def _list_snippets(text: str) -> list[Snippet]:
    """Blocks of code under a heading such as Context that stand below the path of a file, or begin with it."""
    told = {line.number: line for line in read_lines(text)}
    found: list[Snippet] = []
    path, fence, lines, inside, compared = "", "", list[str](), False, True
    for number, line in enumerate(text.split("\n")):
        mark = FENCE.match(line)
        if mark and not fence:
            fence, lines = mark[1], []
            compared = line.strip().strip("`~").partition(" ")[0].lower() not in _UNCOMPARED
        elif mark and mark[1].startswith(fence) and not line.strip(" `~"):
            found += _read_snippet(path, lines) if inside and compared else []
            fence = path = ""
        elif fence:
            lines.append(line)
        elif number in told:
            inside = bool(CONTEXT & {*told[number].path})
            path = next(iter(reversed(find_paths(line))), path) if inside else ""
        elif line.strip():
            path = ""
    return found


def _read_snippet(path: str, lines: Sequence[str]) -> list[Snippet]:
    """The lines of a block that are compared; a path that it begins with counts before the one above it."""
    title = _TITLE.fullmatch(lines[0]) if lines else None
    path = title[1].removeprefix("./") if title else path
    kept = tuple(one.strip() for one in lines[1 if title else 0 :] if not _LEFT_OUT.fullmatch(one.strip()))
    return [Snippet(path=path, lines=kept)] if path and kept and ".." not in path.split("/") else []


def _list_commands(step: Step) -> list[str]:
    return [check.command for check in step.checks]


def _judge_commands(told: Told, tree: TreeFacts) -> Iterator[str]:
    for command in _list_commands(told.step):
        for script in _list_scripts(command, told):
            if not _has(tree, script):
                yield f"`{command}` executes `{script}`, which is not there"
        manifest = _find_manifest(command)
        text = tree.texts.get(manifest)
        named = manifest in told.step.files or manifest in told.text
        if text is not None and not named:
            yield from (f"`{command}`: {manifest} has no `{name}`" for name in _list_lacking(command, manifest, text))


def _list_scripts(command: str, told: Told) -> list[str]:
    """Files of the repository that a command executes and that the step does not make."""
    scripts = [script for part in split_command(command) for script in find_scripts(part.words)]
    plain = [path for path in scripts if _SCRIPT.fullmatch(path) and ".." not in path.split("/")]
    return [path for path in plain if path not in told.step.files and not is_created(path, told.text)]


def _find_manifest(command: str) -> str:
    """The file that says what a target or script of a command is; empty where it is none of those."""
    if list_goals(MAKEFILE, [command]):
        return MAKEFILE
    return PACKAGE if _list_npm(command) else ""


def _list_npm(command: str) -> list[str]:
    found: list[str] = []
    for words in (drop_assignments(part.words) for part in split_command(command)):
        if len(words) > 2 and words[0] in _RUNNERS and words[1] == "run" and not words[2].startswith("-"):
            found.append(words[2])
    return found


def _list_lacking(command: str, manifest: str, text: str) -> Iterator[str]:
    if manifest == MAKEFILE:
        made = read_makefile(text)
        includes = any(line.lstrip().startswith(("include", "-include")) for line in made.loose) or "%" in text
        goals = [goal for goals in list_goals(MAKEFILE, [command]) for goal in goals]
        yield from (goal for goal in goals if goal not in made.lines and not includes)
        return
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError):
        return
    yield from (name for name in _list_npm(command) if isinstance(scripts, dict) and name not in scripts)


def _judge_handoff(handoff: Handoff, tree: TreeFacts) -> Iterator[str]:
    """What a step before says that it left, and did not: nobody has proved its words."""
    who = f"{handoff.step} ({handoff.title})"
    result = _RESULT.match(handoff.words)
    if result:
        yield f"the handoff of {who} says that its result is {result[1].lower()}"
    for path in _list_claimed(handoff):
        if not _has(tree, path):
            yield f"{who} says that it made `{path}`, which is not there"
    for symbol in _list_made(handoff):
        if symbol not in tree.symbols:
            yield f"{who} says that it made `{symbol}`, which is not there"


def _list_claimed(handoff: Handoff) -> list[str]:
    return [path for path in find_paths(handoff.words) if is_created(path, handoff.words)]


def _list_made(handoff: Handoff) -> list[str]:
    return [symbol for symbol in dict.fromkeys(find_symbols(handoff.words)) if is_created(symbol, handoff.words)]
