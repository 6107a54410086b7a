"""What is known of a workspace's index is not asked again; what an agent, a check or another driver does is seen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from drumline.core.ids import Commit, RunId, StepId
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces

STEP = StepId("step-1")
WHO = ("-c", "user.name=u", "-c", "user.email=u@example.org")


def git(where: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=where, check=True, capture_output=True, text=True).stdout.strip()


class Project:
    """A repository, and the workspaces of one run in it."""

    def __init__(self, folder: Path) -> None:
        self.top, self.root = folder / "repo", folder / "worktrees"
        (self.top / "vendor").mkdir(parents=True)
        git(self.top, "init", "-q", "-b", "main")
        for name, text in (("a.txt", "a\n"), ("b.txt", "b\n"), ("vendor/one", "1\n"), (".gitignore", "vendor\n")):
            (self.top / name).write_text(text)
        git(self.top, "add", "-A", "-f")
        git(self.top, *WHO, "commit", "-qm", "first")
        self.base = Commit(git(self.top, "rev-parse", "HEAD"))

    def open(self) -> GitWorkspaces:
        return GitWorkspaces(find_repository(self.top), run=RunId("r1"), branch="drumline/r1", root=self.root)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for key in [key for key in os.environ if key.startswith("GIT_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Project(tmp_path)


def change_in_secret(where: Path) -> None:
    times = (where / "a.txt").stat()
    (where / "a.txt").write_text("x\n")
    os.utime(where / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))


def make_executable(where: Path) -> None:
    (where / "a.txt").chmod(0o755)


def link_folder_to_a_copy(where: Path) -> None:
    """Every file can be read as before, and git ignores the link."""
    shutil.move(where / "vendor", where.parent / "copy")
    (where / "vendor").symlink_to(where.parent / "copy")


def write_new(where: Path) -> None:
    (where / "new\nname").write_text("x")


def remove_one(where: Path) -> None:
    (where / "a.txt").unlink()


def make_repository(where: Path) -> None:
    git(where, "clone", "-q", str(where.parent.parent.parent / "repo"), "inner")
    shutil.rmtree(where / "inner" / "vendor")


DEEDS: list[tuple[Callable[[Path], None], dict[str, str]]] = [
    (change_in_secret, {"a.txt": "modified"}),
    (make_executable, {"a.txt": "modified"}),
    (link_folder_to_a_copy, {"vendor/one": "deleted"}),
    (write_new, {"new\nname": "created"}),
    (remove_one, {"a.txt": "deleted"}),
    (make_repository, {"inner/.gitignore": "created", "inner/a.txt": "created", "inner/b.txt": "created"}),
]


@pytest.mark.parametrize(("deed", "told"), DEEDS, ids=[deed.__name__ for deed, _ in DEEDS])
def test_what_a_check_does_after_one_that_did_nothing_is_seen(
    project: Project, deed: Callable[[Path], None], told: dict[str, str]
) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(STEP, project.base)
        (spaces.path(STEP) / "b.txt").write_text("work\n")
        tree = await spaces.snapshot(STEP, base=project.base)
        await spaces.changed(project.base, tree)
        assert await spaces.clean(STEP, tree, base=project.base) == {}

        deed(spaces.path(STEP))

        assert await spaces.clean(STEP, tree, base=project.base) == told
        assert await spaces.clean(STEP, tree, base=project.base) == {}

    anyio.run(body)


def test_an_index_that_another_driver_has_written_is_not_believed(project: Project) -> None:
    async def body() -> None:
        ours, theirs = project.open(), project.open()
        await ours.prepare(STEP, project.base)
        tree = await ours.snapshot(STEP, base=project.base)
        await ours.changed(project.base, tree)
        (ours.path(STEP) / "new.txt").write_text("x")

        await theirs.snapshot(STEP, base=project.base)

        assert await ours.clean(STEP, tree, base=project.base) == {"new.txt": "created"}

    anyio.run(body)


def arm(repository: Path, trace: Path) -> None:
    """Have every git that looks at the files of a repository leave a trace: by a filter in its own configuration."""
    git(repository, "config", "filter.armed.clean", f"sh -c 'touch {trace}; cat'")
    (repository / ".gitattributes").write_text("* filter=armed\n")
    os.utime(repository / "a.txt", (1, 1))


@pytest.mark.parametrize("place", ["lib", "a.txt"])
def test_no_program_is_started_that_a_repository_names_which_the_work_has_added(
    project: Project, tmp_path: Path, place: str
) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(STEP, project.base)
        where = spaces.path(STEP)
        (where / ".gitmodules").write_text(f'[submodule "lib"]\n\tpath = {place}\n\turl = ./lib\n')
        if (where / place).exists():
            (where / place).unlink()
        git(where, "clone", "-q", str(project.top), place)
        tree = await spaces.snapshot(STEP, base=project.base)
        assert git(project.top, "ls-tree", tree, place).startswith("160000")
        await spaces.changed(project.base, tree)
        arm(where / place, tmp_path / "trace")

        changed = await spaces.clean(STEP, tree, base=project.base)

        assert not (tmp_path / "trace").exists()
        assert changed == {}

    anyio.run(body)


@pytest.mark.parametrize("outside", [False, True])
def test_no_compiled_module_outlives_the_tree_that_it_was_made_from(
    project: Project, tmp_path: Path, outside: bool
) -> None:
    """Python knows a compiled module by the time, in seconds, and the size of its source."""

    def ask(where: Path) -> str:
        os.utime(where / "mod.py", (1, 1))
        words = [sys.executable, "-c", "import mod; print(mod.x)"]
        env = {"PATH": os.environ["PATH"]}
        return subprocess.run(words, cwd=where, check=True, capture_output=True, text=True, env=env).stdout.strip()

    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(STEP, project.base)
        where, cache = spaces.path(STEP), tmp_path / "cache"
        (where / ".gitignore").write_text("__pycache__\n")
        if outside:
            cache.mkdir()
            (where / "__pycache__").symlink_to(cache)
        (where / "mod.py").write_text("x = 1\n")
        before = await spaces.snapshot(STEP, base=project.base)
        (where / "mod.py").write_text("x = 2\n")
        after = await spaces.snapshot(STEP, base=project.base)
        assert ask(where) == "2"
        kept = list(cache.glob("*"))

        await spaces.switch(STEP, before, tidy=False)

        if outside:
            assert list(cache.glob("*")) == kept != []
            return
        assert ask(where) == "1"
        await spaces.switch(STEP, after, tidy=True)
        assert ask(where) == "2"

    anyio.run(body)
