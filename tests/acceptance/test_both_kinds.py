"""What a run does whatever it works through: every test here runs over a plan of one step and over a flow.

The rule: a person who knows one kind of run knows the other. Where they differ on purpose, the changelog says so.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text
from tests.acceptance.cli_user import (
    PLAN,
    SCRIPTED,
    Ran,
    User,
    gates_of,
    leaving_nothing,
    make_user,
    step_text,
    wait_for,
    write_plan,
    write_script,
)
from tests.acceptance.terminals import accept_commands, open_terminal

from drumline.core.events import AttemptStarted, ConfigRepinned, Event, GateAnswered, UsageCounted
from drumline.store.sqlite import SqliteStore

MORE = "echo made >> made.txt"
"""What changes something each time."""
FAR = {"class": "quota", "message": "come back", "resets_in": 5000}
HOLD = "touch $HOME/started; while [ ! -e $HOME/go ]; do sleep 0.05; done; touch made.txt"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """One kind of run: how it is begun, and what the places are called at which its agents work."""

    begin: Sequence[str]
    place: str
    later: str

    def write(self, user: User, check: str, *, twice: bool) -> None:
        """Write what is run: an agent works, then a check judges it; with `twice` an agent works once more after it."""
        if self is PLAN_RUN:
            steps = [step_text("step-1", checks=[check])]
            steps += [step_text("step-2", ["step-1"], checks=[check])] if twice else []
            write_plan(user.repo / PLAN, *steps)
            return
        after = "again" if twice else "done"
        nodes = {
            "work": {"type": "agent", "agent": "worker", "prompt": "work", "next": "test"},
            "test": {"type": "check", "checks": [check], "on_pass": after, "on_fail": "bad"},
            "bad": {"type": "end", "output": "bad", "status": "failed"},
            "done": {"type": "end", "output": "done"},
        }
        again = {"type": "agent", "agent": "worker", "prompt": "again", "next": "done"}
        (user.repo / "flow.yaml").write_text(flow_text("work", nodes | ({"again": again} if twice else {})))


PLAN_RUN = Kind(begin=("run", PLAN, "--autonomy", "autopilot"), place="step-1", later="step-2")
FLOW_RUN = Kind(begin=("flow", "run", "flow.yaml"), place="work", later="again")


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """Somebody who is about to begin a run of one kind."""

    user: User
    kind: Kind

    def prepare(self, *rules: dict[str, object], check: str = "test -f made.txt", twice: bool = False) -> None:
        """Write what is run and what its agent does; without a rule for it, it makes the file."""
        self.kind.write(self.user, check, twice=twice)
        made = {"match": {}, "write": {"made.txt": "made\n"}, "say": "made"}
        write_script(self.user.repo / "agent.yaml", [*rules, made])
        self.user.commit_all("prepared")

    def configure(self, text: str) -> None:
        """Write the configuration."""
        path = self.user.repo / ".drumline" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    @property
    def command(self) -> tuple[str, ...]:
        """What begins the run."""
        return (*self.kind.begin, "--agent", SCRIPTED)

    def begin(self, *args: str) -> Ran:
        """Begin the run and wait for what it comes to."""
        return self.user.drumline(*self.command, *args)

    @property
    def events(self) -> list[Event]:
        """Everything in the journal of the newest run."""
        store = SqliteStore.open(self.user.repo / ".git" / "drumline" / "state.db", read_only=True)
        try:
            return [entry.event for entry in store.tail(store.runs()[-1])]
        finally:
            store.close()

    @property
    def asked(self) -> int:
        """How often an agent was given work."""
        return sum(isinstance(event, AttemptStarted) for event in self.events)


@pytest.fixture(params=[PLAN_RUN, FLOW_RUN], ids=["plan", "flow"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    with leaving_nothing(tmp_path):
        yield Desk(user=make_user(tmp_path), kind=request.param)


def test_a_command_that_is_missing_blocks_the_run_and_sends_nobody_back_to_work(desk: Desk) -> None:
    desk.prepare(check="no-such-program --all")

    ran = desk.begin()

    status = desk.user.status()
    assert (ran.code, status["state"]) == (2, "blocked"), ran.err
    assert desk.asked == 1
    assert "no-such-program" in ran.text
    assert "not installed" in ran.text or "not found" in ran.text, ran.text


def test_a_check_that_is_killed_three_times_in_a_row_blocks_the_run(desk: Desk) -> None:
    desk.prepare(check="echo tried >> $HOME/tried; kill -9 $$")
    desk.configure(f"check_folders = ['{desk.user.folder / 'home'}']\n")

    ran = desk.begin()

    assert ran.code == 2, ran.err
    assert "killed from outside 3 times in a row: the check echo tried" in ran.err
    assert (desk.user.folder / "home" / "tried").read_text(encoding="utf-8") == 3 * "tried\n"


def test_a_detached_run_is_driven_in_the_background(desk: Desk) -> None:
    desk.prepare()

    begun = desk.begin("--detach")
    waited = desk.user.drumline("wait")

    assert begun.code == 0, begun.err
    assert "drumline attach" in begun.err
    assert (waited.code, waited.out) == (0, "done\n"), waited.err


def test_somebody_is_told_of_a_question_and_only_of_a_question(desk: Desk) -> None:
    desk.configure("notify = 'cat > $HOME/told; echo $DRUMLINE_GATES >> $HOME/told'\nbudget = 1.0\n")
    told = desk.user.folder / "home" / "told"
    desk.prepare({"match": {}, "fail": FAR})
    parked = desk.begin()
    after_quota = told.exists()
    desk.prepare({"match": {}, "run": MORE, "say": "made", "usage": {"cost_usd": 3.0}}, twice=True)

    ran = desk.begin(*(("--new",) if desk.kind is PLAN_RUN else ()))

    assert (parked.code, after_quota) == (2, False), parked.err
    assert ran.code == 2, ran.err
    assert told.read_text(encoding="utf-8").splitlines() == [
        "The run has spent $3.00 of the $1.00 it may. Proceed anyway?budget-1"
    ]


def test_after_a_no_to_more_money_the_run_is_blocked_and_a_retry_asks_again(desk: Desk) -> None:
    desk.configure("budget = 1.0\n")
    desk.prepare({"match": {}, "run": MORE, "say": "made", "usage": {"cost_usd": 3.0}}, twice=True)
    desk.begin()

    refused = desk.user.drumline("answer", "budget-1", "no", "--comment", "too dear", "--resume")
    status = desk.user.status()
    again = desk.user.drumline("retry", desk.kind.later, "--resume")
    open_gates = gates_of(desk.user.status())
    allowed = desk.user.drumline("answer", "budget-2", "yes", "--resume")

    assert (refused.code, status["state"]) == (2, "blocked"), refused.err
    assert "the budget is spent; a person said not to proceed" in str(status)
    assert (again.code, open_gates) == (2, ["budget-2"]), again.err
    assert allowed.code == 0, allowed.err
    answers = [event for event in desk.events if isinstance(event, GateAnswered)]
    assert [(answer.choice, answer.comment) for answer in answers] == [("no", "too dear"), ("yes", "")]


def test_an_agent_that_has_spent_what_it_was_given_waits_for_money_and_not_for_a_quota(desk: Desk) -> None:
    desk.configure("budget = 1.0\n")
    spent = {"class": "quota", "message": "the budget of this assignment is used up"}
    desk.prepare({"match": {"attempt": 1}, "fail": spent, "usage": {"cost_usd": 1.0}})

    parked = desk.begin()
    status = desk.user.status()
    ran = desk.user.drumline("answer", "budget-1", "yes", "--resume")

    assert (parked.code, gates_of(status)) == (2, ["budget-1"]), parked.err
    assert "waits for" not in parked.err
    assert "quota" not in str(status["reason"])
    assert ran.code == 0, ran.err
    assert desk.asked == 2


@pytest.mark.parametrize(
    ("failure", "means"),
    [("auth", "the agent is not logged in"), ("billing", "no credit"), ("killed", "killed from outside")],
)
def test_what_a_person_has_to_see_to_blocks_the_run_and_a_retry_goes_on(desk: Desk, failure: str, means: str) -> None:
    desk.prepare({"match": {}, "fail": {"class": failure, "message": "so"}, "usage": {"cost_usd": 1.0}})

    blocked = desk.begin()
    status = desk.user.status()
    desk.prepare()
    ran = desk.user.drumline("retry", desk.kind.place, "--resume")

    assert (blocked.code, status["state"]) == (2, "blocked"), blocked.err
    assert means in blocked.text
    assert "$" in blocked.text
    assert ran.code == 0, ran.err


def test_a_quota_far_away_parks_the_run_and_a_retry_does_not_wait_for_it(desk: Desk) -> None:
    desk.prepare({"match": {}, "fail": FAR})

    parked = desk.begin()
    status = desk.user.status()
    waits = desk.user.drumline("resume")
    desk.prepare()
    ran = desk.user.drumline("retry", desk.kind.place, "--resume")

    assert (parked.code, status["state"]) == (2, "parked"), parked.err
    assert isinstance(status["parked_until"], float)
    assert "come back" in parked.err
    assert "1h 23m" in parked.err
    assert waits.code == 2
    assert ran.code == 0, ran.err
    assert desk.asked == 2


def test_a_parked_run_is_cancelled_and_takes_no_answer_any_more(desk: Desk) -> None:
    desk.prepare({"match": {}, "ask": "Tabs or spaces?"})
    desk.begin()

    cancelled = desk.user.drumline("cancel")

    late = desk.user.drumline("answer", gates_of(desk.user.status())[0], "tabs")
    assert cancelled.code == 0, cancelled.err
    assert desk.user.status()["state"] == "cancelled"
    assert (late.code, "is cancelled" in late.err) == (3, True)


def test_an_agent_s_question_is_answered_from_elsewhere_and_reaches_it(desk: Desk) -> None:
    desk.prepare({"match": {"attempt": 1}, "ask": "Tabs or 'spaces'?"})
    asked = desk.begin()
    gate = gates_of(desk.user.status())[0]

    empty = desk.user.drumline("answer", gate, " ")
    ran = desk.user.drumline("answer", gate, "tabs", "--resume")

    assert asked.code == 2, asked.err
    assert "Tabs or 'spaces'?" in asked.err
    assert f"drumline answer {gate} TEXT --resume" in asked.text
    assert empty.code == 3
    assert f"an answer must not be empty; gate {gate!r}" in empty.err
    assert ran.code == 0, ran.err
    assert desk.asked == 2


def test_a_run_whose_driver_was_killed_is_taken_over(desk: Desk) -> None:
    desk.prepare({"match": {"attempt": 1}, "run": HOLD, "say": "made"})
    process = desk.user.start(*desk.command)
    wait_for((desk.user.folder / "home" / "started").exists, "the agent did not begin")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (desk.user.folder / "home" / "go").touch()

    ran = desk.user.drumline("resume")

    assert ran.code == 0, ran.err
    assert desk.user.status()["state"] == "done"
    assert desk.asked == 2


def test_a_second_driver_of_a_live_run_ends_with_what_the_first_comes_to(desk: Desk) -> None:
    desk.prepare({"match": {"attempt": 1}, "run": HOLD, "say": "made"})
    first = desk.user.start(*desk.command)
    wait_for((desk.user.folder / "home" / "started").exists, "the agent did not begin")
    second = desk.user.start("resume")
    assert second.stderr is not None
    seen = second.stderr.readline()
    time.sleep(0.5)
    (desk.user.folder / "home" / "go").touch()

    codes = [process.wait(60) for process in (first, second)]
    for process in (first, second):
        process.communicate()

    assert seen.startswith("joining run")
    assert codes == [0, 0]
    assert desk.asked == 1


def test_a_second_driver_takes_over_when_the_first_is_killed(desk: Desk) -> None:
    desk.prepare({"match": {"attempt": 1}, "run": HOLD, "say": "made", "usage": {"input": 7, "cost_usd": 0.25}})
    first = desk.user.start(*desk.command)
    wait_for((desk.user.folder / "home" / "started").exists, "the agent did not begin")
    second = desk.user.start("resume")
    assert second.stderr is not None
    waits = [second.stderr.readline(), second.stderr.readline()]
    first.send_signal(signal.SIGKILL)
    first.communicate()
    (desk.user.folder / "home" / "go").touch()

    code = second.wait(60)
    second.communicate()

    assert waits[0].startswith("joining run")
    assert waits[1] == "waiting: steps are in work\n"
    assert code == 0
    assert desk.asked == 2


def test_the_run_counts_what_its_agents_use(desk: Desk) -> None:
    desk.prepare({"match": {}, "run": MORE, "usage": {"input": 7, "cost_usd": 0.25}}, twice=True)

    ran = desk.begin()

    assert ran.code == 0, ran.err
    counted: dict[str, float] = {}
    for event in desk.events:
        if isinstance(event, UsageCounted):
            counted[event.step] = event.usage["cost_usd"]
    assert sum(counted.values()) == 0.5


def test_a_run_is_told_to_programs_in_one_shape(desk: Desk) -> None:
    desk.prepare({"match": {}, "write": {"made.txt": "made\n"}, "say": "made", "usage": {"input": 7, "cost_usd": 0.25}})

    *lines, summed, status = desk.begin("--json").lines
    told = [line for line in lines if line["event"] != "warning"]

    run = status["run"]
    assert {(line["run"], type(line["seq"]), type(line["at"])) for line in told} == {(run, int, float)}
    assert [line["seq"] for line in told] == sorted(line["seq"] for line in told)  # type: ignore[type-var]
    assert (summed["event"], summed["state"], summed["total"]) == ("summary", "done", 1)
    assert (status["state"], status["usage"]["cost_usd"]) == ("done", 0.25)  # type: ignore[index]
    assert [step["state"] for step in status["steps"]] == ["done"]  # type: ignore[attr-defined]
    assert status == {**desk.user.status(), "drivers": status["drivers"]}


def test_what_is_known_of_a_run_is_told_without_naming_a_place(desk: Desk) -> None:
    desk.prepare(
        {"match": {"attempt": 1}, "ask": "Tabs or spaces?"}, {"match": {}, "run": "touch made.txt", "say": "made"}
    )
    desk.begin()

    parked = desk.user.drumline("why")
    gate = gates_of(desk.user.status())[0]
    desk.user.drumline("answer", gate, "tabs", "--comment", "as ever", "--resume")
    over, logs, attached = (desk.user.drumline(word) for word in ("why", "logs", "attach"))

    assert f"run {desk.user.status()['run']} is parked: " in parked.out
    assert "Tabs or spaces?" in parked.out
    assert f"drumline answer {gate} TEXT --resume" in parked.err
    assert " is done: " in over.out
    assert ("run touch made.txt\nmade" in logs.out, "check-" in logs.out) == (True, True)
    assert (attached.code, f"{gate} tabs by kim: as ever" in attached.out) == (0, True), attached.out


def repinned(desk: Desk) -> list[tuple[str, ...]]:
    """What changed each time the run took the present configuration."""
    return [event.changed for event in desk.events if isinstance(event, ConfigRepinned)]


def test_what_is_tried_again_takes_the_present_configuration_and_says_what_differs(desk: Desk) -> None:
    desk.configure("check_timeout = 600\n")
    desk.prepare({"match": {}, "fail": {"class": "auth", "message": "so"}})
    desk.begin()
    desk.configure("check_timeout = 700\nbudget = 9.0\n")

    kept = desk.user.drumline("resume", "--config", "pinned")
    before = repinned(desk)
    desk.prepare()
    taken = desk.user.drumline("retry", desk.kind.place, "--resume")

    assert "  check_timeout: 600 → 700" in kept.err
    assert (before, "keeps what it began with" in kept.err) == ([], True)
    assert "  check_timeout: 600 → 700\n" in taken.err
    assert "  budget: (none) → 9\n" in taken.err
    assert repinned(desk) == [("budget", "check_timeout")]
    assert desk.user.status()["budget_usd"] == 9.0


def test_a_parked_run_goes_on_with_the_configuration_it_began_with(desk: Desk) -> None:
    desk.prepare({"match": {"attempt": 1}, "ask": "Tabs or spaces?"})
    desk.begin()
    desk.configure("budget = 9.0\n")

    ran = desk.user.drumline("answer", gates_of(desk.user.status())[0], "tabs", "--resume")

    assert (ran.code, repinned(desk), desk.user.status()["budget_usd"]) == (0, [], None), ran.err


def test_a_recorded_run_is_played_without_the_agent(desk: Desk, tmp_path: Path) -> None:
    desk.prepare()
    recording = tmp_path / "recorded.yaml"

    recorded = desk.begin("--record", str(recording))
    desk.user.git("clean", "-fdq")
    (desk.user.repo / "made.txt").unlink(missing_ok=True)
    new = ("--new",) if desk.kind is PLAN_RUN else ()
    played = desk.user.drumline(*desk.kind.begin, "--agent", f"scripted:{recording}", *new)

    assert (recorded.code, played.code) == (0, 0), recorded.err + played.err
    assert "made.txt" in recording.read_text(encoding="utf-8")


def test_at_a_terminal_a_closed_question_names_its_options_and_takes_a_comment(desk: Desk) -> None:
    desk.configure("budget = 1.0\n")
    desk.prepare({"match": {}, "run": MORE, "say": "made", "usage": {"cost_usd": 3.0}}, twice=True)

    accept_commands(desk.user, PLAN if desk.kind is PLAN_RUN else "flow.yaml")
    with open_terminal(desk.user) as terminal:
        terminal.type_command(*desk.command, *(("--mode", "sequential") if desk.kind is PLAN_RUN else ()))
        asked = terminal.await_text("Answer")
        terminal.press("perhaps", "Enter")
        refused = terminal.await_text("is not an option")
        terminal.press("no", "Enter")
        terminal.await_text("Comment")
        terminal.press("too dear", "Enter")
        terminal.await_text("exit=2")

    answers = [event for event in desk.events if isinstance(event, GateAnswered)]
    assert "own words" not in asked
    assert "yes, no" in asked
    assert "legal: yes, no" in refused
    assert [(answer.choice, answer.comment) for answer in answers] == [("no", "too dear")]


def test_at_a_terminal_a_question_answered_elsewhere_is_not_waited_for(desk: Desk) -> None:
    desk.configure("budget = 1.0\n")
    desk.prepare({"match": {}, "run": MORE, "say": "made", "usage": {"cost_usd": 3.0}}, twice=True)

    accept_commands(desk.user, PLAN if desk.kind is PLAN_RUN else "flow.yaml")
    with open_terminal(desk.user) as terminal:
        terminal.type_command(*desk.command, *(("--mode", "sequential") if desk.kind is PLAN_RUN else ()))
        terminal.await_text("Answer")
        desk.user.drumline("answer", "budget-1", "yes")
        end = terminal.await_text("exit=0")

    assert "budget-1 was answered 'yes' by kim meanwhile" in end
