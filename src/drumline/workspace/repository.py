"""The user's repository, as found from where they stand. Only reads: checkout, index and refs stay as they are."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from drumline.core.ids import Commit
from drumline.errors import GitError, InvalidInput
from drumline.patterns import compile_late
from drumline.record import Record
from drumline.workspace.absorbed import is_absorbed
from drumline.workspace.git import UNASKED, ask_git

_ABSOLUTE = "--path-format=absolute"
_PLACES = ("--is-inside-work-tree", _ABSOLUTE, "--show-toplevel", "--git-common-dir")
_HEAD = compile_late(r"(?:ref: refs/heads/\S+|[0-9a-f]{40,64})\n")
_UNUSUAL = compile_late(r"worktree|include|\\|bare\s*=(?!\s*false\b)", re.IGNORECASE)
"""What a repository's configuration says if its checkout may be elsewhere, or if that cannot be told from it alone."""
MOST_BYTES = 1_000_000
HALF_DONE = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")
"""What git keeps in a checkout while something is half done there."""


class Repository(Record):
    """A git repository seen from one of its checkouts: `top` is that checkout, `common_dir` what all of them share."""

    top: Path
    common_dir: Path
    name: str

    @property
    def state_dir(self) -> Path:
        """Where the journal and the runs' files live: `git clean` cannot reach it, linked worktrees share it."""
        return self.common_dir / "drumline"

    def worktrees_root(self, configured: Path | None = None) -> Path:
        """The folder for workspaces: the configured one, or one of this repository's own under the user's state."""
        if configured is not None:
            return (self.top / configured.expanduser()).resolve()
        return self.user_dir / "worktrees"

    @property
    def user_dir(self) -> Path:
        """What the user's state folder has for this repository: outside it, and one for all its worktrees."""
        stated = Path(os.environ.get("XDG_STATE_HOME", ""))
        state = stated if stated.is_absolute() else Path.home() / ".local" / "state"
        digest = hashlib.sha256(os.fsencode(self.common_dir.resolve())).hexdigest()[:8]
        return state.resolve() / "drumline" / f"{self.name}-{digest}"

    def head_commit(self) -> Commit:
        """The commit the checkout stands on, on a branch or detached."""
        found = self._find_head()
        if not found:
            raise InvalidInput(
                f"the repository {str(self.top)!r} has no commit yet: a run starts from a commit",
                hint="git commit --allow-empty -m start",
            )
        return Commit(found)

    def has_commit(self) -> bool:
        """Whether there is a commit yet."""
        return bool(self._find_head())

    def _find_head(self) -> str:
        return self.find_commit("HEAD") or ""

    def find_commit(self, name: str) -> Commit | None:
        """The commit that a name stands for; None if there is none."""
        found = ask_git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", cwd=self.top, accept=(0, 1))
        return Commit(found.line) if found.line else None

    def list_files(self) -> list[str]:
        """The files of the checkout's commit, relative to its top; none if there is no commit yet."""
        words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD")
        found = ask_git(*words, cwd=self.top, accept=(0, 128))
        return ask_git(*words, cwd=self.top).items if found.code and self.has_commit() else found.items

    def read_file(self, path: str) -> str | None:
        """A file as the checkout's commit has it; None if it is not there, not a text, or nobody wrote it by hand."""
        size = ask_git("cat-file", "-s", f"HEAD:{path}", cwd=self.top, accept=(0, 128))
        if size.code or int(size.line) > MOST_BYTES:
            return None
        try:
            return ask_git("cat-file", "blob", f"HEAD:{path}", cwd=self.top).out.decode("utf-8")
        except (UnicodeDecodeError, GitError):
            return None

    def list_ignored(self, paths: Sequence[str]) -> frozenset[str]:
        """Those of the paths that git ignores."""
        if not paths:
            return frozenset()
        given = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
        found = ask_git("check-ignore", "-z", "--stdin", cwd=self.top, accept=(0, 1), given=given)
        return frozenset(found.items)

    def branch_name(self) -> str:
        """The branch that is checked out; empty if none is."""
        return ask_git("symbolic-ref", "--quiet", "--short", "HEAD", cwd=self.top, accept=(0, 1)).line

    def default_branch(self) -> str:
        """The branch that others see first: what the remote says, else how git names new ones; empty if unknown."""
        remote = self.remote_name()
        ref = f"refs/remotes/{remote}/HEAD"
        found = ask_git("symbolic-ref", "--quiet", ref, cwd=self.top, accept=(0, 1)).line if remote else ""
        named = found.removeprefix(f"refs/remotes/{remote}/")
        return named or ask_git("config", "init.defaultBranch", cwd=self.top, accept=(0, 1)).line

    def find_oddity(self) -> str:
        """What of the checkout cannot be worked on in place; empty if it can."""
        asked = ("--bool", "--get", "core.sparseCheckout")  # by place: what we say ourselves is none
        told = [ask_git("config", place, *asked, cwd=self.top, accept=(0, 1)) for place in ("--local", "--worktree")]
        if any(answer.line == "true" for answer in told):
            return "a sparse checkout"
        folder = Path(ask_git("rev-parse", "--absolute-git-dir", cwd=self.top).line)
        begun = [name for name in HALF_DONE if (folder / name).exists()]
        if begun:
            return f"a checkout where git has not finished ({begun[0]})"
        return "a repository that keeps its refs in tables" if (self.common_dir / "reftable").is_dir() else ""

    def is_free(self, branch: str) -> bool:
        """Whether a branch of this name can be made: it is a name, and no branch is in its way."""
        named = ask_git("check-ref-format", f"refs/heads/{branch}", cwd=self.top, accept=(0, 1))
        if named.code or branch.startswith("-"):
            return False
        parts = branch.split("/")
        above = ["/".join(parts[:count]) for count in range(1, len(parts))]
        listed = ask_git("for-each-ref", "--format=%(refname)", "refs/heads/", cwd=self.top).line.splitlines()
        names = [ref.removeprefix("refs/heads/") for ref in listed]
        return not any(name == branch or name in above or name.startswith(f"{branch}/") for name in names)

    def remote_name(self) -> str:
        """`origin`, or the only remote; empty if there is none."""
        names = ask_git("remote", cwd=self.top).line.split("\n")
        name = "origin" if "origin" in names else names[0]
        return "" if name != "origin" and len(names) > 1 else name

    def remote_url(self) -> str:
        """The address of `origin`, or of the only remote; empty if there is none."""
        name = self.remote_name()
        return ask_git("remote", "get-url", name, cwd=self.top, accept=(0, 2, 128)).line if name else ""

    def list_changed(self) -> list[str]:
        """Tracked paths that differ from HEAD, in the index or the work tree."""
        told = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=no", UNASKED)
        return [entry[3:] for entry in ask_git("status", *told, cwd=self.top).items]

    def contains(self, commit: Commit) -> bool:
        """Whether the checkout's commit has `commit` in its history, or its work; an unknown commit is not there."""
        found = ask_git("merge-base", "--is-ancestor", commit, "HEAD", cwd=self.top, accept=(0, 1, 128))
        return found.code == 0 or (found.code == 1 and is_absorbed(commit, into="HEAD", cwd=self.top))

    def paths_at(self, commit: Commit) -> frozenset[str]:
        """The paths of all files of a commit; none if it is not there."""
        found = ask_git("ls-tree", "-r", "-z", "--name-only", commit, cwd=self.top, accept=(0, 128))
        return frozenset(found.items) if found.code == 0 else frozenset()

    def last_change(self, paths: Sequence[str]) -> Commit | None:
        """The newest commit of the checkout that changed one of these paths; None if no commit has them."""
        literal = [f":(top,literal){path}" for path in paths]
        found = ask_git("log", "-1", "--format=%H", "--", *literal, cwd=self.top).line if literal else ""
        return Commit(found) if found else None

    def changed_since(self, commit: Commit, *, besides: Collection[Commit]) -> frozenset[str]:
        """The paths that commits since this one changed, without those of the commits in `besides`."""
        if not besides:
            told = ask_git("diff", "-z", "--name-only", "--no-renames", commit, "HEAD", cwd=self.top, accept=(0, 128))
            return frozenset(told.items) if told.code == 0 else frozenset()
        found = ask_git("rev-list", "--no-merges", f"{commit}..HEAD", cwd=self.top, accept=(0, 128))
        others = [line for line in found.line.split("\n") if line and line not in besides] if found.code == 0 else []
        shown = (ask_git("show", "-z", "--format=", "--name-only", other, cwd=self.top) for other in others)
        return frozenset(path for one in shown for path in one.items)

    def is_on_a_branch(self, commit: Commit) -> bool:
        """Whether a branch, here or as last seen elsewhere, or a tag has the commit."""
        asked = (
            "--count=1",
            "--format=%(refname)",
            f"--contains={commit}",
            "refs/heads/",
            "refs/remotes/",
            "refs/tags/",
        )
        found = ask_git("for-each-ref", *asked, cwd=self.top, accept=(0, 1, 128, 129))
        return found.code == 0 and bool(found.line)

    def mentions(self, commit: Commit, word: str, *, outside: Collection[str]) -> bool:
        """Whether a file of the commit has this word; the paths in `outside` are not looked at."""
        spared = [exclude_path(path) for path in outside]
        found = ask_git("grep", "-qwF", "-e", word, commit, "--", ".", *spared, cwd=self.top, accept=(0, 1, 128))
        return found.code == 0

    def uncommitted(self, exclude: Sequence[str] = ()) -> list[str]:
        """Paths that differ from HEAD or are untracked, without those in or below `exclude`."""
        spared = [exclude_path(path) for path in exclude]
        status = ask_git("status", "--porcelain=v1", "-z", "--no-renames", UNASKED, "--", ".", *spared, cwd=self.top)
        return [entry[3:] for entry in status.items]


