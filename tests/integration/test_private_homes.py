"""An agent works on private copies of its homes: what it plants there is gone, what it may bring back comes back."""

from __future__ import annotations

import json
import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.integration.jailed import find_python, open_cell
from tests.integration.test_cli_agent import PLAIN, assign
from tests.supervision import supervise

from drumline.agents import PROGRAMS, load
from drumline.agents.acp_programs import find_own
from drumline.agents.cli import CliAgent
from drumline.agents.command import CommandAgent
from drumline.agents.jail import find_jail
from drumline.agents.program import Program
from drumline.isolation import homecopy
from drumline.isolation.contained import name_draft
from drumline.isolation.homes import Home, describe_home, find_place
from drumline.isolation.scratch import HOMES, clear_scratches
from drumline.isolation.tokens import Keeper, Login, write_manifest
from drumline.ports.agents import Outcome
from drumline.record import replace

NAMES = [name for name in PROGRAMS if name != "builtin"]
JAILED = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
EITHER_WAY = [pytest.param(True, marks=JAILED, id="jailed"), pytest.param(False, id="free")]
DONE = """echo '{"done": "ok"}'"""
LOGIN = {"oauth": {"accessToken": "a1", "refreshToken": "r1", "expiresAt": 1}}
TREE = {
    "settings.json": '{"hooks": {}}',
    "config.toml": "[mcp_servers]\n",
    "auth.json": '{"tokens": {"access_token": "a1"}}',
    "commands/mine.md": "mine",
    "skills/mine/SKILL.md": "mine",
    "plugins/mine/plugin.json": "{}",
}
PLANT = """
cd {home} || exit 3
echo '{{"hooks": {{"SessionStart": "evil"}}}}' > settings.json
echo '[mcp_servers.evil]' >> config.toml
rm -rf commands/mine.md
for folder in commands skills/evil plugins/evil hooks agents extensions; do
  mkdir -p $folder && echo evil > $folder/evil.md
done
ln -s {outside} linked
ln -sfn {outside} skills/mine
mkdir -p {records}
ln -s {outside}/secret.txt {records}/evil.jsonl
mkfifo {records}/pipe.jsonl
echo evil > {records}/evil.sh
"""


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home for the user of the test, and none of the programs' variables."""
    (tmp_path / "home" / "outside").mkdir(parents=True)
    (tmp_path / "home" / "outside" / "secret.txt").write_text("secret")
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def list_homes(name: str, *, jailed: bool) -> list[Home]:
    """The homes of an agent that are private."""
    program = load(name)
    assert isinstance(program, Program)
    return [home for home in map(describe_home, program.homes) if jailed or home.variable]


def open_plain(folder: Path, homes: Sequence[Home | str], *, jailed: bool, granted: tuple[str, ...] = ()) -> CliAgent:
    """An agent that runs its prompt with bash, and has these homes."""
    return CliAgent(
        program=replace(PLAIN, homes=tuple(homes), folders=granted),
        executable=Path("/bin/bash"),
        processes=supervise(folder),
        jail=find_jail() if jailed else None,
    )


def run_script(agent: CliAgent, folder: Path, script: str, **fields: Any) -> Outcome:
    """Let the agent run a script to its end."""
    return anyio.run(agent.work, assign(folder, f"{script}\n{DONE}", **fields))


def make_home(home: Home, files: Mapping[str, str] = TREE) -> Path:
    """The user's own, with something in it."""
    place = find_place(home)
    assert place
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


def name_place(home: Home, place: Path, *, jailed: bool) -> str:
    """The home as the program finds it."""
    below = "/".join(home.inside.split("/")[1:])
    return shlex.quote(str(place)) if jailed else f'"${home.variable}"/{below}'


