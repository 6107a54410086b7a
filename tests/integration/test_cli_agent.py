"""What is the same for all agent programs, tried with a small program of our own: it prints what it is told to."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.supervision import supervise

from drumline.agents import AGENTS, PROGRAMS, list_names, open_agent
from drumline.agents.cli import CliAgent, find_executable
from drumline.agents.jail import find_jail
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.agents.verdicts import explain_end
from drumline.app.agents import ask_version, list_agents, try_agent
from drumline.core.flow.model import Json
from drumline.core.ids import RunId, StepId
from drumline.errors import InvalidInput
from drumline.isolation.scratch import name_temp
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.processes.supervised import SupervisedProcesses
from drumline.record import replace


class PlainReader:
    """Happenings are printed as they are; `{"done": …}` is the end."""

    def __init__(self, assignment: Assignment) -> None:
        self.done: Mapping[str, Json] | None = None

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        if "done" in event:
            self.done = event
        else:
            kind: Any = event["kind"]
            usage: Any = event.get("usage", {})
            yield Happening(kind=kind, text=str(event.get("text", "")), usage=usage)

    def conclude(self, ended: Ended) -> Outcome:
        return explain_end(ended, "its end") if self.done is None else Outcome(message=str(self.done["done"]))


def build_plainly(assignment: Assignment, setting: Setting) -> Launch:
    """The prompt is a script; the session is its argument."""
    return Launch(argv=("bash", "-s", assignment.session), stdin=assignment.prompt)


PLAIN = Program(
    name="plain",
    executables=("bash",),
    build=build_plainly,
    open_reader=PlainReader,
    abilities=Abilities(resumes=True),
    gone=("no such session",),
    keep=("PLAIN_KEY",),
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions are remembered here only."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def processes(tmp_path: Path) -> SupervisedProcesses:
    """Real commands under supervisors."""
    return supervise(tmp_path)


def assign(folder: Path, prompt: str, **fields: Any) -> Assignment:
    """An assignment in a folder of its own."""
    (folder / "work").mkdir(exist_ok=True)
    return Assignment(
        run=RunId("r1"),
        step=StepId("s1"),
        node="implement",
        attempt=1,
        prompt=prompt,
        prompt_file=folder / "prompt.md",
        workspace=folder / "work",
        log=folder / "work.log",
        **{"timeout": 60.0, **fields},
    )


def work(folder: Path, processes: SupervisedProcesses, prompt: str, **fields: Any) -> Outcome:
    """Let the plain program do what the prompt says."""
    agent = CliAgent(program=PLAIN, executable=Path("bash"), processes=processes)
    return anyio.run(agent.work, assign(folder, prompt, **fields))


def say(**event: Json) -> str:
    """A shell command that prints an event."""
    return f"cat <<'END'\n{json.dumps(event)}\nEND\n"


def test_events_come_while_it_works_and_other_lines_are_left_out(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    told: list[str] = []

    async def note(happening: Happening) -> None:
        told.append(f"{happening.kind} {happening.text}")
        if happening.text == "now":
            (tmp_path / "work" / "heard").touch()

    wait = "for n in $(seq 100); do test -e heard && break; sleep 0.1; done; test -e heard || exit 9\n"
    script = f"echo hello; echo '[1]'; {say(kind='text', text='now')}{wait}{say(done='ok')}"

    outcome = work(tmp_path, processes, script, report=note)

    assert outcome.message == "ok"
    assert [line for line in told if not line.startswith("notice")] == ["text now"]


def test_the_last_event_counts_also_without_an_end_of_line(tmp_path: Path, processes: SupervisedProcesses) -> None:
    outcome = work(tmp_path, processes, """printf '{"done": "ok"}'""")

    assert outcome == Outcome(message="ok")


def test_nothing_it_says_can_move_a_cursor(tmp_path: Path, processes: SupervisedProcesses) -> None:
    told: list[str] = []

    async def note(happening: Happening) -> None:
        told.append(happening.text)

    script = say(kind="text", text="a\x1b[31mb\x07") + say(done="c\x1b]0;title\x07d\te\nf")

    outcome = work(tmp_path, processes, script, report=note)

    assert told[-1] == "ab"
    assert outcome.message == "cd\te\nf"


def test_a_program_that_fails_to_say_its_end_has_broken_down(tmp_path: Path, processes: SupervisedProcesses) -> None:
    outcome = work(tmp_path, processes, say(kind="session", text="s9") + "echo oops >&2; exit 0")

    assert (outcome.failure, outcome.session) == ("crash", "s9")
    assert "oops" in outcome.message


def test_a_program_that_does_nothing_and_says_nothing_has_failed(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    idle = work(tmp_path, processes, say(done=""))
    busy = work(tmp_path, processes, say(kind="command", text="make") + say(done=""))

    assert idle.failure == "validation"
    assert busy.failure == ""


def test_a_session_that_is_gone_is_tried_once_without(tmp_path: Path, processes: SupervisedProcesses) -> None:
    script = 'if test -n "$1"; then echo no such session >&2; exit 1; fi\n' + say(done="ok")

    outcome = work(tmp_path, processes, script, session="s1")

    assert (outcome.failure, outcome.message) == ("", "ok")
    assert outcome.notices == ("the session s1 could not be used; it began a new one",)


@pytest.mark.parametrize("end", [say(done="no such session is needed"), "echo no such session >&2; exit 1"])
def test_work_that_was_begun_is_not_done_twice_for_words_about_sessions(
    end: str, tmp_path: Path, processes: SupervisedProcesses
) -> None:
    script = "echo begun >> count.txt\n" + say(kind="command", text="make") + end

    work(tmp_path, processes, script, session="s1")

    assert (tmp_path / "work" / "count.txt").read_text() == "begun\n"


def test_an_answer_with_words_about_sessions_is_an_answer(tmp_path: Path, processes: SupervisedProcesses) -> None:
    outcome = work(tmp_path, processes, say(done="there is no such session"), session="s1")

    assert (outcome.failure, outcome.message, outcome.notices) == ("", "there is no such session", ())


@pytest.mark.parametrize(
    ("limits", "end"), [({"idle": 2.0}, "sleep 60"), ({"timeout": 2.0}, "sleep 60"), ({}, "exit 1")]
)
def test_what_was_used_counts_also_if_it_was_stopped_or_broke_down(
    limits: dict[str, float], end: str, tmp_path: Path, processes: SupervisedProcesses
) -> None:
    script = say(kind="usage", usage={"input": 70.0}) + say(kind="usage", usage={"input": 90.0}) + end

    outcome = work(tmp_path, processes, script, **limits)

    assert outcome.failure
    assert (outcome.usage, outcome.source) == ({"input": 90.0}, "plain")


def test_edits_are_named_from_the_workspace_and_those_outside_are_told(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    told: list[str] = []

    async def note(happening: Happening) -> None:
        told.append(happening.text)

    inside, outside, granted = tmp_path / "work" / "a.txt", tmp_path / "b.txt", tmp_path / "granted" / "c.txt"
    script = "".join(say(kind="edit", text=str(path)) for path in (inside, outside, granted)) + say(done="ok")

    outcome = work(tmp_path, processes, script, report=note, writable=(tmp_path / "granted",))

    assert told[-3:] == ["a.txt", str(outside), str(granted)]
    assert outcome.notices == (f"it edited {outside}, which is outside its workspace",)


def test_without_a_jail_changes_of_the_main_checkout_are_told(tmp_path: Path, processes: SupervisedProcesses) -> None:
    checkout, tree = tmp_path / "checkout", tmp_path / "work"
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-C", str(checkout))
    subprocess.run(["git", "init", "--quiet", str(checkout)], check=True)
    (checkout / "kept.txt").write_text("kept\n")
    (checkout / "mine.txt").write_text("a change of the user's\n")
    subprocess.run([*git, "add", "kept.txt"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "base"], check=True)
    subprocess.run([*git, "worktree", "add", "--quiet", str(tree)], check=True)

    outcome = work(tmp_path, processes, f"cd {checkout}; rm kept.txt; echo x > new.txt\n" + say(done="ok"))

    assert [notice.split()[0] for notice in outcome.notices] == [str(checkout / "kept.txt"), str(checkout / "new.txt")]


def test_variables_get_through_only_by_name(
    tmp_path: Path, processes: SupervisedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIN_KEY", "its own")
    monkeypatch.setenv("CLOUD_SECRET", "ours")

    outcome = work(tmp_path, processes, """printf '{"done": "%s|%s"}' "$PLAIN_KEY" "$CLOUD_SECRET" """)

    assert outcome.message == "its own|"


def test_what_an_attempt_that_was_killed_had_printed_is_not_taken_for_its_successors_words(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    left = tmp_path / "work.log.tmp"
    left.mkdir()
    for name in ("stream.jsonl", "leftover"):
        (left / name).write_text(say(done="the old work") + "\n")

    outcome = work(tmp_path, processes, """printf '{"done": "%s"}' "$(ls ../work.log.tmp | tr '\\n' ' ')" """)

    assert outcome.message.split() == ["stream.jsonl", "tmp"]


BIND = "import os, socket; socket.socket(socket.AF_UNIX).bind(os.environ['TMPDIR'] + '/' + 's' * 40)"
"""Fails where the path of a socket has more than about a hundred characters."""


@pytest.mark.parametrize("jailed", [True, False])
def test_its_temporary_folder_is_short_enough_for_sockets_and_goes_with_it(
    jailed: bool, tmp_path: Path, processes: SupervisedProcesses
) -> None:
    deep = tmp_path / "a-long-name-of-a-folder" / "another-long-name-of-a-folder"
    deep.mkdir(parents=True)
    agent = CliAgent(program=PLAIN, executable=Path("bash"), processes=processes, jail=find_jail() if jailed else None)
    script = f"""{sys.executable} -c "{BIND}" && test -S "$TMPDIR"/ss* && printf '{{"done": "%s"}}' "$TMPDIR" """

    outcome = anyio.run(agent.work, assign(deep, script))

    assert outcome.failure == "", outcome.message
    temp = Path(outcome.message)
    assert not temp.is_relative_to(tmp_path)
    assert temp == name_temp(deep / "work.log.tmp")
    assert not temp.exists()


@pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
def test_in_a_jail_it_can_write_to_its_workspace_and_what_it_is_granted(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    (tmp_path / "granted").mkdir()
    agent = CliAgent(program=PLAIN, executable=Path("bash"), processes=processes, jail=find_jail())
    tries = f"""touch in; touch {tmp_path}/granted/ok; touch {tmp_path}/out; touch "$TMPDIR/t"; echo $? > temp\n"""

    outcome = anyio.run(agent.work, assign(tmp_path, tries + say(done="ok"), writable=(tmp_path / "granted",)))

    assert outcome == Outcome(message="ok")
    assert (tmp_path / "work" / "in").exists()
    assert (tmp_path / "granted" / "ok").exists()
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "work" / "temp").read_text() == "0\n"


@pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
def test_who_works_in_a_whole_checkout_cannot_touch_the_records_of_runs(
    tmp_path: Path, processes: SupervisedProcesses
) -> None:
    records = tmp_path / "work" / ".git" / "drumline"
    records.mkdir(parents=True)
    (records / "journal.db").write_text("kept")
    agent = CliAgent(program=PLAIN, executable=Path("bash"), processes=processes, jail=find_jail())

    anyio.run(agent.work, assign(tmp_path, f"touch .git/in; echo x > {records}/journal.db\n" + say(done="ok")))

    assert (tmp_path / "work" / ".git" / "in").exists()
    assert (records / "journal.db").read_text() == "kept"


@pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
def test_a_variable_that_is_empty_lends_nothing(
    tmp_path: Path, processes: SupervisedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIN_HOME", "")
    program = replace(PLAIN, homes=("$PLAIN_HOME/", "${PLAIN_HOME}" + str(tmp_path)))
    agent = CliAgent(program=program, executable=Path("bash"), processes=processes, jail=find_jail())

    anyio.run(agent.work, assign(tmp_path, f"touch in {tmp_path}/out\n" + say(done="ok")))

    assert (tmp_path / "work" / "in").exists()
    assert not (tmp_path / "out").exists()


def test_a_program_that_is_not_installed_is_refused_with_what_to_type(
    tmp_path: Path, processes: SupervisedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    put_program(tmp_path / "codex", "exit 0")

    with pytest.raises(InvalidInput, match="'claude' is not installed") as caught:
        open_agent("claude", processes=processes, base=tmp_path)

    assert "installed here: codex" in str(caught.value)
    assert caught.value.hint.startswith("npm install")


def test_a_spec_may_name_the_model(
    tmp_path: Path, processes: SupervisedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path / "claude", "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.defpath}")
    asked = assign(tmp_path, "x", tier="strong")

    named = open_agent("claude:opus-9", processes=processes, base=tmp_path)
    tiered = open_agent("claude", processes=processes, base=tmp_path, tiers={"strong": "own"})
    plain = open_agent("claude", processes=processes, base=tmp_path)

    assert isinstance(named, CliAgent)
    assert isinstance(tiered, CliAgent)
    assert isinstance(plain, CliAgent)
    assert [agent.choose_model(asked) for agent in (named, tiered, plain)] == ["opus-9", "own", "opus"]


FOREIGN = """
from drumline.agents.program import Abilities, Launch, Program
from drumline.ports.agents import Outcome