def exclude_path(path: str) -> str:
    """The pathspec that leaves out `path` and what is below it, whatever characters it is made of."""
    return f":(top,exclude,literal){path}"


def exclude_pattern(pattern: str) -> str:
    """The pathspec that leaves out what the glob pattern matches."""
    return f":(top,exclude,glob){pattern}"


def find_repository(start: Path) -> Repository:
    """Find the repository whose checkout contains `start`: a subfolder and a linked worktree will do."""
    if not start.is_dir():
        raise InvalidInput(f"{str(start)!r} is not a folder", hint="cd into a git repository")
    plain = _find_plain(start.resolve())
    if plain is not None:
        return Repository(top=plain, common_dir=plain / ".git", name=plain.name or "repository")
    try:
        found = ask_git("rev-parse", *_PLACES, cwd=start, accept=(0, 128))
        inside, *places = found.line.split("\n")
        if found.code and inside != "false":
            raise GitError(f"git rev-parse failed: {found.err}", hint="drumline doctor")
    except GitError as error:
        raise _explain_absence(start, error) from error
    if inside != "true":
        raise InvalidInput(
            f"{str(start)!r} is in a git repository but not in a checkout of it: steps need a checkout to start from",
            hint="git worktree add ../checkout",
        )
    if len(places) != 2:  # a path with a line end in it: they are asked for one by one
        places = [ask_git("rev-parse", _ABSOLUTE, place, cwd=start).line for place in _PLACES[-2:]]
    top, common_dir = (Path(place).resolve() for place in places)
    return Repository(top=top, common_dir=common_dir, name=_name(common_dir))


