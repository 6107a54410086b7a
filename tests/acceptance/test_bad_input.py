"""Bad input, through the command line: a clear sentence with file and line, exit code 3, and nothing written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, snapshot, step_text

TEN_MEGABYTES = 10 * 1024 * 1024


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))


def _malform(user: User) -> None:
    user.edit("step-2", "depends_on: [step-1]", "depends_on: [step-1")


def _remove_root(user: User) -> None:
    (user.repo / PLAN / "root.md").unlink()


def _close_circle(user: User) -> None:
    user.edit("step-1", "depends_on: []", "depends_on: [step-2]")


def _need_unknown(user: User) -> None:
    user.edit("step-2", "[step-1]", "[step-7]")


def _repeat_id(user: User) -> None:
    user.edit("step-2", "id: step-2", "id: step-1")


def _swell(user: User) -> None:
    with user.path("step-2").open("ab") as file:
        file.write(b"x" * TEN_MEGABYTES)


def _climb(user: User) -> None:
    user.edit("step-2", "id: step-2", "id: ../../step-2")


def _link_step(user: User) -> None:
    outside = user.folder / "elsewhere.md"
    user.path("step-2").rename(outside)
    user.path("step-2").symlink_to(outside)


def _spoil_bytes(user: User) -> None:
    user.path("step-2").write_bytes(user.path("step-2").read_bytes() + b"\nfine\n\xff\xfe\n")


def _escape_files(user: User) -> None:
    user.edit("step-2", "status: ready", "files: [../secret.txt]\nstatus: ready")


def _mark_oddly(user: User) -> None:
    user.edit("step-2", "status: ready", "status: finished-ish")


BAD: dict[str, tuple[Callable[[User], None], str, str]] = {
    "malformed YAML": (_malform, "step-2.md:", "YAML"),
    "missing root": (_remove_root, "plans/p", "root.md"),
    "cycle": (_close_circle, "step-1.md:4", "step-1 → step-2 → step-1"),
    "unknown need": (_need_unknown, "step-2.md:4", "step-7"),
    "duplicate id": (_repeat_id, "step-2.md:2", "step-1"),
    "ten megabytes": (_swell, "step-2.md:1", "large"),
    "id that climbs": (_climb, "step-2.md:2", "../../step-2"),
    "linked step": (_link_step, "step-2.md:1", "link"),
    "not UTF-8": (_spoil_bytes, "step-2.md:20", "UTF-8"),
    "files outside": (_escape_files, "step-2.md:5", "../secret.txt"),
    "unknown status": (_mark_oddly, "step-2.md:5", "finished-ish"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_plan_is_refused_with_its_place_and_nothing_is_written(user: User, name: str) -> None:
    spoil, where, what = BAD[name]
    spoil(user)
    before = snapshot(user.folder)

    validated = user.drumline("validate", PLAN)
    told = user.drumline("validate", PLAN, "--json")
    ran = user.run()

    assert (validated.code, told.code, ran.code) == (3, 3, 3)
    for text in (validated.err, told.out, ran.err):
        assert where in text
        assert what in text
    assert "Traceback" not in validated.err + ran.err
    assert snapshot(user.folder) == before


def test_every_problem_is_told_at_once(user: User) -> None:
    _need_unknown(user)
    user.edit("step-1", "status: ready", "status: nonsense")

    validated = user.drumline("validate", PLAN)

    assert "step-7" in validated.err
    assert "nonsense" in validated.err
    assert "2 errors" in validated.out


def test_a_linked_plan_folder_outside_the_repository_is_refused(user: User) -> None:
    (user.repo / PLAN).rename(user.folder / "elsewhere")
    (user.repo / PLAN).symlink_to(user.folder / "elsewhere")
    before = snapshot(user.folder)

    validated = user.drumline("validate", PLAN)
    ran = user.run()

    assert (validated.code, ran.code) == (3, 3)
    assert "plans/p" in validated.err
    assert snapshot(user.folder) == before


def test_a_plan_that_is_not_there_is_refused(user: User) -> None:
    validated = user.drumline("validate", "plans/q")

    assert validated.code == 3
    assert "plans/q" in validated.err


def test_an_unknown_command_and_an_unknown_option_exit_with_3(user: User) -> None:
    assert user.drumline("perform").code == 3
    assert user.drumline("status", "--colour").code == 3
    assert user.drumline("run", PLAN, "--mode", "sideways").code == 3


@pytest.mark.parametrize("choice", [("--step", "step-9"), ("--only", "step-1,step-9"), ("--from", "step-9")])
def test_a_step_the_plan_does_not_have_is_refused_before_a_run_begins(user: User, choice: tuple[str, str]) -> None:
    ran = user.run(*choice)

    assert ran.code == 3
    assert "step-9" in ran.err
    assert user.drumline("runs", "--json").json["runs"] == []


def test_choices_of_steps_that_exclude_each_other_are_refused(user: User) -> None:
    ran = user.run("--step", "step-1", "--from", "step-2")

    assert ran.code == 3
    assert "--step, --from" in ran.err


def test_a_run_without_an_agent_says_how_to_give_one(user: User) -> None:
    ran = user.drumline("run", PLAN)

    assert ran.code == 3
    assert "--agent" in ran.err


@pytest.mark.parametrize("agent", ["scripted:missing.yaml", "scripted:", "psychic:hello", "command:"])
def test_an_agent_that_cannot_be_opened_is_refused_before_a_run_begins(user: User, agent: str) -> None:
    ran = user.run(agent=agent)

    assert ran.code == 3
    assert "next:" in ran.err
    assert user.drumline("runs", "--json").json["runs"] == []


def test_a_broken_script_is_refused_with_its_place(user: User) -> None:
    (user.repo / "agent.yaml").write_text("rules:\n  - match: {step: [}\n", encoding="utf-8")

    ran = user.run(agent=SCRIPTED)

    assert ran.code == 3
    assert "agent.yaml:2" in ran.err


def test_a_wrong_setting_is_refused_with_its_place_and_what_is_legal(user: User) -> None:
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text('jobs = "many"\nretires = 3\n', encoding="utf-8")

    ran = user.run(env={"DRUMLINE_STALE_CLAIM": "soon"})

    assert ran.code == 3
    for found in ("config.toml: jobs", "retries", "DRUMLINE_STALE_CLAIM", "15m"):
        assert found in ran.err


def test_a_context_file_that_is_not_there_is_refused(user: User) -> None:
    ran = user.run("--context", "@nothing.md")

    assert ran.code == 3
    assert "@nothing.md" in ran.err


@pytest.mark.parametrize("command", ["status", "resume", "cancel", "attach", "wait"])
def test_a_command_about_a_run_says_when_there_is_none(user: User, command: str) -> None:
    ran = user.drumline(command)

    assert ran.code == 3
    assert "no run" in ran.err
    assert "next: drumline run" in ran.err


def test_an_error_in_json_is_one_object_on_stdout(user: User) -> None:
    ran = user.drumline("status", "--json")

    assert ran.code == 3
    assert ran.json["ok"] is False
    assert ran.json["schema_version"] == 1