def read_tree(folder: Path) -> dict[str, object]:
    """All that is below a folder: what files hold, and where links lead."""
    return {
        str(path.relative_to(folder)): path.readlink() if path.is_symlink() else path.is_dir() or path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("jailed", EITHER_WAY)
@pytest.mark.parametrize("name", NAMES)
def test_what_an_agent_plants_in_its_homes_is_gone(name: str, jailed: bool, tmp_path: Path) -> None:
    homes = list_homes(name, jailed=jailed)
    script = "\n".join(
        PLANT.format(
            home=name_place(home, make_home(home), jailed=jailed),
            outside=tmp_path / "home" / "outside",
            records=next((pattern.rpartition("/")[0].replace("*", "x") for pattern in home.returned), "records"),
        )
        for home in homes
    )
    before = read_tree(tmp_path / "home")

    outcome = run_script(open_plain(tmp_path, homes, jailed=jailed), tmp_path, script)

    assert (outcome.failure, outcome.message) == ("", "ok")
    assert read_tree(tmp_path / "home") == before
    assert read_tree(tmp_path / "home" / "outside") == {"secret.txt": b"secret"}
    assert not list(tmp_path.rglob(f"*{HOMES}"))


@pytest.mark.parametrize("jailed", EITHER_WAY)
@pytest.mark.parametrize("name", [name for name in NAMES if any(home.tokens for home in list_homes(name, jailed=True))])
def test_a_refreshed_token_comes_back_and_nothing_else_of_its_file(name: str, jailed: bool, tmp_path: Path) -> None:
    homes = list_homes(name, jailed=jailed)
    home = next(home for home in homes if home.tokens)
    login = home.tokens[0].replace("*", "x")
    place = make_home(home, {**TREE, login: json.dumps(LOGIN)})
    (place / login).chmod(0o600)
    renewed = {"oauth": {"accessToken": "a2", "refreshToken": "r2", "expiresAt": 2}, "mcpServers": {"evil": "x"}}
    here = name_place(home, place, jailed=jailed)

    run_script(
        open_plain(tmp_path, homes, jailed=jailed), tmp_path, f"cd {here}; echo '{json.dumps(renewed)}' > {login}"
    )

    found = json.loads((place / login).read_text())
    assert found == {"oauth": {"accessToken": "a2", "refreshToken": "r2", "expiresAt": 2}}
    assert (place / login).stat().st_mode & 0o777 == 0o600


HOME = Home(
    places=("~/.tool/",),
    inside="tool",
    variable="TOOL_HOME",
    tokens=("auth.json",),
    sessions=("projects",),
    returned=("projects/{slug}/*.jsonl",),
    omitted=("cache",),
)


@JAILED
@pytest.mark.parametrize(
    "act",
    [
        "ln -sf {outside}/secret.txt auth.json",
        "rm auth.json; mkfifo auth.json",
        "rm auth.json; mkdir auth.json",
        "rm auth.json",
        "echo 'not json' > auth.json",
        "head -c 3000000 /dev/zero | tr '\\0' ' ' > auth.json; cat {outside}/secret.txt >> auth.json",
        """echo '{{"oauth": {{"accessToken": "", "refreshToken": ""}}}}' > auth.json""",
        """python3 -c 'print("[" * 100000)' > auth.json""",
    ],
)
def test_a_login_that_became_something_else_stays_as_the_user_has_it(act: str, tmp_path: Path) -> None:
    place = make_home(HOME, {"auth.json": json.dumps(LOGIN)})
    script = f"cd {place}; {act.format(outside=tmp_path / 'home' / 'outside')}"

    outcome = run_script(open_plain(tmp_path, [HOME], jailed=True), tmp_path, script)

    assert outcome.failure == ""
    assert json.loads((place / "auth.json").read_text()) == LOGIN
    assert [path.name for path in place.iterdir()] == ["auth.json"]


@JAILED
def test_tokens_go_both_ways_while_an_agent_works(tmp_path: Path) -> None:
    place = make_home(HOME, {"auth.json": json.dumps(LOGIN)})
    login, ours = place / "auth.json", {"oauth": {**LOGIN["oauth"], "accessToken": "ours"}}
    wait = "until grep -q theirs auth.json; do sleep 0.1; done"

    async def work_and_look() -> Outcome:
        found: list[Outcome] = []

        async def work() -> None:
            script = f"cd {place}; echo '{json.dumps(ours)}' > auth.json; {wait}\n{DONE}"
            found.append(await open_plain(tmp_path, [HOME], jailed=True).work(assign(tmp_path, script)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            while json.loads(login.read_text()) != ours:  # noqa: ASYNC110 - a file tells no event
                await anyio.sleep(0.05)
            login.write_text(json.dumps({"oauth": {**LOGIN["oauth"], "accessToken": "theirs"}}))
        return found[0]

    outcome = anyio.run(work_and_look)

    assert outcome.message == "ok"
    assert "theirs" in login.read_text()


@JAILED
def test_attempts_at_the_same_time_leave_a_whole_login_of_one_of_them(tmp_path: Path) -> None:
    place = make_home(HOME, {"auth.json": json.dumps(LOGIN)})
    agent, outcomes = open_plain(tmp_path, [HOME], jailed=True), list[Outcome]()

    async def work(number: int) -> None:
        workspace = tmp_path / f"work-{number}"
        workspace.mkdir()
        renewed = json.dumps({"oauth": {"accessToken": f"a{number}", "refreshToken": f"r{number}", "expiresAt": 9}})
        script = f"cd {place}; for n in 1 2 3; do echo '{renewed}' > auth.json; sleep 0.3; done\n{DONE}"
        outcomes.append(await agent.work(assign(workspace, script)))

    async def work_everywhere() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(2, 6):
                tasks.start_soon(work, number)

    anyio.run(work_everywhere)

    found = json.loads((place / "auth.json").read_text())["oauth"]
    assert [outcome.message for outcome in outcomes] == ["ok"] * 4
    assert found["accessToken"][1:] == found["refreshToken"][1:] in {"2", "3", "4", "5"}
    assert [path.name for path in place.iterdir()] == ["auth.json"]


def renew_without_end(own: Path, root: Path) -> None:
    """Write a long login again and again, and bring it back each time."""
    keeper = Keeper([Login(own=own, root=root, name="auth.json")])
    for number in range(10**6):
        token = {"accessToken": f"{number}." * 5000, "refreshToken": f"{number}." * 5000, "expiresAt": number}
        (root / "auth.json").write_text(json.dumps({"oauth": token}))
        keeper.settle()


def test_a_kill_in_mid_write_leaves_a_whole_login_and_the_next_start_clears_up(tmp_path: Path) -> None:
    own, root = make_home(HOME, {}) / "auth.json", tmp_path / "logs" / f"x.log{HOMES}" / "tool"
    root.mkdir(parents=True)
    own.write_text(json.dumps(LOGIN))
    for _ in range(12):
        (root / "auth.json").write_text(own.read_text())
        child = multiprocessing.get_context("fork").Process(target=renew_without_end, args=(own, root))
        child.start()
        time.sleep(0.05)
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        found = json.loads(own.read_text())["oauth"]
        assert found["accessToken"] == found["refreshToken"] or found == LOGIN["oauth"]
    (own.parent / name_draft(own.name)).write_text("half")
    write_manifest(root.parent, [Login(own=own, root=root, name="auth.json")])

    clear_scratches(tmp_path / "logs")

    assert [path.name for path in own.parent.iterdir()] == ["auth.json"]
    assert json.loads(own.read_text())
    assert not root.exists()


@pytest.mark.parametrize(("age", "expected"), [(60, "a2"), (-60, "a1")])
def test_a_token_that_a_killed_attempt_had_refreshed_is_salvaged_unless_the_users_is_newer(
    age: int, expected: str, tmp_path: Path
) -> None:
    own, folder = make_home(HOME, {}) / "auth.json", tmp_path / "logs" / f"x.log{HOMES}"
    (folder / "tool").mkdir(parents=True)
    own.write_text(json.dumps(LOGIN))
    (folder / "tool" / "auth.json").write_text(json.dumps({"oauth": {**LOGIN["oauth"], "accessToken": "a2"}}))
    write_manifest(folder, [Login(own=own, root=folder / "tool", name="auth.json")])
    os.utime(own, (time.time() - age, time.time() - age))
    os.utime(folder / "tool" / "auth.json", (time.time() - 30, time.time() - 30))

    clear_scratches(tmp_path / "logs")

    assert json.loads(own.read_text())["oauth"]["accessToken"] == expected
    assert not folder.exists()


def slug(folder: Path) -> str:
    """What a program calls the folder of a workspace."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in str(folder / "work"))


@pytest.mark.parametrize("jailed", EITHER_WAY)
def test_a_session_outlives_its_attempt_and_is_in_the_users_home_too(jailed: bool, tmp_path: Path) -> None:
    place = make_home(HOME)
    agent, record = open_plain(tmp_path, [HOME], jailed=jailed), f"projects/{slug(tmp_path)}/s-1.jsonl"
    here = name_place(HOME, place, jailed=jailed)

    run_script(
        agent, tmp_path, f"cd {here}; mkdir -p projects/{slug(tmp_path)}; echo one > {record}; echo x > projects/y"
    )
    run_script(agent, tmp_path, f"cd {here}; echo two >> {record}", session="s-1")

    assert (place / record).read_text() == "one\ntwo\n"
    assert [path.name for path in (place / "projects").iterdir()] == [slug(tmp_path)]


@JAILED
def test_a_session_of_the_user_can_be_gone_on_with_and_no_other_is_seen_or_changed(tmp_path: Path) -> None:
    mine, other = f"projects/{slug(tmp_path)}/s-1.jsonl", "projects/-other/s-2.jsonl"
    place = make_home(HOME, {mine: "one\n", other: "private\n", f"projects/{slug(tmp_path)}/s-3.jsonl": "three\n"})
    script = f"""
        cd {place}; ls -R projects > {tmp_path}/work/seen.txt; echo two >> {mine}
        mkdir -p $(dirname {other}); echo evil > {other}; echo evil > projects/{slug(tmp_path)}/s-3.jsonl
        echo evil and much longer > projects/-other/s-9.jsonl
    """

    run_script(open_plain(tmp_path, [HOME], jailed=True), tmp_path, script, session="s-1")

    assert (place / mine).read_text() == "one\ntwo\n"
    assert (place / other).read_text() == "private\n"
    assert (place / f"projects/{slug(tmp_path)}/s-3.jsonl").read_text() == "three\n"
    assert not (place / "projects/-other/s-9.jsonl").exists()
    assert "s-2" not in (tmp_path / "work" / "seen.txt").read_text()


@JAILED
def test_what_is_large_is_shown_to_be_read_and_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homecopy, "LARGE", 1000)
    place = make_home(HOME, {**TREE, "local/tool": "x" * 2000, "big.bin": "y" * 2000, "cache/z": "z"})
    script = f"""
        cd {place}; wc -c < local/tool; wc -c < big.bin; test ! -e cache || exit 4
        echo evil >> local/tool && exit 5; echo evil >> big.bin && exit 6
    """

    outcome = run_script(open_plain(tmp_path, [HOME], jailed=True), tmp_path, script)

    assert outcome.message == "ok"
    assert (place / "local" / "tool").stat().st_size == 2000


@JAILED
def test_a_folder_that_the_configuration_lends_is_the_users_own(tmp_path: Path) -> None:
    place = make_home(HOME)
    agent = open_plain(tmp_path, [HOME], jailed=True, granted=("~/.tool/",))

    run_script(agent, tmp_path, f"echo mine > {place}/settings.json")

    assert (place / "settings.json").read_text() == "mine\n"


@JAILED
def test_the_home_of_an_unknown_program_stays_with_the_run_and_out_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "home" / ".strange" / "deep").mkdir(parents=True)
    (tmp_path / "home" / ".strange" / "deep" / "mine").write_text("mine")
    homes, place = find_own(["strange", "--acp"])[1], tmp_path / "home" / ".strange"
    agent = open_plain(tmp_path, homes, jailed=True)
    before = read_tree(place)

    first = run_script(agent, tmp_path, f"cd {place}; echo s > session; rm -r deep; ln -s {tmp_path}/home/outside deep")
    (place / "deep" / "mine").write_text("newer")
    second = run_script(agent, tmp_path, f"cat {place}/session && grep -q secret {place}/deep/secret.txt || exit 4")

    assert (first.message, second.message) == ("ok", "ok")
    assert read_tree(tmp_path / "home" / "outside") == {"secret.txt": b"secret"}
    assert read_tree(place) == {**before, "deep/mine": b"newer"}


@JAILED
def test_links_of_the_user_are_no_way_out(tmp_path: Path) -> None:
    place = make_home(HOME)
    (tmp_path / "home" / "outside" / "settings.json").write_text("dotfiles")
    (place / "settings.json").unlink()
    (place / "settings.json").symlink_to(tmp_path / "home" / "outside" / "settings.json")
    (place / "shared").symlink_to(tmp_path / "home" / "outside")
    script = f"""
        cd {place}; grep -q dotfiles settings.json || exit 4; grep -q secret shared/secret.txt || exit 5
        echo evil > settings.json; echo evil > shared/secret.txt && exit 6
    """

    outcome = run_script(open_plain(tmp_path, [HOME], jailed=True), tmp_path, script)

    assert outcome.message == "ok"
    assert read_tree(tmp_path / "home" / "outside") == {"secret.txt": b"secret", "settings.json": b"dotfiles"}


def test_without_a_jail_a_home_that_cannot_be_moved_is_used_as_it_is(tmp_path: Path) -> None:
    home = replace(HOME, variable="")
    place = make_home(home)

    run_script(open_plain(tmp_path, [home], jailed=False), tmp_path, f"echo new > {place}/new.txt")

    assert (place / "new.txt").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="homes are moved on Linux only")
def test_moved_homes_leave_what_other_programs_have_beside_them(tmp_path: Path) -> None:
    homes = list_homes("opencode", jailed=False)
    for home in homes:
        make_home(home)
    config = tmp_path / "home" / ".config" / "git" / "config"
    config.parent.mkdir()
    config.write_text("[user]\n  name = somebody\n")

    script = 'test "$(git config --global user.name)" = somebody || exit 4'
    outcome = run_script(open_plain(tmp_path, homes, jailed=False), tmp_path, script)

    assert outcome.message == "ok"


@pytest.mark.parametrize("jailed", EITHER_WAY)
def test_a_command_that_begins_with_a_known_program_has_its_private_home(
    jailed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = list_homes("claude", jailed=True)[0]
    place = make_home(home)
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ncd "$CLAUDE_CONFIG_DIR" && echo evil >> settings.json && cat settings.json\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    agent = CommandAgent(command="claude -p", processes=supervise(tmp_path), jail=find_jail() if jailed else None)

    outcome = anyio.run(agent.work, assign(tmp_path, "x"))

    assert (outcome.failure, outcome.message) == ("", f"{TREE['settings.json']}evil")
    assert (place / "settings.json").read_text() == TREE["settings.json"]


@JAILED
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_it_holds_for_a_user_without_rights_too() -> None:
    with open_cell("unprivileged") as cell:
        words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={cell.work}/tests", __file__]
        tried = subprocess.run(
            [*cell.become(), find_python("unprivileged"), *words, "-k", "jailed and claude and (plants or refreshed)"],
            env={**cell.env, "PATH": os.defpath},
            capture_output=True,
            text=True,
            check=False,
        )
    if "No module named" in tried.stderr + tried.stdout:
        pytest.skip("the Python that a user without rights can start does not find pytest")

    assert "2 passed" in tried.stdout, tried.stdout + tried.stderr
