"""What a step makes lands, wherever the plan lies; a landing without a product is never proved, and is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import SCRIPTED, Ran, User, leaving_nothing, make_user, step_of, step_text, write_plan

STEP = "step-1"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path)


def drive(user: User, plan: str, *, check: str = "true", run: str = "", **env: str) -> Ran:
    """Run a plan, of one step if it is not there yet, whose agent runs this line."""
    if not (user.repo / plan).exists():
        write_plan(user.repo / plan, step_text(STEP, checks=(check,)))
    (user.repo / "agent.yaml").write_text(f"default: {{run: {run!r}}}\n", encoding="utf-8")
    user.commit_all("plan")
    return user.drumline("run", plan, "--agent", SCRIPTED, "--autonomy", "autopilot", env=env)


def landed(user: User) -> list[str]:
    """The files of the step's commit."""
    return user.git("show", "--name-only", "--format=", user.branch()).splitlines()


def test_work_beside_the_plan_lands(user: User) -> None:
    ran = drive(
        user, "docs", check="test -f docs/api.md", run="mkdir -p docs/more; touch docs/api.md docs/more/step-1.md"
    )

    assert ran.code == 0, ran.text
    assert landed(user) == ["docs/api.md", "docs/more/step-1.md"]
    assert step_of(user.status(), STEP)["proved"] is True


def test_work_beside_a_plan_in_one_file_lands(user: User) -> None:
    (user.repo / "docs").mkdir()
    text = (
        "---\nstatus: in-progress\n---\n# A plan\n\n## Phase 1: One\n\n#### Automated Verification:\n- [ ] T: `true`\n"
    )
    (user.repo / "docs" / "plan.md").write_text(text, encoding="utf-8")

    ran = drive(user, "docs/plan.md", run="echo more >> docs/plan.md; touch docs/api.md docs/plan.md.drumline.json")

    assert ran.code == 0, ran.text
    assert landed(user) == ["docs/api.md"]


def test_work_on_the_plan_itself_does_not_land(user: User) -> None:
    ran = drive(
        user,
        "[docs]",
        run="echo x >> '[docs]/step-1.md'; echo x > '[docs]/step-9.md'; rm '[docs]/root.md'; touch a.txt",
    )

    assert ran.code == 0, ran.text
    assert landed(user) == ["a.txt"]


def test_a_step_that_only_writes_another_step_is_not_proved(user: User) -> None:
    drive(user, "docs", run="echo x > docs/step-9.md")

    assert_idle(user)


def assert_unproved(user: User) -> None:
    assert step_of(user.status(), STEP)["proved"] is False
    assert "prove nothing" in user.drumline("why", STEP).out


def assert_idle(user: User) -> None:
    """The step has not landed: its agent changed nothing."""
    step = step_of(user.status(), STEP)
    assert (step["state"], step["commit"]) == ("blocked", None)
    assert "no file had changed" in user.drumline("why", STEP).out


def by_exclude_file(user: User) -> None:
    (user.repo / ".git" / "info" / "exclude").write_text("out.txt\n", encoding="utf-8")


def by_ignore_file(user: User) -> None:
    (user.repo / ".gitignore").write_text("out.txt\n", encoding="utf-8")


def by_own_configuration(user: User) -> None:
    (user.folder / "excludes").write_text("out.txt\n", encoding="utf-8")
    user.git("config", "core.excludesFile", str(user.folder / "excludes"))


@pytest.mark.parametrize("hide", [by_exclude_file, by_ignore_file, by_own_configuration])
def test_a_product_that_is_ignored_is_not_proved(user: User, hide: Callable[[User], None]) -> None:
    hide(user)

    drive(user, "plans/p", check="test -f out.txt", run="echo 1 > out.txt")

    assert_idle(user)
    assert "not landed because git ignores it: out.txt" in user.drumline("why", STEP).out


def test_a_product_that_the_agent_hides_itself_is_not_proved(user: User) -> None:
    drive(user, "plans/p", check="test -f out.txt", run="echo 1 > out.txt; echo out.txt > .gitignore")

    assert_unproved(user)
    assert "landed only .gitignore" in user.drumline("why", STEP).out


def test_what_setup_makes_is_not_the_steps_product(user: User) -> None:
    drive(user, "plans/p", check="test -f out.txt", run="true", DRUMLINE_SETUP="echo 1 > out.txt")

    assert_idle(user)


BESIDE = "echo 1 > a.txt; mkdir -p build node_modules/x; echo 1 > build/out.js; echo 1 > node_modules/x/y.js"


