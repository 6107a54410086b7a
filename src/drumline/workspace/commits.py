"""Commits made with plumbing: no hooks, no signing. Dates are data: the same work is the same commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from drumline.core.ids import Commit, RunId, StepId, Tree
from drumline.core.seal import TRAILER
from drumline.record import Record
from drumline.workspace.git import Git


class Signature(Record):
    """Who and when; `date` is seconds since the epoch and an offset, as git stores it."""

    name: str
    email: str
    date: str

    def variables(self, role: str) -> dict[str, str]:
        """As the environment variables of `role` (AUTHOR or COMMITTER)."""
        return {f"GIT_{role}_NAME": self.name, f"GIT_{role}_EMAIL": self.email, f"GIT_{role}_DATE": f"@{self.date}"}


class Made(Record):
    """A commit as read from the repository."""

    id: Commit
    tree: Tree
    parents: tuple[str, ...]
    author: Signature
    committed: int
    message: str


_FORMAT = "%H%x00%T%x00%P%x00%an%x00%ae%x00%ad%x00%ct%x00%B%x00"
_FIELDS = _FORMAT.count("%x00")


async def read_commits(git: Git, *revisions: str) -> list[Made]:
    """The commits that the arguments of `rev-list` select, newest first."""
    listed = await git.run("rev-list", "--no-commit-header", "--date=raw", f"--format={_FORMAT}", *revisions, "--")
    fields = listed.out.decode("utf-8", "replace").split("\0")[:-1]
    return [_parse(fields[at : at + _FIELDS]) for at in range(0, len(fields), _FIELDS)]


async def read_commit(git: Git, commit: str) -> Made:
    """One commit."""
    known = recall_commit(git, commit)
    if known is not None:
        return known
    (made,) = await read_commits(git, "--max-count=1", commit)
    git.facts["commit", made.id] = made
    return made


def recall_commit(git: Git, commit: str) -> Made | None:
    """A commit that this process has made or read."""
    known: Made | None = git.facts.get(("commit", commit))
    return known


def find_tree(git: Git, commit: str) -> Tree | None:
    """The tree of a commit that this process has made or read."""
    known = recall_commit(git, commit)
    return known.tree if known is not None else None


def _parse(fields: Sequence[str]) -> Made:
    commit, tree, parents, name, email, date, committed, message = fields
    return Made(
        id=Commit(commit.strip()),
        tree=Tree(tree),
        parents=tuple(parents.split()),
        author=Signature(name=name, email=email, date=date),
        committed=int(committed),
        message=message,
    )


async def read_identity(git: Git, *, when: int) -> Signature:
    """The user's configured name and address, or ours if git has none."""
    key = ("identity", "")
    if key not in git.facts:
        git.facts[key] = await _find_identity(git)
    name, email = git.facts[key]
    return Signature(name=name, email=email, date=f"{when} +0000")


async def _find_identity(git: Git) -> tuple[str, str]:
    listed = await git.run("config", "-z", "--get-regexp", r"^user\.(name|email)$", accept=(0, 1))
    known: Mapping[str, str] = dict(item.partition("\n")[::2] for item in listed.items)
    name, email = known.get("user.name", ""), known.get("user.email", "")
    # Git refuses a name without a single letter; a run must not end on that.
    usable = email.strip() and any(letter.isalnum() for letter in name)
    return (name, email) if usable else ("Drumline", "drumline@localhost")


async def make_commit(
    git: Git, tree: str, parents: Sequence[str], *, message: str, author: Signature, committer: Signature
) -> Commit:
    """Write a commit object; nothing points at it yet."""
    links = [word for parent in parents for word in ("-p", parent)]
    text = message.encode("utf-8", "replace")
    env = {**author.variables("AUTHOR"), **committer.variables("COMMITTER")}
    commit = Commit((await git.run("commit-tree", tree, *links, env=env, text=text)).line)
    git.facts["commit", commit] = Made(
        id=commit,
        tree=Tree(tree),
        parents=tuple(parents),
        author=author,
        committed=int(committer.date.partition(" ")[0]),
        message=text.decode(),
    )
    return commit


def sign_message(message: str, *, run: RunId, step: StepId, journal: str = "") -> str:
    """The message with our trailers as its last paragraph, whatever its text pretends."""
    body = message.replace("\0", "\N{REPLACEMENT CHARACTER}").strip() or f"Step {_one_line(step)}"
    sealed = f"\n{TRAILER}: {journal}" if journal else ""
    return f"{body}{_trailers(run, step)}{sealed}\n"


def _trailers(run: RunId, step: StepId) -> str:
    return f"\n\nDrumline-Run: {_one_line(run)}\nDrumline-Step: {_one_line(step)}"


def _one_line(name: str) -> str:
    return name if name.isprintable() else quote(name, safe="", errors="surrogateescape")
