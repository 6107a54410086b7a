"""Which steps own the same files. Conservative: two globs that might name one file count as overlapping.

Owned paths are relative to the repository, may be globs in the gitignore dialect (`*` stays in its folder, `**` does
not, a glob without a slash matches at any depth), `dir/` is a subtree, and a plain path stands for itself and, should
it be a folder, for everything below it. Whatever a pattern names begins with its fixed beginning and ends with its
fixed end: that is what makes the comparison of two globs sound.

Most paths meet no other, and what they cost is what a large plan costs. So a first look asks only which steps have
paths in each folder, by operations on whole steps; single paths are looked at where it leaves a doubt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice, pairwise, repeat

from drumline.core.graph import topological
from drumline.core.ids import StepId
from drumline.core.plan import Step
from drumline.record import Record, field

_WILD = re.compile(r"[*?\[]")
MOST_PAIRS = 10_000

_WRITTEN = (
    *(
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "bun.lock",
    ),
    *(
        "bun.lockb",
        "deno.lock",
        "Cargo.lock",
        "poetry.lock",
        "uv.lock",
    ),
    *(
        "pdm.lock",
        "Pipfile.lock",
        "pylock.toml",
        "go.sum",
        "go.work.sum",
    ),
    *(
        "Gemfile.lock",
        "composer.lock",
        "mix.lock",
        "pubspec.lock",
        "Podfile.lock",
    ),
    *(
        "Package.resolved",
        "flake.lock",
        "packages.lock.json",
        "gradle.lockfile",
        "*.snap",
    ),
    *("__snapshots__/**",),
)
SHARED = tuple(f"**/{name}" for name in _WRITTEN)
"""Files that programs write for whoever changes something: every step may."""


class Pattern(Record):
    """An owned path taken apart."""

    text: str
    glob: bool
    begins: str
    ends: str


class Overlap(Record):
    """Steps that may run at the same time and own the same files; the first two are proof, the rest are in it too."""

    steps: tuple[StepId, ...]
    paths: tuple[str, ...]


@cache
def take_apart(path: str) -> Pattern:
    """The pattern a plan's path stands for."""
    text = path.removeprefix("./")
    if text.endswith("/"):
        text += "**"
    wild = _WILD.search(text)
    if wild is None:
        return Pattern(text=text, glob=False, begins=text, ends=text)
    begins = text[: wild.start()] if "/" in text else ""
    ends = re.split(r"[*?\]]", text)[-1]
    return Pattern(text=text, glob=True, begins=begins, ends=ends)


def may_meet(one: Pattern, other: Pattern) -> bool:
    """Whether some file could belong to both."""
    if not one.glob and not other.glob:
        return _holds(one.text, other.text) or _holds(other.text, one.text)
    if one.glob and other.glob:
        beginnings = one.begins.startswith(other.begins) or other.begins.startswith(one.begins)
        return beginnings and (one.ends.endswith(other.ends) or other.ends.endswith(one.ends))
    glob, plain = (one, other) if one.glob else (other, one)
    return bool(_regex(glob.text).fullmatch(plain.text)) or glob.begins.startswith(plain.text + "/")


def owns(entry: str, path: str) -> bool:
    """Whether an owned path names this file."""
    return may_meet(take_apart(entry), Pattern(text=path, glob=False, begins=path, ends=path))


def names(entry: str, path: str) -> bool:
    """Whether an entry names this file or a folder above it; one that stands where such a folder is meant is not it."""
    pattern = take_apart(entry)
    return bool(_regex(pattern.text).fullmatch(path)) if pattern.glob else _holds(pattern.text, path)


def stands_above(path: str, entry: str) -> bool:
    """Whether a file or link at the path would stand where a folder is meant that the entry names files in."""
    return take_apart(entry).begins.startswith(f"{path}/")


def shared(one: Step, other: Step) -> str:
    """A path both steps own, as one of them writes it; empty if there is none."""
    for mine in one.files:
        for theirs in other.files:
            if may_meet(take_apart(mine), take_apart(theirs)):
                return mine
    return ""


