"""A flow run that is interrupted, joined, cancelled or edited while it is at work, and the gates of flows it calls."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, flow_user, read_journal, run_flow, write_files
from tests.acceptance.cli_user import PATIENCE, Ran, User, gates_of, processes_of, wait_for
from tests.warm import Started

from drumline.core.flow.events import NodeLost, NodeStarted

INTERRUPTED = 130
# Leaves a line, then waits until it may go on, with a child that must not outlive it.
WAIT = "echo begun >> waited\nsleep 600 &\nuntil [ -e go ]; do sleep 0.05; done\necho '{}'\n"
ASK = {"type": "approval", "question": "Sure?", "options": ["yes", "no"], "routes": {"yes": "end", "no": "bad"}}
NODES: dict[str, object] = {
    "first": {"type": "script", "script": "first.sh", "next": "wait"},
    "wait": {"type": "script", "script": "wait.sh", "next": "sure", "timeout": 600},
    "sure": {**ASK, "on_other": "bad"},
    "end": {"type": "end", "output": "all is well"},
    "bad": {"type": "end", "status": "rejected", "output": "no"},
}
FILES = {
    "flow.yaml": flow_text("first", NODES),
    "first.sh": "echo first >> first\necho '{}'\n",
    "wait.sh": WAIT,
    "play.yaml": "default: {say: done}\n",
}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """Somebody with a flow that waits in its second node for the file `go`, and asks in the third."""
    with flow_user(tmp_path, FILES) as user:
        yield user


def start_waiting(user: User) -> Started:
    """A driver that is in the second node."""
    driver = user.start("flow", "run", "flow.yaml", "--agent", "scripted:play.yaml")
    wait_for((user.repo / "waited").exists, "the second node")
    return driver


def let_go(user: User) -> None:
    """Let the second node end."""
    (user.repo / "go").touch()


def wait_end(process: Started) -> Ran:
    """What a command said that ends by itself."""
    out, err = process.communicate(timeout=PATIENCE)
    return Ran(code=process.returncode, out=out, err=err)


def test_an_interrupted_run_goes_on_without_repeating_finished_nodes(user: User) -> None:
    driver = start_waiting(user)

    driver.send_signal(signal.SIGINT)

    ran = wait_end(driver)
    assert (ran.code, ran.out) == (INTERRUPTED, ""), ran.err
    assert "drumline resume" in ran.err
    wait_for(lambda: not processes_of(user.folder), "everything to be ended")
    assert user.status()["state"] == "interrupted"
    let_go(user)
    assert user.drumline("resume").code == 2
    assert user.drumline("answer", "sure", "yes", "--resume").out == "all is well\n"
    journal = read_journal(user)
    assert (user.repo / "first").read_text() == "first\n"
    assert (journal.count(NodeStarted, "first"), journal.count(NodeStarted, "wait")) == (1, 2)
    assert journal.count(NodeLost, "wait") == 1
    assert set(journal.concluded.values()) == {1}


def test_a_resume_beside_a_live_driver_joins_it_and_disturbs_nothing(user: User) -> None:
    driver = start_waiting(user)

    second = user.start("resume")

    assert second.stderr is not None
    assert "which is live" in second.stderr.readline()
    let_go(user)
    assert (wait_end(driver).code, wait_end(second).code) == (2, 2)
    assert read_journal(user).count(NodeStarted, "wait") == 1
    assert (user.repo / "waited").read_text() == "begun\n"


def test_a_live_run_is_cancelled_with_all_it_started(user: User) -> None:
    driver = start_waiting(user)

    said = user.drumline("cancel")

    ran = wait_end(driver)
    assert said.code == 0, said.err
    assert (ran.code, ran.out) == (1, "")
    assert user.status()["state"] == "cancelled"
    wait_for(lambda: not processes_of(user.folder), "everything to be ended")
    assert f"next:\n  drumline resume {user.status()['run']}" in ran.err
    let_go(user)
    resumed = user.drumline("resume")
    assert resumed.code == 2, resumed.text
    assert user.status()["state"] == "parked"


def test_a_parked_run_is_cancelled_and_its_gate_takes_no_answer_any_more(user: User) -> None:
    let_go(user)
    parked = run_flow(user, "flow.yaml")

    said = user.drumline("cancel")

    late = user.drumline("answer", "sure", "yes", "--resume")
    assert (parked.code, said.code, late.code) == (2, 0, 3)
    assert user.status()["state"] == "cancelled"
    assert "is cancelled" in late.err


def test_a_live_driver_goes_on_with_an_answer_from_another_process(user: User) -> None:
    nodes = {
        "both": {"type": "set", "values": {"x": 1}, "next": ["slow", "sub"]},
        "slow": {"type": "script", "script": "wait.sh", "timeout": 600, "state_updates": {}, "next": "end"},
        "sub": {"type": "agent", "agent": "asker", "prompt": "Ask.", "next": "end"},
        "end": {"type": "end", "output": "all is well"},
    }
    asker = flow_text("sure", {"sure": {**ASK, "on_other": "bad"}, "end": {"type": "end"}, "bad": {"type": "end"}})
    write_files(user, {"flow.yaml": flow_text("both", nodes), "asker.yaml": asker})
    driver = start_waiting(user)
    wait_for(lambda: gates_of(user.status()) == ["sub#1/sure"], "the gate")

    said = user.drumline("answer", "sub#1/sure", "yes")

    wait_for(lambda: read_journal(user).concluded[("", "sub", 1)] == 1, "the answer to be taken up")
    assert said.code == 0, said.err
    let_go(user)
    assert wait_end(driver).out == "all is well\n"


def test_an_edit_of_the_flow_counts_for_the_next_run_only(user: User) -> None:
    let_go(user)
    run_flow(user, "flow.yaml")
    write_files(user, {"flow.yaml": FILES["flow.yaml"].replace("all is well", "edited")})

    ran = user.drumline("answer", "sure", "yes", "--resume")

    assert (ran.code, ran.out) == (0, "all is well\n"), ran.err
    run_flow(user, "flow.yaml")
    assert user.drumline("answer", "sure", "yes", "--resume").out == "edited\n"


def test_a_flow_file_that_is_broken_or_gone_in_mid_run_does_not_matter_to_the_run(user: User) -> None:
    let_go(user)
    run_flow(user, "flow.yaml")
    (user.repo / "flow.yaml").write_text("name: [", encoding="utf-8")

    ran = user.drumline("answer", "sure", "no", "--resume")

    assert (ran.code, ran.out) == (1, "no\n"), ran.err


def test_the_gates_of_called_flows_carry_their_scope(user: User) -> None:
    child = {
        "sure": {**ASK, "on_other": "bad"},
        "end": {"type": "end", "output": "yes to {{initial_prompt}}"},
        "bad": {"type": "end", "status": "rejected", "output": "no to {{initial_prompt}}"},
    }
    nodes = {
        "one": {
            "type": "agent",
            "agent": "asker",
            "prompt": "one",
            "state_updates": {"a": "{{output}}"},
            "next": "two",
        },
        "two": {
            "type": "agent",
            "agent": "asker",
            "prompt": "two",
            "state_updates": {"b": "{{output}}"},
            "next": "end",
        },
        "end": {"type": "end", "output": "{{a}}, {{b}}"},
    }
    write_files(user, {"flow.yaml": flow_text("one", nodes), "asker.yaml": flow_text("sure", child)})
    first = run_flow(user, "flow.yaml")
    asked = [gates_of(user.status())]

    second = user.drumline("answer", "one#1/sure", "yes", "--resume")
    asked.append(gates_of(user.status()))
    ran = user.drumline("answer", "two#1/sure", "no", "--resume")

    assert (first.code, second.code) == (2, 2)
    assert asked == [["one#1/sure"], ["two#1/sure"]]
    assert (ran.code, ran.out) == (0, "yes to one, no to two\n"), ran.err


def test_two_runs_in_one_repository_are_told_apart_by_their_names(user: User) -> None:
    let_go(user)
    runs = [str(run_flow(user, "flow.yaml", "--json").lines[-1]["run"]) for _ in range(2)]

    older = user.drumline("answer", "sure", "no", "--resume", "--run", runs[0])

    assert (older.code, older.out) == (1, "no\n"), older.err
    assert user.status(runs[0])["state"] == "rejected"
    assert user.status(runs[1])["state"] == "parked"
