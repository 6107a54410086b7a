"""What git ignores and every place needs comes from the person's checkout: agents have a copy, checks only read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import SCRIPTED, Ran, User, leaving_nothing, make_user, step_of, step_text, write_plan

from drumline.agents.jail import find_jail

IN_PLACE = 'basename "$PWD" | grep -q ^verify@'


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path)


def install(user: User) -> Path:
    (user.repo / ".gitignore").write_text("node_modules/\n.env\ndata.bin\n", encoding="utf-8")
    (user.repo / "node_modules" / "lib").mkdir(parents=True)
    (user.repo / "node_modules" / "lib" / "index.js").write_text("42\n", encoding="utf-8")
    (user.repo / ".env").write_text("SECRET=1\n", encoding="utf-8")
    (user.repo / "data.bin").write_text("data\n", encoding="utf-8")
    return user.repo / "node_modules"


def drive(user: User, *checks: str, provide: str = "node_modules", **env: str) -> Ran:
    write_plan(user.repo / "plans/p", step_text("step-1", checks=checks))
    user.commit_all("plan")
    told = {"DRUMLINE_PROVIDE": provide, **env}
    return user.drumline("run", "plans/p", "--agent", SCRIPTED, "--autonomy", "autopilot", env=told)


@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_agents_and_checks_find_what_is_provided_and_the_checkout_stays_as_it_is(user: User, sandbox: str) -> None:
    modules = install(user)
    changed = "echo 43 > node_modules/lib/index.js; cp data.bin step-1.txt"
    user.play({"match": {"step": "step-1"}, "run": f"grep 42 node_modules/lib/index.js && {changed}"})
    checks = (IN_PLACE, "grep data step-1.txt && grep 42 node_modules/lib/index.js && grep data data.bin")

    ran = drive(user, *checks, provide="node_modules\ndata.bin", DRUMLINE_SANDBOX=sandbox)

    assert ran.code == 0, ran.text
    assert step_of(user.status(), "step-1")["proved"] is True
    assert (modules / "lib" / "index.js").read_text(encoding="utf-8") == "42\n"
    assert len(user.git("worktree", "list").splitlines()) == 1


@pytest.mark.skipif(find_jail() is None, reason="without bubblewrap it is a copy")
def test_a_check_can_only_read_what_is_provided(user: User) -> None:
    modules = install(user)
    user.play()

    ran = drive(user, "test -f step-1.txt && ! touch node_modules/new && test ! -e node_modules/new")

    assert ran.code == 0, ran.text
    assert not (modules / "new").exists()


def test_a_command_provides_too_and_is_told_where_the_checkout_is(user: User) -> None:
    install(user)
    user.play()

    ran = drive(
        user, IN_PLACE, "test -f step-1.txt && grep data data.bin", provide='$ cp "$DRUMLINE_CHECKOUT/data.bin" .'
    )

    assert ran.code == 0, ran.text
    assert step_of(user.status(), "step-1")["proved"] is True


def test_what_git_tracks_or_would_land_or_is_not_there_is_refused_at_once(user: User) -> None:
    install(user)
    write_plan(user.repo / "plans/p", step_text("step-1"))
    user.commit_all("plan")
    (user.repo / "loose.txt").write_text("x\n", encoding="utf-8")

    ran = user.drumline(
        "run", "plans/p", "--agent", SCRIPTED, env={"DRUMLINE_PROVIDE": "loose.txt\ngone\nnode_modules"}
    )

    assert ran.code == 3, ran.text
    assert "git does not ignore 'loose.txt'" in ran.text
    assert "'gone' is not in your checkout" in ran.text


def test_init_offers_dependencies_of_the_checkout_and_never_files_with_secrets(user: User) -> None:
    install(user)
    user.commit_all("ignore")

    ran = user.drumline("init", "--accept")

    written = (user.repo / ".drumline" / "config.toml").read_text(encoding="utf-8")
    assert ran.code == 0, ran.text
    assert "found for provide: node_modules (from your checkout)" in ran.out
    assert written.startswith('provide = ["node_modules"]\n')
    assert "provide: node_modules" in user.drumline("checks").out


def test_validate_offers_it_where_nothing_says_how_dependencies_come(user: User) -> None:
    install(user)
    write_plan(user.repo / "plans/p", step_text("step-1"))
    user.commit_all("plan")

    said = user.drumline("validate", "plans/p")

    assert "found for provide: node_modules (from your checkout)" in said.text
    assert ".env" not in said.text
