"""Running a plan: what lands, what goes back to the agent, what is asked, and how each run ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.userland import (
    PLAN,
    SCRIPTED,
    User,
    gates_of,
    leaving_nothing,
    make_user,
    states_of,
    step_text,
    wait_for,
)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]), step_text("step-3"))


# --- what lands -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
def test_a_run_lands_every_step_once_with_its_trailers_and_leaves_the_checkout_alone(user: User, mode: str) -> None:
    head = user.git("rev-parse", "HEAD")

    ran = user.run("--mode", mode)

    status = user.status()
    assert ran.code == 0
    assert set(states_of(status).values()) == {"done"}
    branch = str(status["branch"])
    trailers = user.git("log", "--format=%(trailers:key=Drumline-Step,valueonly,separator=%x2C)", f"main..{branch}")
    assert sorted(trailers.split()) == ["step-1", "step-2", "step-3"]
    assert str(status["run"]) in user.git("log", "-1", "--format=%(trailers:key=Drumline-Run)", branch)
    assert user.git("ls-tree", "--name-only", branch, "step-1.txt", "step-2.txt", "step-3.txt").count("\n") == 2
    assert user.git("rev-parse", "HEAD") == head
    assert not (user.repo / "step-1.txt").exists()


def test_sequential_mode_follows_the_plan_one_by_one(user: User) -> None:
    user.run("--mode", "sequential", "--jobs", "4")

    subjects = user.git("log", "--reverse", "--format=%s", f"main..{user.branch()}").splitlines()
    assert subjects == ["[step-1] Make step-1", "[step-2] Make step-2", "[step-3] Make step-3"]


def test_parallel_mode_works_on_independent_steps_at_the_same_time(user: User) -> None:
    meet = "touch $HOME/$DRUMLINE_STEP; for i in $(seq 1200); do [ -e $HOME/{} ] && exit 0; sleep 0.05; done; exit 1"
    user.play(
        {"match": {"step": "step-1"}, "run": meet.format("step-3"), "write": {"step-1.txt": "1\n"}},
        {"match": {"step": "step-3"}, "run": meet.format("step-1"), "write": {"step-3.txt": "3\n"}},
    )

    ran = user.run("--mode", "parallel", "--jobs", "2")

    assert ran.code == 0


def test_one_job_is_one_step_at_a_time_even_in_parallel_mode(user: User) -> None:
    alone = "mkdir $HOME/busy && sleep 0.2 && rmdir $HOME/busy"

    ran = user.run("--mode", "parallel", "--jobs", "1", agent=f"command:{alone} && touch $DRUMLINE_STEP.txt")

    assert ran.code == 0


def test_a_command_agent_gets_its_prompt_on_stdin_and_in_a_file(user: User) -> None:
    command = 'command:cat > $DRUMLINE_STEP.txt && diff $DRUMLINE_STEP.txt "$DRUMLINE_PROMPT_FILE" && echo all well'

    ran = user.run(agent=command)

    assert ran.code == 0
    assert "Write the file of step-2." in user.landed("step-2.txt")
    assert "all well" in user.drumline("logs", "step-2").out


def test_a_check_from_the_configuration_judges_every_step(user: User) -> None:
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text('checks = ["test ! -f step-3.txt"]\nretries = 0\n', encoding="utf-8")

    ran = user.run()

    assert ran.code == 2
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done", "step-3": "blocked"}


@pytest.mark.parametrize("given", ["text", "file"])
def test_context_reaches_every_prompt(user: User, given: str) -> None:
    (user.repo / "context.md").write_text("Mind the gap.\n", encoding="utf-8")

    ran = user.run("--context", "Mind the gap." if given == "text" else "@context.md")

    assert ran.code == 0
    for step in ("step-1", "step-2", "step-3"):
        assert "Mind the gap." in user.prompt(step)


# --- failures ---------------------------------------------------------------------------------------------------


def test_a_failing_check_goes_back_with_its_output_until_it_passes(user: User) -> None:
    user.edit("step-1", "`test -f step-1.txt`", "`echo so-it-says; grep right step-1.txt`")
    user.play(
        {"match": {"step": "step-1", "attempt": 3}, "write": {"step-1.txt": "right\n"}},
        {"match": {"step": "step-1"}, "write": {"step-1.txt": "wrong\n"}},
    )

    ran = user.run()

    assert ran.code == 0
    assert "fix 1 of 2" in ran.err
    assert "fix 2 of 2" in ran.err
    assert "failed this check" not in user.prompt("step-1", 1)
    assert "so-it-says\n" in user.prompt("step-1", 2)
    assert user.step("step-1")["attempts"] == 3
    assert user.landed("step-1.txt") == "right"


def test_after_two_fixes_the_step_is_blocked_and_the_rest_goes_on(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "say": "I think it is done"})

    ran = user.run()

    status = user.status()
    assert ran.code == 2
    assert status["state"] == "blocked"
    assert states_of(status) == {"step-1": "blocked", "step-2": "waiting", "step-3": "done"}
    assert user.step("step-1")["attempts"] == 3
    assert "still failing after 2 fixes" in user.drumline("why", "step-1").out
    assert "step-1" in user.drumline("why", "step-2").out
    assert "status: blocked\n" in user.file("step-1")
    assert "test -f step-1.txt" in user.file("step-1").partition("---\n# ")[0]
    assert "status: ready\n" in user.file("step-2")


def test_a_blocked_run_is_continued_by_retry(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "say": "I think it is done"})
    user.run("--retries", "0")
    user.play()

    retried = user.drumline("retry", "step-1", "--resume")

    assert retried.code == 0
    assert set(states_of(user.status()).values()) == {"done"}
    assert "status: done\n" in user.file("step-1")


def test_retry_without_resume_waits_for_resume(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "say": "I think it is done"})
    user.run("--retries", "0")
    user.play()

    retried = user.drumline("retry", "step-1")
    resumed = user.drumline("resume")

    assert (retried.code, resumed.code) == (0, 0)
    assert "next: drumline resume" in retried.err


def test_resume_may_name_the_step_to_retry(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "say": "I think it is done"})
    user.run("--retries", "0")
    user.play()

    assert user.drumline("resume").code == 2
    assert user.drumline("resume", "--step", "step-1").code == 0


def test_skip_needs_a_reason_and_lets_dependents_go_on(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "say": "I think it is done"})
    user.run("--retries", "0")

    without = user.drumline("skip", "step-1")
    skipped = user.drumline("skip", "step-1", "--reason", "not needed: yet", "--resume")

    assert (without.code, skipped.code) == (3, 0)
    assert states_of(user.status()) == {"step-1": "skipped", "step-2": "done", "step-3": "done"}
    assert "not needed: yet" in user.drumline("why", "step-1").out
    assert "status: skipped\n" in user.file("step-1")


def test_what_passes_by_itself_is_waited_for_and_uses_up_no_fix(user: User) -> None:
    user.play(
        {"match": {"step": "step-1", "attempt": 1}, "fail": {"class": "transient", "message": "429 slow down"}},
        {"match": {"step": "step-1", "attempt": 2}, "say": "forgot the file"},
    )

    ran = user.run("--retries", "1")

    assert ran.code == 0
    assert "attempt 2 in 2" in ran.err
    assert "fix 1 of 1" in ran.err
    assert user.step("step-1")["attempts"] == 3


def test_while_a_step_waits_why_names_the_timer(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "fail": {"class": "transient", "message": "429 slow down"}})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--step", "step-1")

    wait_for(
        lambda: user.drumline("why", "step-1", "--json").out.find('"kind":"timer"') > 0 or process.poll() is not None,
        "no timer was named",
    )
    told = user.drumline("why", "step-1")
    process.communicate()

    assert "waits before the next try" in told.out
    assert process.returncode == 2
    assert "3 times in a row: 429 slow down" in user.drumline("why", "step-1").out


def test_what_cannot_be_helped_fails_the_step_and_the_run(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "fail": {"class": "permanent", "message": "no such model"}})

    ran = user.run()

    assert ran.code == 1
    assert user.status()["state"] == "failed"
    assert "no such model" in user.drumline("why", "step-1").out
    assert "status: failed\n" in user.file("step-1")
    assert states_of(user.status())["step-3"] == "done"


def test_an_agent_that_is_not_logged_in_blocks_the_step(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "fail": {"class": "auth", "message": "401"}})

    ran = user.run()

    assert ran.code == 2
    assert "not logged in: 401" in user.drumline("why", "step-1").out


def test_a_command_that_does_not_exist_fails_clearly(user: User) -> None:
    ran = user.run("--step", "step-1", agent="command:no-such-agent --now")

    assert ran.code == 1
    assert "no-such-agent" in ran.text
    assert "not found" in user.drumline("why", "step-1").out
    assert user.step("step-1")["attempts"] == 1


def test_a_check_whose_program_is_missing_is_not_passed(user: User) -> None:
    user.edit("step-1", "`test -f step-1.txt`", "`no-such-linter .`")

    ran = user.run("--step", "step-1", "--retries", "0")

    assert ran.code == 2
    assert user.step("step-1")["proved"] is False


# --- parts of a plan --------------------------------------------------------------------------------------------


def test_a_single_step_ends_with_a_report(user: User) -> None:
    user.edit("step-3", "it holds: `test -f step-3.txt`\n", "it holds: `test -f step-3.txt`\n- [ ] also: `true`\n")

    ran = user.run("--step", "step-3")

    assert ran.code == 0
    for found in ("step-3", "done", "step-3.txt", "2/2", "1"):
        assert found in ran.out
    assert states_of(user.status()) == {"step-1": "waiting", "step-2": "waiting", "step-3": "done"}


def test_a_single_steps_report_is_also_json(user: User) -> None:
    ran = user.run("--step", "step-3", "--json")

    report = next(line for line in ran.lines if line.get("event") == "report")
    assert report["step"] == "step-3"
    assert report["result"] == "done"
    assert report["files"] == ["step-3.txt"]
    assert report["checks"] == {"passed": 1, "total": 1}
    assert report["manual"] == []
    assert report["attempts"] == 1


def test_step_next_takes_the_first_that_is_pending(user: User) -> None:
    user.edit("step-1", "status: ready", "status: done")

    ran = user.run("--step", "next")

    assert ran.code == 0
    assert states_of(user.status())["step-2"] == "done"
    assert states_of(user.status())["step-3"] != "done"


def test_step_next_prefers_a_step_left_in_progress(user: User) -> None:
    user.edit("step-3", "status: ready", "status: claimed\nassignee: gone\nclaimed_at: 2020-01-01T00:00:00Z")

    ran = user.run("--step", "next")

    assert ran.code == 0
    assert states_of(user.status())["step-3"] == "done"
    assert states_of(user.status())["step-1"] != "done"


def test_step_next_says_when_nothing_is_left(user: User) -> None:
    for step in ("step-1", "step-2", "step-3"):
        user.edit(step, "status: ready", "status: done")

    ran = user.run("--step", "next")

    assert ran.code == 3
    assert "no step is left" in ran.err


def test_only_and_from_choose_steps(user: User) -> None:
    only = user.run("--only", "step-3,step-1")
    chosen = states_of(user.status())
    rest = user.run("--from", "step-2", "--new")

    assert (only.code, rest.code) == (0, 0)
    assert chosen == {"step-1": "done", "step-2": "waiting", "step-3": "done"}
    assert states_of(user.status())["step-2"] == "done"
    assert "not part of this run" in user.drumline("why", "step-2", "--run", str(_older(user))).out


def test_unmet_needs_of_a_named_step_are_asked_about_and_yes_goes_on(user: User) -> None:
    ran = user.run("--step", "step-2")

    assert ran.code == 2
    assert gates_of(user.status()) == ["proceed-step-2"]
    assert "step-2 needs step-1" in ran.text
    answered = user.drumline("answer", "proceed-step-2", "yes", "--resume")
    assert answered.code == 0
    assert states_of(user.status())["step-2"] == "done"


def test_unmet_needs_of_a_named_step_and_no_blocks_it(user: User) -> None:
    user.run("--step", "step-2")

    answered = user.drumline("answer", "proceed-step-2", "no", "--resume")

    assert answered.code == 2
    assert states_of(user.status())["step-2"] == "blocked"
    assert "said not to proceed" in user.drumline("why", "step-2").out


# --- gates ------------------------------------------------------------------------------------------------------


def test_a_wave_that_left_something_to_look_at_is_asked_about(user: User) -> None:
    _add_something_to_look_at(user)

    ran = user.run("--autonomy", "critical")

    assert ran.code == 2
    assert "the colours are nice" in ran.text
    assert gates_of(user.status()) == ["wave-1"]
    assert states_of(user.status()) == {"step-1": "done", "step-2": "waiting", "step-3": "done"}
    assert "wave-1" in user.drumline("why", "step-2").out
    assert user.drumline("answer", "wave-1", "continue", "--resume").code == 0
    assert set(states_of(user.status()).values()) == {"done"}


def test_stopping_at_a_wave_ends_the_run(user: User) -> None:
    _add_something_to_look_at(user)
    user.run("--autonomy", "critical")

    answered = user.drumline("answer", "wave-1", "stop", "--comment", "they are not", "--resume")

    assert answered.code == 1
    assert user.status()["state"] == "failed"
    assert "they are not" in str(user.status()["reason"])


def test_autopilot_asks_nothing_about_waves(user: User) -> None:
    _add_something_to_look_at(user)

    assert user.run("--autonomy", "autopilot").code == 0


def test_the_plan_may_say_how_often_people_are_asked(user: User) -> None:
    root = user.repo / PLAN / "root.md"
    root.write_text("---\nautonomy: verbose\n---\n# A small plan\n", encoding="utf-8")

    ran = user.drumline("run", PLAN, "--agent", SCRIPTED, "--step", "step-3")

    assert ran.code == 2
    assert gates_of(user.status()) == ["approve-step-3"]


def test_verbose_asks_before_each_landing_and_approval_lands(user: User) -> None:
    ran = user.run("--autonomy", "verbose", "--step", "step-3")
    before = user.step("step-3")

    answered = user.drumline("answer", "approve-step-3", "approve", "--resume")

    assert (ran.code, answered.code) == (2, 0)
    assert before["state"] == "parked"
    assert before["commit"] is None
    assert user.landed("step-3.txt") == "3"


def test_a_revision_reaches_the_prompt_and_is_asked_about_again(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    revised = user.drumline("answer", "approve-step-3", "revise", "--comment", "Use fewer words.", "--resume")

    assert revised.code == 2
    assert "Use fewer words." in user.prompt("step-3", 2)
    assert gates_of(user.status()) == ["approve-step-3.2"]
    assert user.drumline("answer", "approve-step-3.2", "approve", "--resume").code == 0


def test_a_rejection_fails_the_step(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    rejected = user.drumline("answer", "approve-step-3", "reject", "--comment", "not like this", "--resume")

    assert rejected.code == 1
    assert user.step("step-3")["state"] == "failed"
    assert "rejected: not like this" in user.drumline("why", "step-3").out
    assert "rejected: not like this" in user.file("step-3")


def test_an_answer_outside_the_options_is_refused_with_what_is_legal(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    odd = user.drumline("answer", "approve-step-3", "maybe")
    unknown = user.drumline("answer", "approve-step-9", "approve")

    assert (odd.code, unknown.code) == (3, 3)
    assert "approve, revise, reject" in odd.err
    assert "approve-step-3" in unknown.err


def test_of_two_answers_at_once_one_counts_and_the_other_is_told(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    typed = [user.start("answer", "approve-step-3", choice) for choice in ("approve", "reject")]
    told = [process.communicate()[1] for process in typed]

    codes = [process.returncode for process in typed]
    assert sorted(codes) == [0, 3]
    winner, loser = codes.index(0), codes.index(3)
    assert ("approve", "reject")[winner] in told[loser]
    assert "approve-step-3" in told[loser]


def test_a_live_driver_picks_up_an_answer_given_elsewhere(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "run": "while [ ! -e $HOME/go ]; do sleep 0.05; done; touch step-1.txt"})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--autonomy", "verbose", "--only", "step-1,step-3")
    wait_for(lambda: user.drumline("status").code == 0, "no run")
    wait_for(lambda: gates_of(user.status()) == ["approve-step-3"], "no gate")

    answered = user.drumline("answer", "approve-step-3", "approve")
    wait_for(lambda: user.step("step-3")["state"] == "done", "the answer was not picked up")
    (user.folder / "home" / "go").touch()
    _, err = process.communicate()

    assert answered.code == 0
    assert "next:" not in answered.err
    assert process.returncode == 2
    assert "answered approve" in err


def test_a_parked_run_tells_somebody_through_the_configured_command(user: User) -> None:
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text("notify = 'cat > $HOME/told; echo $DRUMLINE_GATES >> $HOME/told'\n", encoding="utf-8")

    user.run("--autonomy", "verbose", "--step", "step-3")

    told = (user.folder / "home" / "told").read_text(encoding="utf-8")
    assert "Land it?" in told
    assert "approve-step-3" in told


# --- the end of a run -------------------------------------------------------------------------------------------


def test_cancel_stops_a_parked_run_for_good(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    cancelled = user.drumline("cancel", "--reason", "changed my mind")

    assert cancelled.code == 0
    assert user.status()["state"] == "cancelled"
    assert "changed my mind" in str(user.status()["reason"])
    assert "status: ready\n" in user.file("step-3")
    assert user.drumline("resume").code == 3
    assert user.drumline("cancel").code == 3


def test_cancel_stops_a_live_run_and_its_agent(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "sleep": 600})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--step", "step-1")
    wait_for(lambda: "status: claimed" in user.file("step-1"), "never claimed")

    cancelled = user.drumline("cancel", "--reason", "changed my mind")
    process.communicate()

    assert cancelled.code == 0
    assert process.returncode == 1
    assert user.status()["state"] == "cancelled"
    assert "status: ready\n" in user.file("step-1")


def test_runs_lists_the_newest_first_and_a_run_may_be_named_by_its_end(user: User) -> None:
    user.run("--step", "step-1")
    user.run("--step", "step-3", "--new")

    listed = user.drumline("runs", "--json").json["runs"]
    assert isinstance(listed, list)
    names = [str(run["run"]) for run in listed]
    shown = user.drumline("status", names[1][-3:], "--json").json

    assert names == sorted(names, reverse=True)
    assert len(names) == 2
    assert shown["run"] == names[1]


def test_logs_show_what_agent_and_check_said(user: User) -> None:
    user.edit("step-1", "`test -f step-1.txt`", "`echo checked-it`")
    user.play({"match": {"step": "step-1"}, "say": "hello from the agent"})
    user.run("--step", "step-1")

    shown = user.drumline("logs", "step-1")
    listed = user.drumline("logs", "step-1", "--json").json["logs"]

    assert "hello from the agent" in shown.out
    assert "checked-it" in shown.out
    assert "# Task" not in shown.out
    assert isinstance(listed, list)
    assert len(listed) == 2


def test_a_done_step_is_neither_retried_nor_skipped(user: User) -> None:
    user.run("--step", "step-1", "--autonomy", "autopilot")

    assert user.drumline("retry", "step-1").code == 3
    assert user.drumline("skip", "step-1", "--reason", "x").code == 3
    assert user.drumline("why", "step-9").code == 3


def _add_something_to_look_at(user: User) -> None:
    """The first wave is step-1 and step-3; the second needs both."""
    user.path("step-1").write_text(step_text("step-1", manual="the colours are nice"), encoding="utf-8")
    user.path("step-2").write_text(step_text("step-2", ["step-1", "step-3"]), encoding="utf-8")


def _older(user: User) -> object:
    listed = user.drumline("runs", "--json").json["runs"]
    assert isinstance(listed, list)
    return listed[-1]["run"]
