"""Checks proposed for a plan that names none, kept beside it on yes; and what a plan takes for granted that is gone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from drumline.cli.main import main
from drumline.cli.output import show_problems
from drumline.core.ids import StepId
from drumline.core.plan import Marks, Problem, Severity, Status
from drumline.planfiles import open_plan

PLAN = """# Tasks: Shop

## Phase 1: Setup

- [x] T001 Create the project
- [ ] T002 Add sums in `src/sums.py` with `add_up()`
  - Run: `make sums`
- [ ] T003 Run the tests (`make slow`)
- [ ] T004 Remove `src/old.py`
"""


def git(repo: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=repo, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a Makefile, two sources and a plan."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    found = tmp_path / "repo"
    (found / "src").mkdir(parents=True)
    (found / "src" / "sums.py").write_text("def add_up(): ...\n")
    (found / "src" / "old.py").write_text("x = 1\n")
    (found / "Makefile").write_text("test:\n\ttrue\nlint: test\n\ttrue\n")
    (found / "tasks.md").write_text(PLAN)
    git(found, "init", "-q", "-b", "main")
    commit(found, "start")
    monkeypatch.chdir(found)
    return found


def commit(repo: Path, message: str) -> None:
    git(repo, "add", "-A")
    git(repo, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", message)


def say(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(list(args))
    told = capsys.readouterr()
    return code, told.out, told.err


def test_validate_tells_how_many_steps_would_be_proved(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = say(capsys, "validate", "tasks.md")

    assert code == 0
    assert "would be proved: 1 of 3" in out


def test_checks_are_proposed_and_nothing_is_written_without_a_yes(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = say(capsys, "checks", "tasks.md")

    assert code == 0
    assert "T002: make sums" in out
    assert "proposed for every step without a check: make test (from Makefile)" in out
    assert "proposed for step T003: make slow (from its title)" in out
    assert "drumline checks tasks.md --accept" in err
    assert git(repo, "status", "--porcelain") == ""


def test_accepted_checks_are_kept_beside_the_plan_and_prove_its_steps(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = say(capsys, "checks", "tasks.md", "--accept", "--json")

    assert (code, json.loads(out)["written"]) == (0, "tasks.md.drumline.json")
    steps = open_plan(repo / "tasks.md", repo=repo).read().plan.by_id
    commands = {step.id: [check.command for check in step.checks] for step in steps.values()}
    assert commands == {
        "T001": ["make lint", "make test"],
        "T002": ["make sums"],
        "T003": ["make slow", "make lint", "make test"],
        "T004": ["make lint", "make test"],
    }
    assert "would be proved: 3 of 3" in say(capsys, "validate", "tasks.md")[1]
    assert (repo / "tasks.md").read_text() == PLAN


def test_what_was_accepted_is_not_called_proposed_and_what_it_proves_is_said(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, err = say(capsys, "checks", "tasks.md", "--accept")

    assert "proposed" not in out
    assert "accepted for every step without a check: make test (from Makefile)" in out
    told = out.splitlines()
    caveat = told[told.index("would be proved: 3 of 3") + 1]
    assert "a check proves a step only if it fails without the step's work; otherwise the step ends as kept" in caveat
    assert "next: drumline run tasks.md" in err


def test_every_check_says_where_it_stands(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(capsys, "checks", "tasks.md", "--accept")

    found = json.loads(say(capsys, "checks", "tasks.md", "--json")[1])["steps"]

    origins = {(step["id"], check["command"]): check["from"] for step in found for check in step["checks"]}
    assert origins["T003", "make slow"].startswith("tasks.md.drumline.json")
    assert {(step, command): origin for (step, command), origin in origins.items() if step == "T002"} == {
        ("T002", "make sums"): f"tasks.md:{PLAN[: PLAN.index('make sums')].count(chr(10)) + 1}"
    }


def test_a_check_of_many_steps_is_one_line(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "TODO.md").write_text(
        "# P\n\n- [ ] One\n- [ ] Two\n- [ ] Three\n- [ ] Four\n  - Run: `make four`\n- [ ] Five\n"
    )

    out = say(capsys, "checks", "TODO.md", "--accept")[1].splitlines()

    assert [line for line in out if not line.startswith("    ")][:3] == [
        "4 steps (one, two, three, …): make lint",
        "4 steps (one, two, three, …): make test",
        "four: make four",
    ]


def test_a_place_of_several_warnings_is_named_once_and_errors_stay_alone(capsys: pytest.CaptureFixture[str]) -> None:
    warnings = [Problem(code="a", message=f"T{n} waits", where="a.md:3", severity=Severity.WARNING) for n in (1, 2)]
    errors = [Problem(code="b", message=f"T{n} is lost", where="a.md:4") for n in (1, 2)]

    show_problems([*warnings, *errors])

    assert capsys.readouterr().err.splitlines() == [
        "a.md:3: warning: T1 waits [a] (and 1 more like it)",
        "a.md:4: error: T1 is lost [b]",
        "a.md:4: error: T2 is lost [b]",
    ]


def test_scripts_see_what_was_accepted(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = json.loads(say(capsys, "checks", "tasks.md", "--json")[1])

    after = json.loads(say(capsys, "checks", "tasks.md", "--accept", "--json")[1])

    assert before["accepted"] == []
    assert (after["accepted"], after["proposed"]) == (before["proposed"], [])


def test_warnings_that_say_the_same_are_one_line_for_people(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    boxes = "".join(f"- [ ] Do thing {word}\n" for word in ("one", "two", "three", "four", "five", "six"))
    (repo / "TODO.md").write_text(f"# P\n\n{boxes}- [!] Odd\n")

    _, _, err = say(capsys, "validate", "TODO.md")
    _, out, _ = say(capsys, "validate", "TODO.md", "--json")

    found = [line for line in err.splitlines() if ": warning: " in line]
    assert [line.rpartition("]")[2] for line in found] == [" (and 6 more like it: line 4, line 5, line 6, …)", ""]
    assert found[0].startswith("TODO.md:3: warning: the step 'do-thing-one' has no check")
    assert [problem["code"] for problem in json.loads(out)["problems"]].count("no_checks") == 7


@pytest.mark.parametrize(
    ("typed", "next_command"),
    [
        (["validate", "../tasks.md"], "drumline checks ../tasks.md"),
        (["validate", "../tasks.md", "--format", "speckit"], "drumline checks ../tasks.md --format speckit"),
        (["validate", "a plan.md"], "drumline checks 'a plan.md'"),
        (["validate", "proved.md"], "drumline run proved.md"),
        (["validate", "proved.md", "--strict"], "drumline run proved.md"),
        (
            ["validate", "../tasks.md", "--strict"],
            "fix the warnings above, then: drumline validate ../tasks.md --strict",
        ),
        (["checks", "../tasks.md"], "drumline checks ../tasks.md --accept"),
    ],
)
def test_the_next_command_names_the_plan_as_it_was_typed(
    repo: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: list[str],
    next_command: str,
) -> None:
    (repo / "src" / "a plan.md").write_text("# P\n\n- [ ] Do it\n")
    (repo / "src" / "proved.md").write_text("# P\n\n- [ ] Do it\n  - Run: `make test`\n")
    monkeypatch.chdir(repo / "src")

    _, _, err = say(capsys, *typed)

    assert f"next: {next_command}\n" in err


def test_kept_checks_stay_when_marks_come_and_go(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(capsys, "checks", "tasks.md", "--accept")
    files = open_plan(repo / "tasks.md", repo=repo)
    before = files.read()
    step = before.plan.by_id[StepId("T004")]

    files.write(step, Marks(status=Status.CLAIMED, assignee="me"))
    files.write(step, Marks(status=Status.DONE))

    after = files.read(before)
    assert after.plan.by_id[StepId("T004")].checks == step.checks
    assert after.plan.by_id[StepId("T004")].text_digest == step.text_digest
    kept = json.loads((repo / "tasks.md.drumline.json").read_text())
    assert kept == {"schema_version": 1, "checks": {"*": ["make lint", "make test"], "T003": ["make slow"]}}


def test_what_would_deploy_or_publish_is_never_proposed(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "TODO.md").write_text("# P\n\n- [ ] Run `npm run deploy`\n- [ ] Run `npm publish` and `make slow`\n")

    found = json.loads(say(capsys, "checks", "TODO.md", "--json")[1])["proposed"]

    assert [each["command"] for each in found if each["step"]] == []


def test_setup_and_formatters_are_named_and_not_proposed_as_checks(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = {"dependencies": {"a": "1"}, "scripts": {"format": "prettier -w .", "build": "tsc"}}
    (repo / "package.json").write_text(json.dumps(package))
    (repo / ".gitignore").write_text("node_modules\n")
    commit(repo, "packages")

    _, out, _ = say(capsys, "checks", "tasks.md")
    _, told, _ = say(capsys, "checks", "tasks.md", "--json")

    assert "found for setup: npm install --no-package-lock (from package.json)" in out
    assert "found for format: npm run format (from package.json)" in out
    assert [(each["kind"], each["command"]) for each in json.loads(told)["detected"]] == [
        ("setup", "npm install --no-package-lock"),
        ("format", "npm run format"),
        ("lint", "make lint"),
        ("build", "npm run build"),
        ("test", "make test"),
    ]
    every = [each["command"] for each in json.loads(told)["proposed"] if not each["step"]]
    assert every == ["make lint", "npm run build", "make test"]


def test_a_repository_without_a_commit_has_nothing_to_propose_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "Makefile").write_text("test:\n")
    (tmp_path / "TODO.md").write_text("# P\n\n- [ ] Do it\n")
    monkeypatch.chdir(tmp_path)

    code, out, _ = say(capsys, "checks", "TODO.md")

    assert code == 0
    assert "proposed" not in out


def test_where_nothing_can_be_proposed_the_next_command_is_the_run(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(repo, "rm", "-q", "Makefile")
    (repo / "TODO.md").write_text("# P\n\n- [ ] Do it\n")
    commit(repo, "no tests")

    validated = say(capsys, "validate", "TODO.md")[2]
    told = say(capsys, "checks", "TODO.md")[2]

    assert "next: drumline run TODO.md" in validated
    assert "nothing to propose: no tests were found in the last commit, and no step names a command" in told
    assert "or run it as it is: drumline run TODO.md" in told


def test_a_plan_that_is_converted_to_a_folder_elsewhere_says_that_it_has_to_move(
    repo: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    inside = say(capsys, "convert", "tasks.md", "plans/native")[2]
    outside = say(capsys, "convert", "tasks.md", str(tmp_path / "native"))[2]

    assert "  next: drumline validate plans/native\n" in inside
    assert f"next: move it into a repository, then: drumline validate {tmp_path / 'native'}" in outside


def test_accepting_again_changes_nothing(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(capsys, "checks", "tasks.md", "--accept")
    before = (repo / "tasks.md.drumline.json").read_bytes()

    code, out, _ = say(capsys, "checks", "tasks.md", "--accept")

    assert code == 0
    assert "proposed" not in out
    assert (repo / "tasks.md.drumline.json").read_bytes() == before


def test_a_plan_in_a_folder_takes_its_checks_in_its_own_files(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "p").mkdir()
    (repo / "p" / "root.md").write_text("# P\n")
    (repo / "p" / "step-1.md").write_text("---\nid: step-1\nstatus: ready\n---\n# One\n")

    code, _, err = say(capsys, "checks", "p", "--accept")

    assert code == 3
    assert "write them under Automated Verification" in err


def run_once(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A first run of the plan, of one step that fails: it records the commit that the plan was read against."""
    code, _, err = say(
        capsys,
        "run",
        "tasks.md",
        "--agent",
        "command:true",
        "--only",
        "T004",
        "--autonomy",
        "autopilot",
        "--retries",
        "0",
    )
    assert code in (0, 1, 2), err


