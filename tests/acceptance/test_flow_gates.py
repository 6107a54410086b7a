"""Questions of flows as people meet them: parked, answered from elsewhere and later, refused, raced for, told of."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.acceptance.cli_user import Ran, User, gates_of, leaving_nothing, make_user, processes_of, wait_for
from tests.warm import Started

from drumline.core.events import Event, GateAnswered
from drumline.store.sqlite import SqliteStore

ASK = """\
name: ask
start: review
nodes:
  review:
    type: approval
    question: Ship it?
    options: ["yes", "no"]
    routes: {"yes": who, "no": dropped}
    on_other: noted
    state_updates: {said: "{{choice}}"}
  who:
    type: input
    question: Who ships it?
    default: "team {{initial_prompt}}"
    validation: len(input) >= 3
    state_updates: {who: "{{input}}"}
    next: done
  noted: {type: end, output: "noted: {{said}}"}
  dropped: {type: end, output: dropped, status: rejected}
  done: {type: end, output: "shipped by {{who}}"}
"""
BOTH = """\
name: both
start: begin
reducers: {got: append}
nodes:
  begin: {type: set, values: {got: start}, next: [left, right]}
  left: {type: agent, agent: asker, prompt: left, state_updates: {got: "left {{output}}"}, next: done}
  right: {type: agent, agent: asker, prompt: right, state_updates: {got: "right {{output}}"}, next: done}
  done: {type: end, output: "{{got}}"}
"""
ASKER = """\
name: asker
start: sure thing
nodes:
  sure thing:
    type: approval
    question: Is {{initial_prompt}} sure?
    options: [sure, not really]
    routes: {sure: good, not really: bad}
    on_other: bad
    state_updates: {said: "{{choice}}"}
  good: {type: end, output: good}
  bad: {type: end, output: "bad ({{said}})"}
"""
SLY = """\
name: sly
start: begin
nodes:
  begin: {type: set, values: {n: 1}, next: [asks, sly]}
  asks: {type: agent, agent: asker, prompt: it, state_updates: {got: "{{output}}"}, next: done}
  sly: {type: script, script: sly.sh, timeout: 120, state_updates: {}, next: done}
  done: {type: end, output: "{{got}}, the script got {{code}}: {{told}}"}
