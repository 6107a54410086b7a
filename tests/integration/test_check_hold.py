"""How a check is held: what it sees, where it can write, and what stays of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.supervision import supervise

from drumline.agents import checkhold
from drumline.agents.checkhold import CheckHold
from drumline.agents.jail import find_jail
from drumline.agents.layers import find_way
from drumline.core.checkenv import choose_environment
from drumline.core.checkfailure import CheckFailure
from drumline.engine.nodes.check import Checked, run_check
from drumline.record import Record

JAIL = find_jail()
SECRET = "hush-hush-4711"  # noqa: S105 - a made-up one
needs_jail = pytest.mark.skipif(JAIL is None, reason="bubblewrap does not work here")
needs_layers = pytest.mark.skipif(
    JAIL is None or find_way(JAIL.list_words()) is None, reason="overlays cannot be made here"
)


class Ground(Record):
    """A home, a checkout with a repository, and a worktree of it outside."""

    home: Path
    checkout: Path
    work: Path
    folder: Path

    def run(self, command: str, environ: Mapping[str, str], *, folder: Path | None = None, **options: Any) -> Checked:
        """Run a check in the worktree, or in another folder."""
        found = choose_environment({**environ, "HOME": str(self.home)}, checkout=str(self.checkout))
        hold = CheckHold(
            found,
            checkout=self.checkout,
            common=self.checkout / ".git",
            choose_jail=lambda: JAIL,
            **options,
        )
        logs = self.checkout / ".git/drumline/runs/r/step-1"
        logs.mkdir(parents=True, exist_ok=True)

        async def run() -> Checked:
            log = logs / "check.log"
            return await run_check(
                command, supervise(self.folder), folder=folder or self.work, log=log, timeout=60, hold=hold
            )

        return anyio.run(run)


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    home, checkout = tmp_path / "home", tmp_path / "home/project"
    checkout.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    (checkout / "app.py").write_text("NAME = 'of the checkout'\n")
    git(checkout, "init", "-q")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "first")
    git(checkout, "worktree", "add", "-q", "--detach", str(home / "state/work"))
    return Ground(home=home, checkout=checkout, work=home / "state/work", folder=tmp_path)


def git(folder: Path, *words: str) -> str:
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    return subprocess.run(["git", *person, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@needs_layers
def test_a_check_writes_to_the_home_and_nothing_of_it_stays(ground: Ground) -> None:
    (ground.home / ".cargo").mkdir()
    (ground.home / ".cargo/cache").write_text("warm\n")

    first = ground.run("cat ~/.cargo/cache && echo new > ~/.cargo/cache && mkdir ~/.m2 && cat ~/.cargo/cache", {})
    second = ground.run("cat ~/.cargo/cache && ! test -e ~/.m2", {})

    assert (first.exit_code, first.output) == (0, "warm\nnew\n")
    assert (second.exit_code, second.output) == (0, "warm\n")
    assert (ground.home / ".cargo/cache").read_text() == "warm\n"
    assert not (ground.home / ".m2").exists()


@needs_jail
def test_without_layers_caches_are_granted_and_the_rest_of_the_home_can_only_be_read(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkhold, "find_way", lambda words: None)
    (ground.home / ".cache").mkdir()

    found = ground.run("echo a > ~/.cache/a; echo b > ~/.bashrc", {})

    assert found.exit_code == 1
    assert "Read-only file system" in found.output
    assert (ground.home / ".cache/a").read_text() == "a\n"
    assert not (ground.home / ".bashrc").exists()


@needs_jail
def test_a_check_writes_to_its_worktree_for_good(ground: Ground) -> None:
    found = ground.run("mkdir -p build && echo x > build/out", {})

    assert found.exit_code == 0, found.output
    assert (ground.work / "build/out").read_text() == "x\n"


@needs_jail
def test_credentials_logins_and_records_of_runs_are_not_there(ground: Ground) -> None:
    (ground.home / ".ssh").mkdir()
    (ground.home / ".ssh/id_ed25519").write_text(SECRET)
    (ground.home / ".claude").mkdir()
    (ground.home / ".claude/.credentials.json").write_text(SECRET)
    (ground.home / "notes.txt").write_text(SECRET)
    records = ground.checkout / ".git/drumline/runs/r/step-1"
    records.mkdir(parents=True)
    (records / "prompt.md").write_text(SECRET)

    found = ground.run(
        f"cat ~/.ssh/id_ed25519 ~/.claude/.credentials.json ~/notes.txt {records}/prompt.md; true",
        {},
        hide=[str(ground.home / "notes.txt")],
    )

    assert found.exit_code == 0
    assert SECRET not in found.output


def test_a_credential_in_a_variable_is_not_there_with_or_without_a_jail(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"MY_TOKEN": SECRET, "MY_WORD": "plain"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    held = ground.run("echo [$MY_TOKEN] $MY_WORD", environ)
    monkeypatch.setattr(CheckHold, "_jail", None)
    unheld = ground.run("echo [$MY_TOKEN] $MY_WORD", environ)

    assert held.output == "[] plain\n"
    assert unheld.output == "[] plain\n"


@needs_jail
def test_code_of_the_checkout_cannot_be_loaded(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ground.checkout))
    (ground.work / "app.py").unlink()

    by_variable = ground.run("python3 -c 'import app'", {"PYTHONPATH": str(ground.checkout)})
    by_path = ground.run(f"python3 {ground.checkout}/app.py", {})

    assert "No module named 'app'" in by_variable.output
    assert by_path.exit_code != 0


@needs_layers
def test_git_works_in_a_check_and_the_repository_stays_as_it_is(ground: Ground) -> None:
    before = git(ground.checkout, "rev-list", "--all", "--count")

    person = "git -c user.name=x -c user.email=x@example.org"
    found = ground.run(f"git status && {person} commit -q --allow-empty -m mine && git branch mine && git log -1", {})

    assert found.exit_code == 0, found.output
    assert "mine" in found.output
    assert git(ground.checkout, "rev-list", "--all", "--count") == before
    assert "mine" not in git(ground.checkout, "branch", "--list")


@needs_jail
def test_what_is_granted_can_be_written_to(ground: Ground) -> None:
    granted = ground.folder / "granted"
    granted.mkdir()

    found = ground.run(f"echo x > {granted}/x", {}, folders=[str(granted)])

    assert found.exit_code == 0, found.output
    assert (granted / "x").read_text() == "x\n"


@needs_jail
def test_nothing_that_a_check_needs_for_itself_stays_on_the_disk(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    temp = ground.folder / "temp"
    temp.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temp))

    found = ground.run("echo x > ~/x; mktemp -d; rm -rf ~/project; echo $TMPDIR", {})

    assert found.exit_code == 0, found.output
    assert list(temp.iterdir()) == []
    assert [path.name for path in (ground.checkout / ".git/drumline/runs/r/step-1").iterdir()] == ["check.log"]


@needs_jail
@pytest.mark.parametrize(("command", "killed"), [("kill -9 $$", True), ("kill -SEGV $$", False), ("exit 1", False)])
def test_a_check_that_is_killed_in_the_jail_is_known_to_be(ground: Ground, command: str, killed: bool) -> None:
    found = ground.run(command, {})

    assert found.cause is not None
    assert (found.cause.failure is CheckFailure.KILLED) is killed


@needs_jail
def test_a_check_in_a_part_of_the_checkout_works_on_all_of_it_but_what_makes_git_start_programs(ground: Ground) -> None:
    part = ground.checkout / "part"
    part.mkdir()
    hook = ".git/hooks/pre-commit"

    found = ground.run(f"cat ../app.py && echo x > ../made && git status && echo x > ../{hook}", {}, folder=part)

    assert "of the checkout" in found.output
    assert (ground.checkout / "made").read_text() == "x\n"
    assert found.exit_code == 1, found.output
    assert not (ground.checkout / hook).exists()


@pytest.fixture
def linked(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """The project is installed as a link to the checkout, in an environment of the person's."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(ground.home / "venv")], check=True)
    packages = next((ground.home / "venv/lib").glob("python*/site-packages"))
    (packages / "__editable__.app.pth").write_text(f"{ground.checkout}\n")
    monkeypatch.setenv("PATH", f"{ground.home}/venv/bin:{os.environ['PATH']}")
    for top in (ground.checkout, ground.work):
        (top / "tests").mkdir()
        (top / "tests/test_app.py").write_text("import app\n")
    return ground