def find_drift(capsys: pytest.CaptureFixture[str], plan: str = "tasks.md") -> tuple[list[str], str]:
    """What has drifted, and what is said about it."""
    _, out, err = say(capsys, "validate", plan, "--drift", "--json")
    problems = json.loads(out)["problems"]
    return [problem["message"] for problem in problems if problem["code"] == "drift"], err


def test_before_the_first_run_a_plan_is_compared_with_the_commit_that_has_it(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = git(repo, "rev-parse", "HEAD")
    before = find_drift(capsys)[0]
    (repo / "src" / "sums.py").write_text("def total(): ...\n")
    git(repo, "rm", "-q", "src/old.py")
    commit(repo, "other work")

    after, told = find_drift(capsys)

    assert before == []
    assert f"compared with {written[:12]}, the last commit that changed it" in told
    assert after == [
        "step T002: src/sums.py has changed since the plan was last committed",
        "step T004: src/old.py is gone; it was there when the plan was last committed",
        "step T002: the symbol 'add_up' is gone; it was there when the plan was last committed",
    ]


def test_a_plan_in_no_commit_says_so_and_what_it_takes_for_granted_is_looked_for_in_the_head(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "TODO.md").write_text(
        "# P\n\n- [ ] T001 Create `src/new.py` with `make_new()`\n- [ ] T002 Update `src/new.py`, call `make_new()`\n"
        "- [ ] T003 Modify `src/lost.py`: fix `find_lost()` and `add_up()`\n- [ ] T004 Look at `src/free.py`\n"
    )

    after, told = find_drift(capsys, "TODO.md")

    assert "nothing is recorded of this plan yet: it has no run and is in no commit" in told
    assert after == [
        "step T003: src/lost.py is not there, and no step creates it",
        "step T003: the symbol 'find_lost' is not there, and no step creates it",
    ]


def test_symbols_of_libraries_are_not_missed(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "TODO.md").write_text(
        "# P\n\n- [ ] T001 Update `src/sums.py` to call `parse_args()` and use `useState`\n"
        "- [ ] T002 Extend `BaseModel` and replace `add_up()` with `math.fsum()` or `to_decimal()`\n"
        "- [ ] T003 Fix the call of `subprocess.check_output()`\n- [ ] T004 Rename `sum_all()` to `sum_each()`\n"
    )

    after, _ = find_drift(capsys, "TODO.md")

    assert after == ["step T004: the symbol 'sum_all' is not there, and no step creates it"]


def test_paths_and_symbols_that_went_away_since_the_first_run_are_drift(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_once(repo, capsys)
    (repo / "src" / "sums.py").write_text("def total(): ...\n")
    git(repo, "rm", "-q", "src/old.py")
    commit(repo, "other work")

    code, out, err = say(capsys, "validate", "tasks.md", "--drift")

    assert code == 0
    told = out + err
    assert "step T002: src/sums.py has changed since the plan was first run" in told
    assert "step T002: the symbol 'add_up' is gone" in told
    assert "step T004: src/old.py is gone; it was there when the plan was first run" in told


def test_nothing_drifts_while_the_head_stands_still(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_once(repo, capsys)

    _, out, err = say(capsys, "validate", "tasks.md", "--drift", "--json")

    assert [problem for problem in json.loads(out)["problems"] if problem["code"] == "drift"] == []
    assert "no drift: the head has the paths and symbols that the steps still to do name" in err
