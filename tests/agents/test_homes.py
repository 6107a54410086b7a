"""Real programs and their homes: what they are made to plant is gone, and their sessions go on, also after a kill."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.queues import Queue
from pathlib import Path

import pytest
from tests.acceptance.cli_user import wait_for
from tests.agents.agent_fixture import Office, open_office
from tests.modelserver import Hang, ModelServer, Run, Scenario, Turn

from drumline.agents import PROGRAMS, load
from drumline.agents.jail import find_jail
from drumline.agents.program import Program
from drumline.isolation.contained import fits
from drumline.isolation.homes import Home, describe_home, find_place
from drumline.isolation.keptsessions import KEPT
from drumline.isolation.scratch import HOMES, clear_scratches
from drumline.ports.agents import Happening

NAMES = tuple(name for name in PROGRAMS if name != "builtin")
JAILED = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
REMEMBERED = {"qwen": "Please do the work."}
"""What is left of a turn that was killed; Qwen Code writes down what the model said only after the next request."""
OpenOffice = Callable[..., Office]
PLANT = """for home in {homes}; do
mkdir -p $home/hooks $home/commands $home/skills/evil $home/plugins/evil $home/extensions/evil
for file in settings.json config.toml config.yaml config.json opencode.json mcp.json hooks/evil.sh commands/evil.md \\
  skills/evil/SKILL.md plugins/evil/plugin.json extensions/evil/extension.json; do echo evil >> $home/$file; done
ln -s /etc/passwd $home/linked
done; echo planted > planted.txt"""


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenOffice:
    """Opens an agent that works against a server."""
    return partial(open_office, tmp_path, monkeypatch)


def list_homes(name: str) -> list[tuple[Home, Path]]:
    """The homes of an agent, and where they are."""
    program = load(name)
    assert isinstance(program, Program)
    found = [(home, find_place(home)) for home in map(describe_home, program.homes)]
    return [(home, place) for home, place in found if place]


def read_homes(name: str) -> dict[str, bytes]:
    """All files in the homes, but for records of sessions."""
    return {
        str(path): path.read_bytes()
        for home, place in list_homes(name)
        for path in sorted(place.rglob("*"))
        if path.is_file() and not any(fits(path.relative_to(place), spread(one)) for one in home.returned)
    }


def spread(pattern: str) -> str:
    """The pattern for any workspace."""
    return pattern.replace("{slug}", "*")


@JAILED
@pytest.mark.parametrize("name", NAMES)
def test_what_a_program_is_made_to_plant_in_its_home_is_gone(name: str, office: OpenOffice) -> None:
    with ModelServer([Scenario(turns=(Turn(text="x"),))]) as server:
        office(name, server)
    places = [place for _home, place in list_homes(name)]
    plant = PLANT.format(homes=" ".join(map(str, places)))
    with ModelServer([Scenario(turns=(Turn(calls=(Run(command=plant),)), Turn(text="Planted.")))]) as server:
        desk = office(name, server, again=True)
        before = read_homes(name)
        outcome = desk.work()

    assert (outcome.failure, outcome.message) == ("", "Planted.")
    assert (desk.workspace / "planted.txt").exists()
    assert read_homes(name) == before
    assert not any(path.is_symlink() for place in places for path in place.rglob("*"))


@JAILED
@pytest.mark.parametrize("name", NAMES)
def test_a_session_goes_on_after_a_kill(name: str, office: OpenOffice) -> None:
    remembered = REMEMBERED.get(name, "I begin.")
    begun = Turn(text="I begin.", calls=(Run(command="echo x > x.txt"),))
    first = Scenario(name="first", turns=(begun, Turn(fault=Hang())))
    second = Scenario(name="second", when="SECOND", turns=(Turn(text="And more."),))
    context = multiprocessing.get_context("fork")
    told: Queue[str] = context.Queue()
    with ModelServer([second, first]) as server:
        desk = office(name, server)
        child = context.Process(target=work_and_tell, args=(desk, told))
        child.start()
        session = told.get(timeout=120)
        server.wait_for(lambda request: request.turn == 1)
        wait_for(lambda: is_written(desk.log.parent, remembered), "the turn in the record of the session")
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        left = list(desk.log.parent.glob(f"*{HOMES}"))
        clear_scratches(desk.log.parent)

        outcome = desk.work("Do the SECOND thing.", session=session)

    assert left
    assert (outcome.failure, outcome.message, outcome.session) == ("", "And more.", session)
    assert remembered in repr(server.turns[-1].body)
    assert not list(desk.log.parent.glob(f"*{HOMES}"))


def is_written(logs: Path, text: str) -> bool:
    """Whether the record of a session has this: some programs write a turn down only after they have sent the next."""
    for path in (logs / KEPT).rglob("*"):
        with suppress(OSError):
            if path.is_file() and text.encode() in path.read_bytes():
                return True
    return False


def work_and_tell(desk: Office, told: Queue[str]) -> None:
    """Work in a process of its own, and tell the session as soon as it is known."""

    async def report(happening: Happening) -> None:
        if happening.kind == "session":
            told.put(happening.text)

    desk.work(report=report)


@JAILED
@pytest.mark.parametrize("name", ["claude"])
def test_a_file_beside_the_usual_home_is_read_and_stays_as_it_is(
    name: str, office: OpenOffice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, home = tmp_path / "home" / ".claude.json", tmp_path / "home" / ".claude"
    mine = {"userID": "ab" * 32, "projects": {}}
    second = Scenario(name="second", when="SECOND", turns=(Turn(text="And more."),))
    look = Turn(calls=(Run(command="cp ~/.claude/.claude.json seen.json"),))
    with ModelServer([second, Scenario(turns=(look, Turn(text="Looked.")))]) as server:
        desk = office(name, server)
        monkeypatch.delenv("CLAUDE_CONFIG_DIR")
        beside.write_text(json.dumps(mine))
        first = desk.work()
        again = desk.work("Do the SECOND thing.", session=first.session)

    assert (first.message, again.message, again.session) == ("Looked.", "And more.", first.session)
    assert mine.items() <= json.loads((desk.workspace / "seen.json").read_text()).items()
    assert json.loads(beside.read_text()) == mine
    assert [path.name for path in home.rglob("*") if path.is_file()] == [f"{first.session}.jsonl"]