def _find_plain(start: Path) -> Path | None:
    """The top of the checkout as git would find it, without starting git; None if anything is unusual about it.

    Unusual are: a linked worktree, a bare repository, files of another user, another file system on the way up, and
    a configuration that moves the checkout or includes other files.
    """
    try:
        device, user = start.stat().st_dev, os.geteuid()
        for folder in (start, *start.parents):
            own = folder / ".git"
            if (folder / "HEAD").exists() or own.is_symlink() or own.is_file():
                return None
            if own.is_dir():
                told = (folder.stat(), own.stat())
                usual = all(one.st_uid == user and one.st_dev == device for one in told) and _is_usual(own)
                return folder if usual else None
    except (OSError, UnicodeDecodeError):
        pass
    return None


def _is_usual(folder: Path) -> bool:
    """Whether this is the `.git` of a checkout whose configuration says nothing about where the checkout is."""
    head, config = ((folder / name).read_text(encoding="utf-8") for name in ("HEAD", "config"))
    whole = (folder / "objects").is_dir() and (folder / "refs").is_dir() and _HEAD.fullmatch(head) is not None
    return whole and _UNUSUAL.search(config) is None and "bare = false" in config


def _name(common_dir: Path) -> str:
    plain = common_dir.parent.name if common_dir.name == ".git" else common_dir.name.removesuffix(".git")
    return plain or "repository"


def _explain_absence(start: Path, error: GitError) -> InvalidInput:
    if "dubious ownership" in str(error):
        return InvalidInput(
            f"git does not trust the owner of {str(start)!r}",
            hint=f"git config --global --add safe.directory {start}",
        )
    if "not a git repository" in str(error):
        return InvalidInput(f"{str(start)!r} is not in a git repository", hint="git init")
    return InvalidInput(str(error), hint=error.hint)
