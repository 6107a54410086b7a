"""Workspaces without git: folders for agents to write in, everything else in memory. Keeps the rules of the real ones.

The object outlives the driver that uses it, as a repository does: hand it to the next driver after a simulated crash.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote, unquote

from drumline.core.branch import Branch
from drumline.core.gitdeeds import NO_DEEDS, GitDeeds
from drumline.core.ids import NO_STEP, Commit, StepId, Tree
from drumline.core.leftovers import find_droppings
from drumline.core.products import is_tool_folder
from drumline.ports.workspaces import Landing, Meant, Merge
from drumline.testing import trees
from drumline.testing.trees import MARKER, FakeCommit, Files, digest_value, merge_files, walk_files


class FakeWorkspaces:
    """The `Workspaces` port in memory. `ignored` are names of files or folders that no tree contains.

    `first` is a commit with `files` to start from. Set `checked_out` to have landings refused.
    """

    def __init__(
        self,
        folder: Path,
        *,
        files: Mapping[str, str] | None = None,
        plan_paths: Sequence[str] = (),
        ignored: Sequence[str] = (),
    ) -> None:
        self.checked_out = ""
        self.kept: dict[tuple[StepId, str], Commit] = {}
        self._folder = folder
        self._spared = (*plan_paths, ".drumline")
        self._ignored = frozenset(ignored)
        self._trees: dict[Tree, Files] = {}
        self._commits: dict[Commit, FakeCommit] = {}
        self._head: Commit | None = None
        self._written: Commit | None = None
        self._landings: dict[tuple[StepId, Commit], Commit] = {}
        self._bases: dict[StepId, Commit] = {}
        self._held: dict[StepId, Files] = {}
        self._setups: dict[StepId, str] = {}
        self._acquired: dict[StepId, bool] = {}
        content = {path: text.encode() for path, text in (files or {}).items()}
        self.first = self._add(FakeCommit(parent="", tree=self._store(content), message="first", step=NO_STEP))

    async def start(self, base: Commit, *, landed: bool = False) -> None:
        """Create the run branch at `base`; nothing happens if it exists, or if steps have `landed` on it."""
        if self._written is None and not landed:
            self._head = self._written = base

    async def head(self, left: Commit | None = None, meant: Meant | None = None) -> Commit:
        """Where the next work begins: the tip of the run branch, or where we left it if somebody else has moved it."""
        return self._written or self._tip()

    def path(self, step: StepId) -> Path:
        """Where the step's workspace is or will be."""
        return self._folder / quote(step, safe="").replace(".", "%2E")

    async def assign(self, step: StepId) -> Path:
        """Where the step is worked on: here every step has a place of its own."""
        return self.path(step)

    def has_place(self, step: StepId) -> bool:
        """Whether the step has a workspace: nothing is remembered of one that is not there."""
        return self.path(step).exists()

    def is_set_up(self, step: StepId, setup: str) -> bool:
        """Whether the dependencies of this setup are in the workspace."""
        return self._setups.get(step) == setup

    async def note_setup(self, step: StepId, setup: str) -> None:
        """Say which setup has installed the dependencies that are in the workspace."""
        self._setups[step] = setup

    @asynccontextmanager
    async def acquire(self, setup: str) -> AsyncIterator[StepId]:
        """A place for checks in which nobody works, until the block is left."""
        free = [place for place in self._acquired if not self._acquired[place]]
        suits = [place for place in free if self.is_set_up(place, setup)]
        chosen = next(iter((*suits, *free)), StepId(f"@verify/{len(self._acquired) + 1}"))
        self._acquired[chosen] = True
        try:
            yield chosen
        finally:
            self._acquired[chosen] = False

    async def stage(self, place: StepId, tree: Tree, *, base: Commit, setup: str) -> None:
        """Bring a place that was acquired to exactly `tree`; of ignored files only dependencies of this setup stay."""
        await self._empty(place, setup)
        self._bases[place] = base
        self._fill(place, tree)

    async def _empty(self, step: StepId, setup: str) -> None:
        """Remove every file but dependencies of this setup."""
        top, kept = self.path(step), self.is_set_up(step, setup)
        for path, file in list(walk_files(top)):
            if not kept or not is_tool_folder(path.rpartition("/")[0] or "."):
                file.unlink()
        if not kept:
            self._setups.pop(step, None)

    async def list_files(self, tree: Tree) -> Mapping[str, str]:
        """The files of a tree, each with a digest of its content."""
        return {path: hashlib.sha256(text).hexdigest() for path, text in self._trees[tree].items()}

    async def prepare(self, step: StepId, base: Commit, *, setup: str = "") -> Tree:
        """Make the workspace at `base`, or adopt what a dead driver left and reset it to `base`; return its tree."""
        self._bases[step] = base
        await self.restore(step, self._commits[base].tree)
        return self._commits[base].tree

    async def snapshot(self, step: StepId, *, base: Commit, tidy: bool = False) -> Tree:
        """The tree of everything not ignored, with the plan's files and `.drumline/` as they are in `base`.

        What tools for tests drop (`__pycache__`, `.coverage`) is left out where `base` does not have it; `tidy` also
        removes it from the workspace.
        """
        tree = self._read(step, base, whole=False)
        if tidy:
            self._fill(step, tree)
        return tree

    async def salvage(self, step: StepId, *, base: Commit) -> Tree:
        """The tree of what can be read; here everything can."""
        return self._read(step, base, whole=False)

    def _read(self, step: StepId, base: Commit, *, whole: bool) -> Tree:
        there = walk_files(self.path(step), self._ignored)
        found = {path: file.read_bytes() for path, file in there if not self._is_spared(path)}
        before = self._trees[self._commits[base].tree]
        dropped = set() if whole else {*find_droppings(path for path in found if path not in before)}
        kept = {path: text for path, text in found.items() if path not in dropped}
        return self._store({**kept, **{path: text for path, text in before.items() if self._is_spared(path)}})

    async def restore(self, step: StepId, tree: Tree, *, base: Commit | None = None) -> None:
        """Bring the workspace to exactly `tree` (ignored files stay)."""
        self._bases[step] = base or self._bases.get(step) or self._head or self.first
        await self.give_back(step)
        self._fill(step, tree)

    def _fill(self, step: StepId, tree: Tree) -> None:
        trees.fill_folder(self.path(step), self._trees[tree], self._ignored)

    async def switch(self, step: StepId, tree: Tree, *, tidy: bool, without: Sequence[str] = ()) -> None:
        """Give a workspace that is prepared the files of `tree`; there are no others here."""
        self._fill(step, tree)

    async def set_aside(self, step: StepId, paths: Sequence[str]) -> None:
        """Take these files out of the workspace until they are given back."""
        if step not in self._held:
            files = {path: self.path(step) / path for path in paths if (self.path(step) / path).is_file()}
            self._held[step] = {path: file.read_bytes() for path, file in files.items()}
            for file in files.values():
                file.unlink()

    async def give_back(self, step: StepId) -> None:
        """Put back what was set aside."""
        for path, content in self._held.pop(step, {}).items():
            (self.path(step) / path).parent.mkdir(parents=True, exist_ok=True)
            (self.path(step) / path).write_bytes(content)

    async def clean(self, step: StepId, tree: Tree, *, base: Commit) -> Mapping[str, str]:
        """Bring the workspace back to `tree`, which it had before; the paths that were not so."""
        found = self._read(step, base, whole=True)
        if found != tree:
            self._fill(step, tree)
        return trees.compare_files(self._trees[tree], self._trees[found])

    async def keep(self, step: StepId, label: str, tree: Tree, *, base: Commit) -> Commit:
        """Keep a tree by name, so that no work is ever only in a workspace."""
        commit = self._add(FakeCommit(parent=base, tree=tree, message=f"Kept: {label}", step=NO_STEP))
        self.kept[step, label] = commit
        return commit

    async def count_lines(self, base: Commit, tree: Tree) -> Mapping[str, tuple[int, int] | None]:
        """Paths that differ between a commit and a tree, each with the lines added and removed."""
        return trees.count_lines(self._trees[self._commits[base].tree], self._trees[tree])

    async def changed(self, base: Commit, tree: Tree) -> Mapping[str, str]:
        """Paths that differ between a commit and a tree, each with what happened to it."""
        return trees.compare_files(self._trees[self._commits[base].tree], self._trees[tree])

    async def diff(self, base: Commit, tree: Tree) -> str:
        """What a tree changes in a commit, as a unified diff."""
        return trees.write_diff(self._trees[self._commits[base].tree], self._trees[tree])

    async def compose(self, tree: Tree, other: Tree, paths: Sequence[str]) -> Tree:
        """The tree with these paths as they are in the other one, or without them where that has none."""
        kept = {path: text for path, text in self._trees[tree].items() if path not in paths}
        return self._store({**kept, **{path: text for path, text in self._trees[other].items() if path in paths}})

    async def find_tree(self, commit: Commit) -> Tree:
        """The tree of a commit."""
        return self._commits[commit].tree

    async def read_text(self, place: Commit | Tree, path: str) -> str | None:
        """The text of a file in a commit or tree; None if there is none."""
        tree = self._commits[Commit(place)].tree if place in self._commits else Tree(place)
        found = self._trees[tree].get(path)
        return None if found is None else found.decode("utf-8", "replace")

    async def find_words(self, tree: Tree, words: Sequence[str]) -> Collection[str]:
        """Which of these words files of the tree have, the plan's own files and `.drumline/` left out."""
        seen = [text for path, text in self._trees[tree].items() if not self._is_spared(path)]
        texts = [text.decode("utf-8", "replace") for text in seen]
        return frozenset(word for word in words if any(re.search(rf"\b{re.escape(word)}\b", text) for text in texts))

    async def list_ignored(self, step: StepId, *, wanted: Sequence[str] = ()) -> Mapping[str, str]:
        """Files whose name, or that of a folder above them, is ignored, each with its text."""
        found = sorted(walk_files(self.path(step)))
        ignored = [(path, file) for path, file in found if self._ignored.intersection(path.split("/"))]
        return {path: file.read_text(encoding="utf-8", errors="replace") for path, file in ignored}

    async def commit(self, step: StepId, tree: Tree, *, base: Commit, message: str, journal: str = "") -> Commit:
        """Make the step's commit; the same arguments give the same commit."""
        return self._add(FakeCommit(parent=base, tree=tree, message=f"{message}{journal}", step=step))

    async def find_markers(self, step: StepId, tree: Tree, *, base: Commit) -> Sequence[str]:
        """Files of the workspace, which has this tree, with conflict markers that the base does not have."""
        before = self._trees[self._commits[base].tree]
        counts = {path: text.count(MARKER) for path, text in self._trees[tree].items()}
        return sorted(path for path, count in counts.items() if count > before.get(path, b"").count(MARKER))

    async def land(self, step: StepId, commit: Commit, *, head: Commit) -> Landing:
        """Move the branch to the commit, if that stands on its head; a landing above `head` is adopted."""
        if self._head is None:
            return Landing(refusal="the run branch is gone", moved=True)
        above = self._line(self._tip(), until=head)
        found = next((made for made in above if self._commits[made].step == step), None)
        if found:
            return Landing(commit=found, tree=self._commits[found].tree, adopted=True)
        if self._head != self._written:
            return Landing(refusal="the run branch was moved by somebody else", moved=True)
        made = self._commits[commit]
        if made.parent != self._head:
            return Landing(behind=self._head)
        if self.checked_out:
            return Landing(refusal=f"the run branch is checked out at {self.checked_out!r}")
        self._head = self._written = self._landings[step, commit] = commit
        return Landing(commit=commit, tree=made.tree)

    async def merge(self, commit: Commit, onto: Commit) -> Merge:
        """Put the change of a commit on another one, file by file."""
        made, below = self._commits[commit], self._commits[onto].tree
        before = self._trees[self._commits[Commit(made.parent)].tree]
        merged, conflicts = merge_files(before, self._trees[below], self._trees[made.tree])
        return Merge(tree=self._store(merged), onto=below, conflicts=conflicts)

    async def foresee(self, commit: Commit, others: Sequence[StepId]) -> Mapping[StepId, Sequence[str]]:
        """Files in which a commit conflicts with what others have in their folders at the moment."""
        found: dict[StepId, Sequence[str]] = {}
        for other, base in [(step, self._bases[step]) for step in others if self.path(step).is_dir()]:
            tree = await self.snapshot(other, base=base)
            theirs = self._add(FakeCommit(parent=base, tree=tree, message="trial", step=other))
            found[other] = (await self.merge(commit, theirs)).conflicts
        return {step: paths for step, paths in found.items() if paths}

    async def contains(self, tip: Commit, commit: Commit) -> bool:
        """Whether a commit is in the history of another."""
        return commit in self._line(tip, until="")

    async def find_landing(self, step: StepId, commit: Commit) -> Landing | None:
        """The landing of a candidate that the branch has, whatever the journal says."""
        landed = self._landings.get((step, commit))
        if landed is None or self._head is None or landed not in self._line(self._head, until=""):
            return None
        return Landing(commit=landed, tree=self._commits[landed].tree, adopted=True)

    def stands_at(self, left: Commit) -> bool:
        """Whether the run branch is at this commit, and was left there."""
        return self._head == self._written == left

    async def find_deeds(self, step: StepId, *, base: Commit) -> GitDeeds:
        """What was done to the git of the workspace: here there is none."""
        return NO_DEEDS

    async def look(self, landed: Sequence[Commit], left: Commit | None = None, meant: Meant | None = None) -> Branch:
        """The run branch beside what the journal says was landed on it."""
        if self._head is None:
            return Branch(tip=None, written=self._written, missing=tuple(landed))
        line = list(self._line(self._head, until=""))
        before = set(self._line(self._written or "", until=""))
        ours = {commit: step for (step, _), commit in self._landings.items()}
        return Branch(
            tip=self._head,
            written=self._written,
            missing=tuple(commit for commit in landed if commit not in line),
            foreign=tuple((c, self._commits[c].message) for c in line if c not in ours and c not in before),
            unknown=tuple((ours[c], c, self._commits[c].tree) for c in line if c in ours and c not in landed),
            set_back=self._written is not None and self._written not in line,
        )

    async def settle_branch(self, seen: Branch, to: Commit) -> str:
        """Let the branch stand at `to` from here on, if it is still as it was seen."""
        if seen.tip != self._head:
            return "the run branch moved again"
        if self.checked_out and to != self._head:
            return f"the run branch is checked out at {self.checked_out!r}"
        self._head = self._written = to
        return ""

    def move_branch(self, to: Commit | None) -> None:
        """What somebody else does to the branch."""
        self._head = to

    def commit_foreign(self, message: str) -> Commit:
        """Somebody else's commit on the branch."""
        tip = self._tip()
        self._head = self._add(FakeCommit(parent=tip, tree=self._commits[tip].tree, message=message, step=NO_STEP))
        return self._head

    async def retire(self, step: StepId, label: str) -> Commit | None:
        """Take the workspace of a step away that is not worked on any more, once what is in it is kept."""
        kept, base = None, self._bases.get(step)
        if base is not None and self.path(step).is_dir():
            tree = self._read(step, base, whole=False)
            if tree != self._commits[base].tree:
                kept = await self.keep(step, label, tree, base=base)
        await self.remove(step)
        return kept

    async def reopen(self, step: StepId, label: str, *, base: Commit) -> None:
        """Make a workspace again that was retired, with what was kept of it under the label."""
        await self.prepare(step, base)
        if (step, label) in self.kept:
            await self.restore(step, self._commits[self.kept[step, label]].tree)

    async def release(self, step: StepId) -> None:
        """Nobody gets it: here nothing is left for the next step."""
        await self.remove(step)

    async def drop_released(self) -> None:
        """Nothing is left when it is released."""

    def list_places(self) -> Mapping[Path, StepId | None]:
        """The folders of all workspaces that are there, each with its step."""
        found = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        return {path: StepId(unquote(path.name)) for path in found if path.is_dir()}

    async def remove(self, step: StepId) -> None:
        """Take the workspace away once its work is kept elsewhere; nothing happens if there is none."""
        shutil.rmtree(self.path(step), ignore_errors=True)

    def log(self) -> list[tuple[Commit, StepId]]:
        """The landings on the branch, oldest first."""
        line = [(made, self._commits[made].step) for made in self._line(self._tip(), until="")]
        return [(made, step) for made, step in reversed(line) if step != NO_STEP]

    def history(self) -> list[Commit]:
        """Every commit on the branch, newest first."""
        return list(self._line(self._tip(), until=""))

    def files(self, commit: Commit) -> dict[str, str]:
        """The files of a commit as text."""
        return {path: text.decode("utf-8", "replace") for path, text in self._trees[self._commits[commit].tree].items()}

    def message(self, commit: Commit) -> str:
        """The message a commit was made with."""
        return self._commits[commit].message

    def _tip(self) -> Commit:
        if self._head is None:
            raise LookupError("start() comes first: there is no run branch yet")
        return self._head

    def _line(self, tip: str, *, until: str) -> Iterator[Commit]:
        at = tip
        while at not in ("", until):
            yield Commit(at)
            at = self._commits[Commit(at)].parent

    def _is_spared(self, path: str) -> bool:
        return any(path == spared or path.startswith(f"{spared}/") for spared in self._spared)

    def _store(self, files: Files) -> Tree:
        entries = [(path, hashlib.sha256(files[path]).hexdigest()) for path in sorted(files)]
        tree = Tree(digest_value("tree", entries))
        self._trees[tree] = dict(files)
        return tree

    def _add(self, record: FakeCommit) -> Commit:
        commit = Commit(digest_value("commit", [record.parent, record.tree, record.message, record.step]))
        self._commits[commit] = record
        return commit