"""
FLOWS = {"ask": ASK, "both": BOTH, "asker": ASKER, "sly": SLY}
LEFT, RIGHT = "left#1/sure thing", "right#1/sure thing"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """Somebody with flows in sibling folders."""
    found = make_user(tmp_path)
    for name, text in FLOWS.items():
        (found.repo / "flows" / name).mkdir(parents=True)
        (found.repo / "flows" / name / "graph.yaml").write_text(text, encoding="utf-8")
    with leaving_nothing(tmp_path):
        yield found


def walk(user: User, flow: str, *args: str) -> Ran:
    """Walk a flow without a terminal."""
    return user.drumline("flow", "run", f"flows/{flow}", *args)


def answers(user: User) -> list[GateAnswered]:
    """Every answer in the journal, read without a command."""
    store = SqliteStore.open(user.repo / ".git" / "drumline" / "state.db", read_only=True)
    try:
        events: Sequence[Event] = [entry.event for run in store.runs() for entry in store.tail(run)]
        return [event for event in events if isinstance(event, GateAnswered)]
    finally:
        store.close()


def race(*started: Started) -> list[Ran]:
    """Wait for commands that were typed at the same time."""
    texts = [process.communicate() for process in started]
    return [Ran(code=p.returncode, out=out, err=err) for p, (out, err) in zip(started, texts, strict=True)]


def test_a_question_parks_the_run_and_every_answer_leads_on_from_another_process(user: User) -> None:
    asked = walk(user, "ask", "--prompt", "red")
    left = processes_of(user.folder)
    first = user.drumline("answer", "review", "yes")
    recorded = user.status()
    resumed = user.drumline("resume")
    second = user.drumline("answer", "who", "kim", "--resume")

    assert (asked.code, asked.out, left) == (2, "", [])
    assert "Ship it?" in asked.err
    assert "drumline answer review yes --resume" in asked.err
    assert (first.code, first.out) == (0, "answered review: yes\n")
    assert f"drumline resume {recorded['run']}" in first.err
    assert gates_of(recorded) == []
    assert resumed.code == 2
    assert "Who ships it? [default: team red]" in resumed.err
    assert "len(input) >= 3" in resumed.err
    assert (second.code, second.out) == (0, "shipped by kim\n")
    assert [(a.gate, a.choice, a.by, a.channel) for a in answers(user)] == [
        ("review", "yes", "kim", "cli"),
        ("who", "kim", "kim", "cli"),
    ]


def test_an_answer_outside_the_options_follows_on_other(user: User) -> None:
    walk(user, "ask")

    other = user.drumline("answer", "review", "not before {{said}} tea", "--resume")

    assert (other.code, other.out) == (0, "noted: not before {{said}} tea\n")


def test_an_option_may_reject_and_the_exit_code_says_so(user: User) -> None:
    walk(user, "ask")

    rejected = user.drumline("answer", "review", "no", "--resume")

    assert (rejected.code, rejected.out) == (1, "dropped\n")
    assert (user.status()["state"], user.status()["status"]) == ("rejected", "rejected")


def test_an_input_that_breaks_its_rule_is_refused_and_can_be_given_again(user: User) -> None:
    walk(user, "ask")
    user.drumline("answer", "review", "yes", "--resume")

    refused = user.drumline("answer", "who", "me", "--resume")
    machine = user.drumline("answer", "who", "me", "--json")
    still = user.status()
    given = user.drumline("answer", "who", "me too", "--resume")

    assert refused.code == 3
    assert "the answer to 'who' has 2 bytes; legal is len(input) >= 3" in refused.err
    assert "drumline answer who TEXT" in refused.err
    assert (machine.code, machine.json["ok"]) == (3, False)
    assert (still["state"], gates_of(still)) == ("parked", ["who"])
    assert (given.code, given.out) == (0, "shipped by me too\n")


def test_an_empty_input_takes_the_default(user: User) -> None:
    walk(user, "ask", "--prompt", "blue")
    user.drumline("answer", "review", "yes", "--resume")

    given = user.drumline("answer", "who", "", "--resume")

    assert (given.code, given.out) == (0, "shipped by team blue\n")


def test_a_question_that_is_not_asked_is_refused_with_those_that_are(user: User) -> None:
    walk(user, "ask")

    unknown = user.drumline("answer", "who", "kim")
    user.drumline("answer", "review", "yes")
    again = user.drumline("answer", "review", "no")

    assert (unknown.code, again.code) == (3, 3)
    assert "has no gate 'who' (open: review)" in unknown.err
    assert "gate 'review' was answered 'yes' by kim already" in again.err


def test_questions_of_called_flows_have_ids_that_can_be_pasted_into_a_shell(user: User) -> None:
    asked = walk(user, "both")
    gates = user.status()["gates"]
    assert isinstance(gates, list)
    hints = {gate["id"]: str(gate["hint"]) for gate in gates}

    for hint in hints.values():
        words = hint.replace("drumline", f"{shlex.quote(sys.executable)} -m drumline", 1).removesuffix(" --resume")
        typed = subprocess.run(["bash", "-c", words], cwd=user.repo, env=user.env, check=False, capture_output=True)
        assert typed.returncode == 0, typed.stderr
    ended = user.drumline("resume")

    assert asked.code == 2
    assert set(hints) == {LEFT, RIGHT}
    assert f"drumline answer '{LEFT}' sure" in asked.err
    assert (ended.code, ended.out) == (0, '["start","left good","right good"]\n')


def test_of_two_answers_at_once_one_counts_and_the_other_is_told(user: User) -> None:
    rounds = 3
    runs = []
    for _ in range(rounds):
        walk(user, "both")
        runs.append(str(user.status()["run"]))

    for run in runs:
        for gate in (LEFT, RIGHT):
            pair = ("sure", "not really")
            told = race(*(user.start("answer", gate, choice, "--run", run) for choice in pair))
            codes = [ran.code for ran in told]
            assert sorted(codes) == [0, 3], told
            assert f"answered {pair[codes.index(0)]!r} by kim" in told[codes.index(3)].err
            assert gate in told[codes.index(3)].err

    kept = answers(user)
    assert len(kept) == 2 * rounds
    assert [user.drumline("resume", run).code for run in runs] == [0] * rounds
    assert len(answers(user)) == len(kept)


def test_two_who_answer_different_questions_and_drive_on_do_not_get_in_each_others_way(user: User) -> None:
    walk(user, "both")

    told = race(*(user.start("answer", gate, "sure", "--resume") for gate in (LEFT, RIGHT)))
    codes = [ran.code for ran in told]

    # Whoever is first may have parked again before the other has spoken; nobody is told of an error.
    assert set(codes) <= {0, 2}, told
    assert 0 in codes
    assert user.status()["state"] == "done"
    assert {"left good", "right good"} <= set(json.loads(str(user.status()["output"])))
    assert len(answers(user)) == 2


def test_scripts_get_one_object_from_an_answer(user: User) -> None:
    walk(user, "ask")
    run = user.status()["run"]

    recorded = user.drumline("answer", "review", "later", "--json")
    late = user.drumline("answer", "review", "no", "--json")

    assert recorded.json == {"schema_version": 1, "ok": True, "run": run, "driven": False}
    assert (late.code, late.json["ok"]) == (3, False)
    assert "'later' by kim" in str(late.json["error"])


def test_a_run_with_json_reports_its_questions_and_after_them_its_end(user: User) -> None:
    parked = walk(user, "ask", "--json")
    ended = user.drumline("answer", "review", "hm", "--resume", "--json")

    asked = next(line for line in parked.lines if line.get("event") == "gate")
    assert parked.code == 2
    assert (asked["gate"], asked["question"], asked["options"]) == ("review", "Ship it?", ["yes", "no"])
    assert parked.lines[-1]["state"] == "parked"
    assert ended.code == 0
    assert (ended.lines[-1]["state"], ended.lines[-1]["output"]) == ("done", "noted: hm")


def test_what_a_flow_has_started_does_not_answer_in_a_persons_place(user: User) -> None:
    script = (
        f"told=$({shlex.quote(sys.executable)} -m drumline answer 'asks#1/sure thing' sure 2>&1)\n"
        'printf \'{"code": %d, "told": "%s"}\' $? "$(head -n 1 <<<"$told" | tr -d \'"\')"\n'
    )
    (user.repo / "flows" / "sly" / "sly.sh").write_text(script, encoding="utf-8")

    parked = walk(user, "sly")
    open_gates = gates_of(user.status())
    ended = user.drumline("answer", "asks#1/sure thing", "no idea", "--resume")

    assert parked.code == 2
    assert open_gates == ["asks#1/sure thing"]
    assert ended.code == 0
    assert ended.out.startswith("bad (no idea), the script got 3: ")
    assert "a person has to say this" in ended.out


def test_a_parked_flow_tells_somebody_through_the_configured_command(user: User) -> None:
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text("notify = 'cat > $HOME/told; echo $DRUMLINE_GATES >> $HOME/told'\n", encoding="utf-8")

    walk(user, "ask")

    assert (user.folder / "home" / "told").read_text(encoding="utf-8") == "Ship it?review\n"


def test_a_live_driver_takes_up_an_answer_that_was_given_elsewhere(user: User) -> None:
    hold = 'while [ ! -e $HOME/go ]; do sleep 0.05; done; echo \'{"code": 0, "told": "held"}\'\n'
    (user.repo / "flows" / "sly" / "sly.sh").write_text(hold, encoding="utf-8")
    process = user.start("flow", "run", "flows/sly")
    wait_for(lambda: user.drumline("status").code == 0 and gates_of(user.status()), "no gate")

    answered = user.drumline("answer", "asks#1/sure thing", "sure", "--json")
    wait_for(lambda: user.status()["recent"] and not gates_of(user.status()), "the answer was not taken up")
    before = user.status()["state"]
    (user.folder / "home" / "go").touch()
    out, _ = process.communicate()

    assert answered.json["driven"] is True
    assert before == "running"
    assert (process.returncode, out) == (0, "good, the script got 0: held\n")


def test_a_run_that_was_to_be_tried_again_is_cancelled_all_the_same(user: User) -> None:
    walk(user, "ask", "--prompt", "red")
    retried = user.drumline("retry", "flow")
    cancelled = user.drumline("cancel")

    assert retried.code == 0, retried.text
    assert (cancelled.code, cancelled.out) == (0, "cancelled\n")
    assert user.status()["state"] == "cancelled"


def test_a_cancelled_run_asks_nothing_any_more(user: User) -> None:
    walk(user, "ask")

    cancelled = user.drumline("cancel", "--reason", "changed our minds")
    late = user.drumline("answer", "review", "yes")

    assert cancelled.code == 0
    assert (user.status()["state"], late.code) == ("cancelled", 3)
    assert "drumline resume" in late.err