def test_an_ignored_file_beside_a_landed_one_is_named(user: User) -> None:
    (user.repo / ".gitignore").write_text("build/\nnode_modules/\n", encoding="utf-8")

    ran = drive(user, "plans/p", check="test -f node_modules/x/y.js && test -f a.txt", run=BESIDE)

    told = "not landed because git ignores it: build/out.js"
    assert ran.code == 0, ran.text
    assert landed(user) == ["a.txt"]
    assert ran.text.count(told) == 2  # when the attempt ends, and in the summary
    assert step_of(user.status(), STEP)["notices"] == [told]
    assert step_of(user.status(), STEP)["proved"] is True
    assert told in user.drumline("why", STEP).out


def test_a_check_does_not_see_what_the_attempt_made_and_git_ignores(user: User) -> None:
    (user.repo / ".gitignore").write_text("build/\n", encoding="utf-8")
    see = "test -f build/out.js && touch seen-before.txt; echo 1 > a.txt; mkdir -p build; echo 1 > build/out.js"

    ran = drive(user, "plans/p", check="test -f build/out.js", run=see, DRUMLINE_RETRIES="1")

    assert ran.code == 2, ran.text
    assert step_of(user.status(), STEP)["commit"] is None
    assert "git ignores it and it does not land: build/out.js" in user.prompt(STEP, 2)
    kept = user.git("ls-tree", "--name-only", f"refs/drumline/{user.status()['run']}/{STEP}/2").splitlines()
    assert "seen-before.txt" in kept  # the agent found it again when it was asked once more


def test_what_one_check_builds_another_one_finds(user: User) -> None:
    (user.repo / ".gitignore").write_text("build/\n", encoding="utf-8")
    checks = ("mkdir -p build && cp a.txt build/out.js", "grep 2 build/out.js")
    write_plan(user.repo / "plans/p", step_text(STEP, checks=checks))

    ran = drive(user, "plans/p", run="echo 2 > a.txt; mkdir -p build; echo 1 > build/out.js")

    assert ran.code == 0, ran.text
    assert step_of(user.status(), STEP)["proved"] is True


@pytest.mark.parametrize("named", ["build/out.js", "build/", "build/*.js"])
def test_an_ignored_file_that_the_plan_asks_for_is_not_proved(user: User, named: str) -> None:
    (user.repo / ".gitignore").write_text("build/\nnode_modules/\n", encoding="utf-8")
    text = step_text(STEP, checks=("test -f build/out.js",))
    write_plan(user.repo / "plans/p", text.replace("status: ready", f"status: ready\nfiles: ['{named}', a.txt]"))

    drive(user, "plans/p", run=BESIDE)

    assert landed(user) == ["a.txt"]
    assert_unproved(user)
    assert "landed without build/out.js, which the plan asks for" in user.drumline("why", STEP).out


NAMED = (".vscode/settings.json", "target/report.json", "coverage/x.html", "out.log", "build/zzz.js")


def test_ignored_files_are_found_that_tools_keep_or_that_lie_behind_many_others(user: User) -> None:
    (user.repo / ".gitignore").write_text("build/\n.vscode\ntarget/\ncoverage/\n*.log\n", encoding="utf-8")
    text = step_text(STEP, checks=("test -f out.log",))
    files = ".vscode/settings.json, 'target/*.json', coverage/, out.log, build/zzz.js, a.txt"
    write_plan(user.repo / "plans/p", text.replace("status: ready", f"status: ready\nfiles: [{files}]"))
    makes = f"mkdir -p build .vscode target coverage; touch a.txt build/{{1..400}}.js {' '.join(NAMED)}"

    drive(user, "plans/p", run=makes)

    told = user.drumline("why", STEP).out
    assert landed(user) == ["a.txt"]
    assert_unproved(user)
    assert all(name in told.partition("landed without ")[2] for name in NAMED), told


def test_a_named_file_that_setup_made_and_git_ignores_is_not_proved(user: User) -> None:
    (user.repo / ".gitignore").write_text("out.bin\n", encoding="utf-8")
    text = step_text(STEP, checks=("test -f out.bin",))
    write_plan(user.repo / "plans/p", text.replace("status: ready", "status: ready\nfiles: [out.bin, a.txt]"))

    drive(user, "plans/p", run="echo 1 > a.txt", DRUMLINE_SETUP="echo 1 > out.bin")

    assert "landed without out.bin, which the plan asks for" in user.drumline("why", STEP).out


def test_an_ignored_file_that_setup_made_is_not_the_attempts(user: User) -> None:
    (user.repo / ".gitignore").write_text("build/\n", encoding="utf-8")

    ran = drive(user, "plans/p", run="echo 1 > a.txt", DRUMLINE_SETUP="mkdir build; echo 1 > build/out.js")

    assert ran.code == 0, ran.text
    assert "not landed" not in ran.text


def ask_for(user: User, files: str, *, check: str = "test -f a.txt") -> None:
    """Write a plan of one step that names these files, beside `a.txt`."""
    text = step_text(STEP, checks=(check,))
    write_plan(user.repo / "plans/p", text.replace("status: ready", f"status: ready\nfiles: [{files}, a.txt]"))


