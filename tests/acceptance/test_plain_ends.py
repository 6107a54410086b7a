"""What people met at the edges of messages: each of them typed again, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, step_text

from drumline.cli import output
from drumline.cli.transcripts import log_lines


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """Somebody whose plan is done, merged and committed; one step has a check that prints nothing."""
    folder = tmp_path_factory.mktemp("ends")
    with leaving_nothing(folder):
        user = make_user(folder, step_text("step-1"), step_text("step-2", checks=["true"]))
        user.run("--require", "none")
        yield user


def test_what_was_merged_and_committed_is_not_called_uncommitted(user: User) -> None:
    before = user.type("attach").out
    user.git("config", "user.name", "Kim")
    user.git("config", "user.email", "kim@example.org")
    merged = user.type("merge", "--plan-files")
    after = user.type("attach").out

    assert merged.code == 0, merged.text
    assert f"not committed: marks in {PLAN}/root.md, {PLAN}/step-1.md, {PLAN}/step-2.md" in before
    assert "not committed" not in after
    assert "(nothing uncommitted)" in after


def test_a_finished_plan_without_an_agent_has_nothing_left_to_do(user: User) -> None:
    user.type("merge", "--plan-files")

    ran = user.type("run", PLAN)
    as_json = user.type("run", PLAN, "--json")

    assert (ran.code, ran.out) == (0, f"nothing is left to do in {PLAN}: its steps are done or skipped\n")
    assert (as_json.code, as_json.json["steps"]) == (0, [])


def test_reasons_are_words_and_the_next_command_is_our_own(user: User) -> None:
    shown = user.type("status").out
    ended = user.type("attach").out

    assert "kept: green before" in shown
    assert "green_before" not in shown
    assert f"  drumline merge {user.status()['run']}\n" in ended


def test_a_name_that_is_almost_right_is_answered_with_the_right_one(user: User) -> None:
    (user.repo / "plans" / "search").mkdir(exist_ok=True)
    (user.repo / "plans" / "search" / "root.md").write_text("# Search\n")

    plan = user.type("validate", "plans/serach")
    run = user.type("status", "nope")

    assert plan.code == run.code == 3
    assert "did you mean 'search'?" in plan.err
    assert "no run has an id that begins or ends with 'nope' (there: " in run.err


def test_a_dry_run_of_a_task_names_the_file_of_each_command_it_found(user: User) -> None:
    (user.repo / "Makefile").write_text("test:\n\ttrue\n")
    user.commit_all("make")

    shown = user.type("do", "Write it", "--agent", SCRIPTED, "--dry-run")

    assert shown.code == 0, shown.err
    assert "      check: make test  (Makefile)\n" in shown.out


def test_an_empty_log_leaves_one_blank_line(tmp_path: Path) -> None:
    log = tmp_path / "check-1.log"
    log.write_text("\n")

    assert list(log_lines(log, "check 1", (), raw=False))[1:] == [""]


def test_the_log_of_a_setup_command_is_cut_to_the_lines_that_decide(tmp_path: Path) -> None:
    log = tmp_path / "setup-verify.log"
    log.write_text("".join(f"line {n}\n" for n in range(100)) + "error: no such host\n" + "more\n" * 100)

    shown = list(log_lines(log, "setup", (), raw=False))

    assert "error: no such host" in shown
    assert len(shown) < 20
    assert len(list(log_lines(log, "setup", (), raw=True))) == 203


def test_long_text_on_a_terminal_is_broken_between_words_and_commands_are_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    output.say("  order: " + "every word of this line stays whole " * 3)
    output.say("  next: drumline run plans/p --agent claude --mode sequential")

    told = capsys.readouterr().err.splitlines()
    assert [len(line) <= 40 for line in told] == [*[True] * (len(told) - 1), False]
    assert len(told) > 3
    assert told[1].startswith("    ")
