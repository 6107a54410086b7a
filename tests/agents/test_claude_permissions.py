"""The real Claude Code without a jail: it asks for leave while it works, and does what it is answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.agent_fixture import open_office
from tests.modelserver import ModelServer, Run, Scenario, Turn, Use, Write

from drumline.core.flow.model import Json
from drumline.ports.agents import Outcome

DONE = Turn(text="Done.")
CHOICE: Json = {
    "question": "Which greeting?",
    "header": "greeting",
    "multiSelect": False,
    "options": [{"label": "hello", "description": "short"}, {"label": "welcome", "description": "long"}],
}


class Desk:
    """Claude Code in a worktree, which nothing but its own questions holds."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.workspace = folder / "trees" / "one"
        self.log = folder / "logs" / "work.log"
        self._folder = folder
        self._monkeypatch = monkeypatch
        self._there = False

    def play(self, *turns: Turn, **fields: object) -> Outcome:
        """The outcome of a model that says these turns."""
        with ModelServer([Scenario(turns=turns)]) as server:
            office = open_office(self._folder, self._monkeypatch, "claude", server, jailed=False, again=self._there)
            self._there = True
            return office.work(**fields)  # type: ignore[arg-type]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


NAMES = pytest.mark.parametrize("name", ["claude"])


@NAMES
def test_what_is_inside_the_workspace_is_allowed(name: str, desk: Desk) -> None:
    edit = Turn(calls=(Write(path="hello.txt", content="hello\n"),))

    outcome = desk.play(edit, Turn(calls=(Run(command="echo x > shell.txt"),)), DONE)

    assert (outcome.failure, outcome.message, outcome.question) == ("", "Done.", "")
    assert (desk.workspace / "hello.txt").read_text() == "hello\n"
    assert (desk.workspace / "shell.txt").read_text() == "x\n"
    assert outcome.notices == ()
    assert "can_use_tool" in desk.log.read_text()


@NAMES
def test_what_is_outside_is_refused_and_told(name: str, desk: Desk, tmp_path: Path) -> None:
    edited, written = tmp_path / "edited.txt", tmp_path / "written.txt"
    turns = (Turn(calls=(Write(path=str(edited), content="x\n"),)), Turn(calls=(Run(command=f"echo x > {written}"),)))

    outcome = desk.play(*turns, DONE)

    assert (outcome.failure, outcome.message, outcome.question) == ("", "Done.", "")
    assert not edited.exists()
    assert not written.exists()
    assert [str(path) in notice for path, notice in zip((edited, written), outcome.notices, strict=True)] == [True] * 2


@NAMES
def test_what_the_policy_does_not_know_becomes_a_question(name: str, desk: Desk) -> None:
    outcome = desk.play(Turn(calls=(Use(tool="AskUserQuestion", arguments={"questions": [CHOICE]}),)), DONE)

    assert (outcome.failure, outcome.question) == ("", "Which greeting?\n(options: hello, welcome)")


@NAMES
def test_a_folder_that_is_granted_may_be_written_to(name: str, desk: Desk, tmp_path: Path) -> None:
    granted = tmp_path / "granted"
    granted.mkdir()

    outcome = desk.play(Turn(calls=(Write(path=str(granted / "a.txt"), content="a\n"),)), DONE, writable=(granted,))

    assert (outcome.failure, outcome.notices) == ("", ())
    assert (granted / "a.txt").read_text() == "a\n"


@NAMES
def test_who_may_only_read_runs_what_only_reads(name: str, desk: Desk) -> None:
    turns = (Turn(calls=(Run(command="ls"),)), Turn(calls=(Run(command="echo x > shell.txt"),)), DONE)

    outcome = desk.play(*turns, read_only=True)

    assert (outcome.failure, outcome.message, outcome.question) == ("", "Done.", "")
    assert len(outcome.notices) == 1
    assert not (desk.workspace / "shell.txt").exists()


@NAMES
def test_a_session_goes_on_and_one_that_is_gone_is_begun_anew(name: str, desk: Desk) -> None:
    first = desk.play(Turn(text="First."))

    second = desk.play(Turn(text="First."), Turn(text="Second."), session=first.session)
    third = desk.play(Turn(text="Third."), session="11111111-2222-4333-8444-555555555555")

    assert (second.failure, second.session) == ("", first.session)
    assert (third.failure, third.message) == ("", "Third.")
    assert any("began a new one" in notice for notice in third.notices)