def assert_missed(user: User, *names: str) -> None:
    """Only `a.txt` has landed, nothing is proved, and these files are named as missing."""
    assert landed(user) == ["a.txt"]
    assert_unproved(user)
    told = user.drumline("why", STEP).out.partition("landed without ")[2].partition(", which")[0]
    assert told == ", ".join(names)


BEHIND = "mkdir -p real gen/deep && echo 1 > real/x.json && ln -s ../real gen/link"


@pytest.mark.parametrize(
    ("ignored", "files", "makes", "missed"),
    [
        ("target/", "'**/target/x.json'", "mkdir -p sub/target; touch sub/target/x.json", "sub/target/x.json"),
        (
            "target",
            "'target/**/x.json'",
            "mkdir -p target/a/target; touch target/a/target/x.json",
            "target/a/target/x.json",
        ),
        ("*.log", "'out.*'", "touch out.log", "out.log"),
        ("gen/\nreal", "'gen/**/x.json'", BEHIND, "gen/link/x.json"),
        ("gen/\nreal", "gen/link/x.json", BEHIND, "gen/link/x.json"),
        ("/link", "link/x.json", "mkdir ../out; touch ../out/x.json; ln -s ../out link", "link/x.json"),
        ("target", "'target/*.json'", "mkdir ../out; touch ../out/x.json; ln -s ../out target", "target/x.json"),
        ("real\n/link", "'**/link/x.json'", "mkdir real; touch real/x.json; ln -s real link", "link/x.json"),
    ],
)
def test_an_ignored_file_that_the_plan_asks_for_is_found_wherever_it_lies(
    user: User, ignored: str, files: str, makes: str, missed: str
) -> None:
    (user.repo / ".gitignore").write_text(f"{ignored}\n", encoding="utf-8")
    ask_for(user, files)

    drive(user, "plans/p", run=f"touch a.txt; {makes}")

    assert_missed(user, missed)


def test_a_file_that_lands_in_another_folder_by_a_link_is_not_missed(user: User) -> None:
    (user.repo / "v1").mkdir()
    (user.repo / "v1" / "notes.md").write_text("old\n", encoding="utf-8")
    (user.repo / "latest").symlink_to("v1")
    ask_for(user, "latest/notes.md")

    drive(user, "plans/p", run="touch a.txt; echo new > latest/notes.md")

    assert landed(user) == ["a.txt", "v1/notes.md"]
    assert step_of(user.status(), STEP)["proved"] is True


def test_a_link_that_lands_is_not_the_file_behind_it(user: User) -> None:
    ask_for(user, "out/x.json")

    drive(user, "plans/p", run="touch a.txt; mkdir ../real; touch ../real/x.json; ln -s ../real out")

    assert landed(user) == ["a.txt", "out"]
    assert_unproved(user)


def test_an_ignored_file_is_missed_behind_any_number_of_others(user: User) -> None:
    (user.repo / ".gitignore").write_text("gen2/\n*.log\n", encoding="utf-8")
    ask_for(user, "gen2/, out.log")

    drive(user, "plans/p", run="touch a.txt out.log; mkdir gen2; touch gen2/{1..400}")

    told = user.drumline("why", STEP).out
    assert_unproved(user)
    assert "out.log" in told.partition("landed without ")[2]


@pytest.mark.parametrize(("deed", "proved"), [("echo new > setup/x.gen", False), ("cat setup/x.gen", True)])
def test_an_ignored_file_that_setup_made_is_missed_if_the_agent_wrote_it(user: User, deed: str, proved: bool) -> None:
    (user.repo / ".gitignore").write_text("setup/\n", encoding="utf-8")
    ask_for(user, "'setup/*.gen'")

    drive(user, "plans/p", run=f"touch a.txt; {deed}", DRUMLINE_SETUP="mkdir -p setup; echo old > setup/x.gen")

    assert landed(user) == ["a.txt"]
    assert step_of(user.status(), STEP)["proved"] is proved


@pytest.mark.parametrize("ignored", [True, False])
def test_a_file_that_only_a_check_makes_is_missed(user: User, ignored: bool) -> None:
    (user.repo / ".gitignore").write_text("out.json\n" if ignored else "x\n", encoding="utf-8")
    ask_for(user, "out.json", check="test -f a.txt && touch out.json")

    drive(user, "plans/p", run="touch a.txt")

    assert_missed(user, "out.json")


def test_a_tracked_file_lands_also_if_its_step_hides_it(user: User) -> None:
    (user.repo / "out.json").write_text("1\n", encoding="utf-8")
    ask_for(user, "out.json")

    hides = "echo out.json > .gitignore; git rm -q --cached out.json; echo 2 > out.json"
    drive(user, "plans/p", run=f"touch a.txt; {hides}")

    assert landed(user) == [".gitignore", "a.txt", "out.json"]
    assert step_of(user.status(), STEP)["proved"] is True