ONLY_TESTS = "cd tests && python3 -m unittest -q test_app 2>&1"
"""As `pytest` without `python -m` does it: the folder of the tests is looked in, and the one above is not."""


def test_code_that_was_loaded_from_the_checkout_is_named(linked: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CheckHold, "_jail", None)

    from_checkout = linked.run(ONLY_TESTS, {})
    from_tree = linked.run("python3 -c 'import app'", {})
    in_checkout = linked.run("python3 -c 'import app'", {}, folder=linked.checkout)
    granted = linked.run(ONLY_TESTS, {}, folders=[str(linked.checkout / "app.py")])

    assert from_checkout.outside == ("app.py",)
    assert from_tree.outside == in_checkout.outside == granted.outside == ()


def test_packages_of_others_that_the_checkout_holds_are_not_its_code(
    linked: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CheckHold, "_jail", None)
    place = linked.checkout / ".venv/lib/python3/site-packages"
    place.mkdir(parents=True)
    (place / "theirs.py").write_text("")

    found = linked.run(f"PYTHONPATH=$PYTHONPATH:{place} python3 -c 'import theirs'", {})

    assert (found.exit_code, found.outside) == (0, ())


@needs_jail
def test_a_project_that_is_installed_as_a_link_to_the_checkout_is_a_missing_package(linked: Ground) -> None:
    hidden = linked.run(ONLY_TESTS, {})
    (linked.work / "tests/test_app.py").write_text("import app.part\n")
    part = linked.run("python3 -c 'import app.part'", {})

    assert hidden.cause is not None
    assert hidden.cause.failure is CheckFailure.PACKAGE, hidden.output
    assert part.cause is not None
    assert part.cause.failure is CheckFailure.WORK


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here")
@pytest.mark.parametrize("line", ["require('own')", "import('own')"])
def test_node_tells_which_code_of_the_checkout_it_loaded(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(CheckHold, "_jail", None)
    for top in (ground.checkout, ground.work):
        (top / "packages/own").mkdir(parents=True)
        (top / "packages/own/index.js").write_text("module.exports = 1;\n")
    (ground.work / "node_modules").mkdir()
    link = ground.work / "node_modules/own"

    link.symlink_to("../packages/own")
    from_tree = ground.run(f'node -e "{line}"', {})
    link.unlink()
    link.symlink_to(ground.checkout / "packages/own")
    from_checkout = ground.run(f'node -e "{line}"', {})

    assert (from_tree.exit_code, from_tree.outside) == (0, ())
    assert (from_checkout.exit_code, from_checkout.outside) == (0, ("packages/own/index.js",))
