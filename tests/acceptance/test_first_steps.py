"""The first minutes with Drumline: init, validate, graph, a dry run, doctor, help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, snapshot, step_text


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(
            tmp_path,
            step_text("step-1", manual="look at it"),
            step_text("step-2", ["step-1"]),
            step_text("step-3", ["step-1"], checks=["test -f step-3.txt", "test 1 = 1"]),
        )


def test_version_and_help_name_what_there_is(user: User) -> None:
    version = user.drumline("--version")
    helped = user.drumline("--help")

    assert version.out.startswith("drumline ")
    assert (version.code, helped.code) == (0, 0)
    for command in ("init", "validate", "graph", "run", "resume", "why", "answer", "attach", "wait", "doctor"):
        assert f"  {command} " in helped.out


def test_init_writes_a_configuration_that_explains_itself_and_changes_nothing(user: User) -> None:
    first = user.drumline("init")
    ran = user.run()

    config = (user.repo / ".drumline" / "config.toml").read_text(encoding="utf-8")
    assert (first.code, ran.code) == (0, 0)
    assert '# rigor = "standard"' in config
    assert "# checks = []" in config
    assert '# require = "kept"' in config
    assert not [line for line in config.splitlines() if line and not line.startswith("#")]


def test_init_leaves_a_configuration_as_it_is(user: User) -> None:
    user.drumline("init")
    config = user.repo / ".drumline" / "config.toml"
    config.write_text("jobs = 1\n", encoding="utf-8")

    second = user.drumline("init")
    as_json = user.drumline("init", "--json")

    assert second.code == 0
    assert "nothing written" in second.out
    assert as_json.json["created"] == []
    assert config.read_text(encoding="utf-8") == "jobs = 1\n"


def test_every_line_of_the_written_configuration_may_be_uncommented(user: User) -> None:
    user.drumline("init")
    config = user.repo / ".drumline" / "config.toml"
    lines = config.read_text(encoding="utf-8").splitlines()
    settings = [line.removeprefix("# ") for line in lines if " = " in line and line.startswith("# ")]
    config.write_text("\n".join(settings), encoding="utf-8")

    validated = user.drumline("validate", PLAN)

    assert len(settings) == 9
    assert validated.code == 0


def test_validate_shows_the_shape_of_a_good_plan(user: User) -> None:
    validated = user.drumline("validate", PLAN)

    assert validated.code == 0
    assert "valid (0 errors, " in validated.out
    assert "2 waves" in validated.out
    assert "test 1 = 1" in validated.out
    assert "parallel is recommended" in validated.out


def test_validate_takes_the_root_file_for_its_plan(user: User) -> None:
    assert user.drumline("validate", f"{PLAN}/root.md").code == 0


def test_warnings_are_told_and_fail_only_when_strict(user: User) -> None:
    user.edit("step-3", "[step-1]", "[step-1, step-2]")

    usual = user.drumline("validate", PLAN)
    strict = user.drumline("validate", PLAN, "--strict")
    as_json = user.drumline("validate", PLAN, "--strict", "--json")

    assert (usual.code, strict.code, as_json.code) == (0, 3, 3)
    assert "step-3.md:4: warning:" in usual.err
    assert as_json.json["ok"] is False


def test_graph_draws_the_plan_with_what_is_done(user: User) -> None:
    user.edit("step-1", "status: ready", "status: done")

    drawn = user.drumline("graph", PLAN)

    assert drawn.code == 0
    assert drawn.out.startswith("flowchart TD\n")
    assert '"step-1: Make step-1"]:::done' in drawn.out
    assert drawn.out.count("-->") == 2


def test_graph_refuses_a_plan_that_is_wrong(user: User) -> None:
    user.edit("step-1", "depends_on: []", "depends_on: [step-2]")

    drawn = user.drumline("graph", PLAN)

    assert drawn.code == 3
    assert drawn.out == ""


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_dry_run_shows_every_command_and_writes_nothing(user: User, form: tuple[str, ...]) -> None:
    user.edit("step-1", "status: ready", "status: done")
    before = snapshot(user.folder)

    shown = user.run("--dry-run", *form)

    assert shown.code == 0
    assert "test 1 = 1" in shown.out
    assert "test -f step-2.txt" in shown.out
    assert "test -f step-1.txt" not in shown.out
    assert snapshot(user.folder) == before


def test_a_dry_run_of_a_single_step_leaves_the_others_out(user: User) -> None:
    shown = user.run("--dry-run", "--step", "step-2", "--json")

    steps = shown.json["steps"]
    assert isinstance(steps, list)
    assert [step["id"] for step in steps] == ["step-2"]


def test_a_dry_run_shows_the_setup_command_and_leaves_out_what_is_skipped(user: User) -> None:
    user.edit("step-1", "status: ready", "status: skipped")
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text('setup = "make ready"\n', encoding="utf-8")

    shown = user.run("--dry-run", "--mode", "sequential")

    assert "2 steps to do, sequential\n" in shown.out
    assert "in every new workspace: make ready" in shown.out
    assert "— skipped" in shown.out
    assert "test -f step-1.txt" not in shown.out


def test_a_dry_run_of_one_step_counts_one(user: User) -> None:
    assert ": 1 step to do, " in user.run("--dry-run", "--mode", "sequential", "--step", "step-1").out


def test_the_first_run_shows_the_commands_it_will_execute_and_the_second_does_not(user: User) -> None:
    env = {"DRUMLINE_SETUP": "touch ready"}
    first = user.run(env=env)
    second = user.run("--new", env=env)

    assert "in every new workspace: touch ready" in first.err
    assert "test 1 = 1" in first.err
    assert "it will execute 4 different checks" in first.err
    assert "it will execute" not in second.err
    assert first.err.count("setup made 1 file that git does not ignore (ready): that lands with the work") == 1


def test_doctor_tells_what_it_found(user: User) -> None:
    told = user.drumline("doctor")
    as_json = user.drumline("doctor", "--json")

    findings = as_json.json["findings"]
    assert isinstance(findings, list)
    assert {"git", "python", "store"} <= {str(finding["name"]).lower() for finding in findings}
    assert told.code == as_json.code
    assert (told.code == 0) == (as_json.json["ok"] is True)


def test_doctor_names_a_store_that_is_damaged(user: User) -> None:
    user.run()
    store = user.repo / ".git" / "drumline" / "state.db"
    store.write_bytes(b"this is no database, and long enough to be looked at" * 100)

    told = user.drumline("doctor")

    assert told.code == 1
    assert "✗ store" in told.out.lower()
    assert "Traceback" not in told.err


@pytest.mark.parametrize("command", [("status",), ("runs",), ("why", "step-1"), ("logs", "step-1"), ("doctor",)])
def test_no_colours_where_no_terminal_is(user: User, command: tuple[str, ...]) -> None:
    user.run("--step", "step-1")

    told = user.drumline(*command)

    assert told.code == 0
    assert told.out
    assert "\x1b" not in told.text


def test_a_run_speaks_plainly_where_no_terminal_is(user: User) -> None:
    ran = user.run(env={"NO_COLOR": "1"})

    assert ran.code == 0
    assert "\x1b" not in ran.text
    assert "\r" not in ran.text
    assert "step 3 of 3 done" in ran.err


def test_settings_come_from_flag_then_variable_then_file(user: User) -> None:
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'agent = "{SCRIPTED}"\nmode = "sequential"\njobs = 3\n', encoding="utf-8")

    from_file = user.drumline("run", PLAN, "--dry-run", "--json").json
    from_variable = user.drumline("run", PLAN, "--dry-run", "--json", env={"DRUMLINE_JOBS": "2"}).json
    from_flag = user.drumline("run", PLAN, "--dry-run", "--json", "--jobs", "1", env={"DRUMLINE_JOBS": "2"}).json

    assert (from_file["jobs"], from_variable["jobs"], from_flag["jobs"]) == (3, 2, 1)
    assert from_file["mode"] == "sequential"
    assert from_file["agent"] == SCRIPTED