def overlaps(steps: Sequence[Step]) -> list[Overlap]:
    """All overlaps between steps neither of which reaches the other, grouped by the steps concerned."""
    suspects = _suspects(steps)
    if not suspects:
        return []
    sorted_ids = topological(steps)
    owners: dict[str, list[StepId]] = {}
    for step_id in sorted_ids:
        for text in suspects.get(step_id, ()):
            owners.setdefault(text, []).append(step_id)
    order = {step_id: place for place, step_id in enumerate(sorted_ids)}
    # Only where paths meet does it matter who reaches whom.
    meeting = [(one, other) for one, other in _meeting(owners) if one != other or len(owners[one]) > 1]
    before = ancestors(steps) if meeting else {}
    grouped: dict[tuple[StepId, ...], list[str]] = {}
    for one, other in meeting:
        concerned = _concurrent(owners[one], owners[other], before, order)
        if concerned:
            grouped.setdefault(concerned, []).append(one)
    return [Overlap(steps=ids, paths=tuple(dict.fromkeys(paths))) for ids, paths in grouped.items()]


def ancestors(steps: Sequence[Step]) -> dict[StepId, int]:
    """For each step, the set of steps it reaches by needs, as bits numbered in topological order, its own included."""
    by_id = {step.id: step for step in steps}
    found: dict[StepId, int] = {}
    for place, step_id in enumerate(topological(steps)):
        bits = 1 << place
        for need in by_id[step_id].needs:
            bits |= found.get(need, 0)
        found[step_id] = bits
    return found


def _concurrent(
    one: Sequence[StepId], other: Sequence[StepId], before: dict[StepId, int], order: dict[StepId, int]
) -> tuple[StepId, ...]:
    """The owners of two meeting paths if some of them may run at once: a pair that may comes first."""
    if one is other:
        pair = _loose_neighbours(one, before, order)
    else:
        pairs = ((a, b) for a in one for b in other if a != b)
        pair = next((p for p in islice(pairs, MOST_PAIRS) if _loose(*p, before, order)), ())
    if not pair:
        return ()
    return tuple(dict.fromkeys((*pair, *one, *other)))


def _loose_neighbours(ids: Sequence[StepId], before: dict[StepId, int], order: dict[StepId, int]) -> tuple[StepId, ...]:
    """In topological order, steps are all in one line exactly if each reaches its neighbour."""
    for earlier, later in pairwise(ids):
        if _loose(earlier, later, before, order):
            return earlier, later
    return ()


def _loose(one: StepId, other: StepId, before: dict[StepId, int], order: dict[StepId, int]) -> bool:
    return not (before[one] >> order[other] & 1 or before[other] >> order[one] & 1)


class _Ground(Record):
    """What a first look at all steps finds; a folder is written without its last slash, the top is ""."""

    texts: list[Sequence[str]] = field(default_factory=list)  # of each step, in the order of the steps
    owner: dict[str, StepId] = field(default_factory=dict)  # of each folder with paths in it, whoever came first
    crowded: set[str] = field(default_factory=set)  # folders with paths of several steps
    globbed: set[str] = field(default_factory=set)  # folders whose contents a glob may name


def _survey(steps: Sequence[Step]) -> _Ground:
    ground = _Ground()
    owner, crowded = ground.owner, ground.crowded
    for step in steps:
        texts: Sequence[str] = step.files
        if _is_odd("\n".join(texts)):
            patterns = [take_apart(path) for path in texts]
            texts = [pattern.text for pattern in patterns]
            homes = {_home(pattern) for pattern in patterns}
            ground.globbed.update(_home(pattern) for pattern in patterns if pattern.glob)
        else:
            homes = {home for home, _, _ in map(str.rpartition, texts, repeat("/"))}
        ground.texts.append(texts)
        for home in homes:
            if owner.setdefault(home, step.id) != step.id:
                crowded.add(home)
    return ground


