"""What an agent sees of other agents: neither their logins, nor what runs have recorded of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import anyio
import pytest
from tests.integration.test_cli_agent import PLAIN, assign
from tests.supervision import supervise

from drumline.agents import PROGRAMS, load
from drumline.agents.acp_programs import find_own
from drumline.agents.cli import CliAgent
from drumline.agents.command import CommandAgent
from drumline.agents.jail import find_jail
from drumline.agents.program import Program
from drumline.isolation.homes import Home, describe_home
from drumline.models.confined import confine
from drumline.ports.processes import Job
from drumline.record import replace

NAMES = [name for name in PROGRAMS if name != "builtin"]
JAILED = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR")
LOGIN = '{"access_token": "mine"}'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the logins of all programs."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in NAMES:
        for path in list_logins(name, tmp_path / "home"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(LOGIN)
    return tmp_path / "home"


def list_homes(name: str) -> list[Home]:
    program = load(name)
    assert isinstance(program, Program)
    return list(map(describe_home, program.homes))


def list_logins(name: str, home: Path) -> list[Path]:
    """Where a program has its logins in a home."""
    files = [(describe_home(one).places[-1], token) for one in list_homes(name) for token in one.tokens]
    return [Path(place.replace("~", str(home), 1), token.replace("*", "some")) for place, token in files]


def look(home: Path) -> str:
    """A script that names the programs whose logins it can read."""
    lines = [f"grep -qs mine {path} && echo found-{name}" for name in NAMES for path in list_logins(name, home)]
    return "\n".join([*lines, "true"])


@JAILED
@pytest.mark.parametrize("name", NAMES)
def test_a_program_sees_its_own_logins_and_no_others(name: str, home: Path) -> None:
    agent = CliAgent(
        program=replace(PLAIN, homes=tuple(list_homes(name))),
        executable=Path("/bin/bash"),
        processes=supervise(home.parent),
        jail=find_jail(),
    )
    assignment = assign(home.parent, f'{look(home)}\necho \'{{"done": "ok"}}\'')

    outcome = anyio.run(agent.work, assignment)

    assert not outcome.failure, outcome.message
    found = {line for line in assignment.log.read_text().splitlines() if line.startswith("found-")}
    assert found == ({f"found-{name}"} if list_logins(name, home) else set())


@JAILED
def test_what_a_model_starts_sees_no_login(home: Path) -> None:
    work, log = home.parent / "work", home.parent / "model.log"
    work.mkdir()

    async def run() -> str:
        with confine(supervise(home.parent), jail=find_jail(), workspace=work, log=log) as processes:
            job = Job(argv=["bash", "-c", look(home)], cwd=work, log=log)
            return (await processes.run(job)).output

    assert "found" not in anyio.run(run)


@JAILED
@pytest.mark.parametrize("worktree", [True, False])
def test_the_records_of_other_steps_are_not_visible(home: Path, worktree: bool) -> None:
    top = home.parent / "repo"
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    work = top
    if worktree:
        work = home.parent / "work"
        record = top / ".git" / "worktrees" / "work"
        record.mkdir(parents=True)
        work.mkdir()
        (work / ".git").write_text(f"gitdir: {record}\n")
    runs = top / ".git" / "drumline" / "runs" / "r0"
    (runs / "s1" / "attempt-1.log.homes").mkdir(parents=True)
    (runs / "s1" / "attempt-1.log.homes" / "auth.json").write_text(LOGIN)
    (runs / "s2").mkdir()
    (runs / "s2" / "prompt.md").write_text("the prompt\n")
    own = top / ".git" / "drumline"
    for name in ("state.db", "locks"):
        (own / name).write_text(LOGIN)
    # Who may only read a file could hold its lock, and every driver would wait for that.
    looked = f"cat {own}/state.db; flock --nonblock {own}/lock? true && echo locked; touch {own}/x && echo planted"
    command = f"cat $DRUMLINE_PROMPT_FILE; cat {runs}/s1/*/auth.json; {looked}; touch $TMPDIR/x && echo written"
    agent = CommandAgent(command=command, processes=supervise(home.parent), jail=find_jail())
    assignment = replace(
        assign(home.parent, "x"), workspace=work, log=runs / "s2" / "a.log", prompt_file=runs / "s2" / "prompt.md"
    )

    outcome = anyio.run(agent.work, assignment)

    assert "the prompt" in outcome.message
    assert "written" in outcome.message
    assert [word for word in ("mine", "locked", "planted") if word in outcome.message] == [], outcome.message


@JAILED
@pytest.mark.parametrize("name", ["config", "config.worktree", "modules/lib/config", "modules/group/lib/config"])
def test_tokens_in_configurations_of_the_repository_are_left_out(home: Path, name: str) -> None:
    top = home.parent / "work"
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    config = top / ".git" / name
    config.parent.mkdir(parents=True, exist_ok=True)
    (config.parent / "HEAD").write_text("ref: refs/heads/main\n")
    subprocess.run(["git", "config", "-f", str(config), "remote.o.url", "https://hush@example.org/a"], check=True)
    agent = CommandAgent(command=f"cat {config}", processes=supervise(home.parent), jail=find_jail())

    outcome = anyio.run(agent.work, assign(home.parent, "x"))

    assert "example.org" in outcome.message
    assert "hush" not in outcome.message


@pytest.mark.parametrize("name", ["mozilla", "thunderbird", "netrc", "cargo", "kaggle", "chromium", "google-chrome"])
def test_a_name_does_not_open_a_folder_with_secrets(name: str) -> None:
    _, homes = find_own([f"./tools/{name}"])
    hidden = {"cargo": "~/.cargo", "chromium": "~/.config/chromium", "google-chrome": "~/.config/google-chrome"}

    places = [place for home in homes for place in home.places]

    assert hidden.get(name, f"~/.{name}") not in places
    assert f"~/.cache/{name}" in places