class Reader:
    def __init__(self, assignment): pass
    def read(self, event): return ()
    def conclude(self, ended): return Outcome(message="from afar")


PROGRAM = Program(
    name="afar", executables=("bash",), abilities=Abilities(), open_reader=Reader,
    build=lambda assignment, setting: Launch(argv=("true",)),
)


class Opened:
    def __init__(self, argument): self.argument = argument
    async def work(self, assignment): return Outcome(message=self.argument)


def open_it(argument, *, processes, base):
    return Opened(argument)


NOTHING = 3
"""
POINTS = """[drumline.agents]
afar = afar_agents:PROGRAM
opened = afar_agents:open_it
nothing = afar_agents:NOTHING
missing = afar_agents.nowhere:X
claude = afar_agents:NOTHING
"""


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of somebody else's that brings agents."""
    project = tmp_path / "site"
    info = project / "afar_agents-1.0.dist-info"
    info.mkdir(parents=True)
    (project / "afar_agents.py").write_text(FOREIGN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: afar-agents\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(project)
    monkeypatch.delitem(sys.modules, "afar_agents", raising=False)


@pytest.mark.usefixtures("foreign")
def test_agents_of_other_packages_are_opened_by_name(tmp_path: Path, processes: SupervisedProcesses) -> None:
    program = open_agent("afar", processes=processes, base=tmp_path)
    opened = open_agent("opened:x", processes=processes, base=tmp_path)

    assert anyio.run(program.work, assign(tmp_path, "x")).message == "from afar"
    assert anyio.run(opened.work, assign(tmp_path, "x")).message == "x"
    assert list_names() == [*PROGRAMS, *AGENTS, "afar", "missing", "nothing", "opened"]


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize("name", ["nothing", "missing"])
def test_an_agent_of_another_package_that_is_broken_is_refused_by_name(
    name: str, tmp_path: Path, processes: SupervisedProcesses
) -> None:
    with pytest.raises(InvalidInput, match=f"{name!r}.*afar_agents"):
        open_agent(name, processes=processes, base=tmp_path)

    listed = {agent.name: agent for agent in list_agents()}
    assert "afar_agents" in listed[name].fault
    assert listed["afar"].installed


def put_program(path: Path, script: str) -> Path:
    """A program that is a shell script."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_version_is_asked_once_per_file(tmp_path: Path) -> None:
    program = put_program(tmp_path / "agent", f"echo asked >> {tmp_path}/asked; echo agent v1.2.3-rc1 '(x)'")

    versions = [ask_version(program, cache=tmp_path / "cache" / "v.json") for _ in range(2)]
    put_program(program, "echo agent 1.3.0")

    assert versions == ["1.2.3-rc1", "1.2.3-rc1"]
    assert (tmp_path / "asked").read_text() == "asked\n"
    assert ask_version(program, cache=tmp_path / "cache" / "v.json") == "1.3.0"


@pytest.mark.parametrize("script", ["exit 1", "echo no number", "exec sleep 0.1"])
def test_a_program_that_says_no_version_has_none(script: str, tmp_path: Path) -> None:
    program = put_program(tmp_path / "agent", script)

    assert ask_version(program, cache=tmp_path / "v.json") == ""


def test_a_trial_tells_whether_the_file_was_written() -> None:
    good = try_agent("command:echo ready > hello.txt")
    lazy = try_agent("command:echo done")
    broken = try_agent("command:echo no luck; exit 3")

    assert (good.edited, good.fault) == (True, "")
    assert (lazy.edited, lazy.outcome.failure) == (False, "")
    assert "hello.txt" in lazy.fault
    assert "no luck" in broken.fault


def test_what_every_adapter_needs_is_said_by_it() -> None:
    listed = {agent.name: agent for agent in list_agents()}

    assert [name for name in PROGRAMS if not (listed[name].installed or listed[name].next)] == []


def test_a_program_is_found_where_its_adapter_says(tmp_path: Path) -> None:
    place = put_program(tmp_path / "agent", "exit 0")
    there = replace(PLAIN, executables=("no-such-program",), find=lambda: place)

    assert find_executable(there) == place
    assert find_executable(replace(there, find=None)) is None