def _suspects(steps: Sequence[Step]) -> dict[StepId, list[str]]:
    """The paths of each step that another step's may meet, and few that none does."""
    ground = _survey(steps)
    doubtful = _doubtful(ground.owner)
    if not (ground.crowded or ground.globbed or doubtful):
        return {}
    distinct = set[str]().union(*ground.texts)
    held = doubtful & distinct
    if not ground.globbed and not held and len(distinct) == sum(map(len, ground.texts)):
        return {}
    counts = Counter(chain.from_iterable(map(set, ground.texts)))
    hot = _inside(ground.globbed | held, ground.owner)
    found: dict[StepId, list[str]] = {}
    for step, texts in zip(steps, ground.texts, strict=True):
        kept = [
            text for text in dict.fromkeys(texts) if counts[text] > 1 or text in held or _home(take_apart(text)) in hot
        ]
        if kept:
            found[step.id] = kept
    return found


def _is_odd(texts: str) -> bool:
    """Whether some of the paths, a line each, may be globs, or plain ones that are written otherwise elsewhere."""
    return "*" in texts or "?" in texts or "[" in texts or "./" in texts or "/\n" in texts or texts.endswith("/")


def _home(pattern: Pattern) -> str:
    """The folder that everything the pattern names lies in."""
    return pattern.begins.rpartition("/")[0]


def _doubtful(folders: Collection[str]) -> set[str]:
    """The folders on the way to these that may be owned as paths: those in a folder with paths of its own."""
    found: set[str] = set()
    seen = {""}
    for folder in folders:
        way = folder
        while way not in seen:
            seen.add(way)
            parent = way.rpartition("/")[0]
            if parent in folders:
                found.add(way)
            way = parent
    return found


def _inside(roots: Collection[str], folders: Iterable[str]) -> set[str]:
    """The folders that are one of the roots or lie in one."""
    return {folder for folder in folders if any(way[:-1] in roots for way in _folders(f"{folder}/"))}


def _meeting(owners: dict[str, list[StepId]]) -> Iterator[tuple[str, str]]:
    """Pairs of paths that may name one file, each with itself included; folders keep the search short."""
    patterns = {text: take_apart(text) for text in owners}
    wanted = {_folder(pattern.begins) for pattern in patterns.values() if pattern.glob}
    below: dict[str, list[str]] = {folder: [] for folder in wanted}
    for text, pattern in patterns.items() if wanted else ():
        for folder in _folders(pattern.begins):
            if folder in below:
                below[folder].append(text)
    met: set[tuple[str, str]] = set()
    for text, pattern in patterns.items():
        yield text, text
        above = [folder.rstrip("/") for folder in _folders(pattern.begins)]
        near = below.get(_folder(pattern.begins), []) if pattern.glob else []
        for other in dict.fromkeys((*near, *(path for path in above if path in patterns))):
            pair = (min(text, other), max(text, other))
            if other != text and pair not in met and may_meet(pattern, patterns[other]):
                met.add(pair)
                yield text, other


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _folders(path: str) -> Iterator[str]:
    """Every folder the path lies in, the top ("") first."""
    yield ""
    place = path.find("/")
    while place >= 0:
        yield path[: place + 1]
        place = path.find("/", place + 1)


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder + "/")


@cache
def _regex(glob: str) -> re.Pattern[str]:
    anchored = "/" in glob
    parts = ["" if anchored else "(?:.*/)?"]
    parts += _translated(glob.removeprefix("/"))
    return re.compile("".join(parts) + "(?:/.*)?", re.DOTALL)


def _translated(glob: str) -> Iterable[str]:
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|\[[!^]?\]?[^\]]*\]|.", glob, re.DOTALL)
    special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    for token in tokens:
        if token in special:
            yield special[token]
        elif token.startswith("[") and len(token) > 2:
            body = token[1:-1].replace("\\", "\\\\")
            yield f"[^{body[1:]}]" if body[0] in "!^" else f"[{body}]"
        else:
            yield re.escape(token)
