"""Plan directories as people write them, bad ones above all: a clear problem with file and line, nothing written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drumline.core.ids import StepId
from drumline.core.plan import Correction, Marks, Problem, Reading, Severity, Status
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan

GOOD = "---\nid: step-1\nname: One\ndepends_on: []\nstatus: ready\n---\n#### Automated Verification:\n- [ ] `true`\n"
ROOT = "---\nplan_type: dag\n---\n# A plan\n"


def read(folder: Path, **files: str | bytes) -> Reading:
    plan = folder / "plan"
    plan.mkdir(exist_ok=True)
    for name, content in ({"root": ROOT} | files).items():
        data = content.encode() if isinstance(content, str) else content
        (plan / f"{name.replace('_', '-')}.md").write_bytes(data)
    before = snapshot(folder)

    found = open_plan(plan, repo=folder).read()

    assert snapshot(folder) == before
    return found


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def only(found: Reading) -> Problem:
    assert len(found.problems) == 1, found.problems
    return found.problems[0]


def front(*lines: str) -> str:
    return "\n".join(["---", *lines, "---", "#### Automated Verification:", "- [ ] `true`", ""])


BOMB = ["id: step-1", "a: &a [x, x]", "b: &b [*a, *a]", "c: [*b, *b]"]

BAD_STEPS = [
    (front("id: step-1", "name: a\x07b"), "bad_yaml", 3),
    (front(*BOMB), "yaml_alias", 4),
    (front("id: step-1", "deep: " + "[" * 50_000), "bad_yaml", 3),
    (front("- id"), "not_a_mapping", 2),
    (front("{id: step-1, status: ready}"), "not_a_mapping", 2),
    (front("id: step-1", "? status", ": ready"), "not_a_mapping", 3),
    (front("id: step-1", "..."), "bad_yaml", 3),
    (front("id: step-1", "--- more"), "bad_yaml", 3),
    (front("id: step-1", "depends_on: [step-2", "status: ready"), "bad_value", 3),
    (front("id: step-1", 'status: "done'), "bad_status", 3),
    (front("id: step-1", "id: step-2"), "duplicate_key", 3),
    (front("name: x"), "missing_id", 1),
    (front("id: [a]"), "bad_value", 2),
    (front("id: step-1", "depends_on: step-2"), "bad_value", 3),
    (front("id: step-1", "depends_on: {a: b}"), "bad_value", 3),
    (front("id: step-1", "checks: [a, '']"), "bad_value", 3),
    (front("id: step-1", "status: working"), "bad_status", 3),
    (front("id: step-1", "estimate: soon"), "bad_estimate", 3),
    (front("id: step-1", "name: a", "estimate: -1"), "bad_estimate", 4),
    (front("id: step-1", "tier: huge"), "bad_tier", 3),
    (front("id: step-1", "files: [a, ../../b]"), "path_escape", 3),
    (front("id: ../step-1"), "bad_id", 2),
    ("# no frontmatter\n", "no_frontmatter", 1),
    ("", "no_frontmatter", 1),
    ("---\nid: step-1\n", "unclosed_frontmatter", 1),
    (GOOD.encode() + b"\ncaf\xe9\n", "not_utf8", 10),
    (b"\xff\xfe" + GOOD.encode("utf-16-le"), "not_utf8", 1),
    (b"x" * 10_000_000, "file_too_large", 1),
    (GOOD + "- [ ] `true`\n" * 79_000, "too_many_lines", 20_001),
    (GOOD + "- [ ] a\n" * 100_000, "too_many_lines", 20_001),
]


@pytest.mark.parametrize(
    ("content", "code", "line"), BAD_STEPS, ids=[f"{c}-{n}" for n, (_, c, _) in enumerate(BAD_STEPS)]
)
def test_a_bad_step_file_is_one_problem_with_its_line(
    tmp_path: Path, content: str | bytes, code: str, line: int
) -> None:
    found = read(tmp_path, step_1=content)
    [problem] = found.errors

    assert (problem.code, problem.where) == (code, f"plan/step-1.md:{line}")
    assert problem.message


ODD_NAMES = {
    "`Cart` + `hook.ts` bridge": "`Cart` + `hook.ts` bridge",
    "Cache: warm it: twice": "Cache: warm it: twice",
    "[WIP] the cart": "[WIP] the cart",
    '"a': '"a',
    "[": "[",
    '"Cart" and more': '"Cart" and more',
    "@cart/api package": "@cart/api package",
    "*all* of it": "*all* of it",
    "100% of it: `x`  ": "100% of it: `x`",
}


@pytest.mark.parametrize("written", ODD_NAMES)
def test_a_name_that_is_not_yaml_is_read_as_the_text_it_is(tmp_path: Path, written: str) -> None:
    found = read(tmp_path, step_1=front("id: step-1", f"name: {written}", "status: done"))

    assert found.errors == ()
    assert [(problem.code, problem.where) for problem in found.problems] == [("not_yaml", "plan/step-1.md:3")]
    assert found.plan.steps[0].title == ODD_NAMES[written]
    assert found.marks[found.plan.steps[0].id].status is Status.DONE


@pytest.mark.parametrize(
    "lines",
    [
        ("id: step-2", "depends_on:", "\t- step-1", "status: done"),
        ("id: step-2", "depends_on: [step-1]", "just some words", "status: done"),
        ("id: step-2", "  name: x", "depends_on: [step-1]", "status: done"),
        ("id: step-2", "depends_on:", "  - step-1", "tags:", "  - a: b: c", "status: done"),
    ],
)
def test_an_odd_line_of_the_frontmatter_costs_only_itself(tmp_path: Path, lines: tuple[str, ...]) -> None:
    found = read(tmp_path, step_1=GOOD, step_2=front(*lines))

    assert found.errors == ()
    assert {problem.code for problem in found.problems} == {"not_yaml"}
    assert found.plan.steps[1].needs == ("step-1",)
    assert found.marks[found.plan.steps[1].id].status is Status.DONE


def test_a_line_that_is_left_out_because_of_its_tab_is_warned_of_with_the_tab(tmp_path: Path) -> None:
    found = read(tmp_path, step_1=front("id:\tstep-1", '\tname: "A"', "status: done"))

    assert found.errors == ()
    [tabbed] = [problem.message for problem in found.problems if problem.where == "plan/step-1.md:3"]
    assert tabbed.startswith("the line has tabs, which YAML does not allow here; with spaces in their place it is not")
    assert "left out" in tabbed


def test_marks_are_written_beside_a_line_that_is_not_yaml(tmp_path: Path) -> None:
    text = front("id: step-1", "name: `Cart`: the bridge", "status: ready")
    found = read(tmp_path, step_1=text)
    files = open_plan(tmp_path / "plan", repo=tmp_path)

    files.write(found.plan.steps[0], Marks(status=Status.DONE))

    assert (tmp_path / "plan" / "step-1.md").read_text() == text.replace("ready", "done")


def test_a_frontmatter_of_odd_lines_only_is_refused(tmp_path: Path) -> None:
    found = read(tmp_path, step_1=front("id: step-1", *(f"name{n}: a: b" for n in range(30))))

    assert [problem.code for problem in found.errors] == ["bad_yaml"]


def test_crlf_and_byte_order_mark_do_not_move_lines(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    plain = read(tmp_path / "a", step_1=GOOD).plan.steps[0]
    (tmp_path / "b").mkdir()

    other = read(tmp_path / "b", step_1="\ufeff" + GOOD.replace("\n", "\r\n"))

    assert other.problems == ()
    assert other.plan.steps[0].checks == plain.checks
    assert other.plan.steps[0].checks[0].line == 8


def test_problems_in_a_crlf_file_have_the_right_line(tmp_path: Path) -> None:
    content = "\ufeff" + front("id: step-1", "name: é", "status: odd").replace("\n", "\r\n")

    assert only(read(tmp_path, step_1=content)).where == "plan/step-1.md:4"


def test_a_missing_root_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "step-1.md").write_text(GOOD)

    found = open_plan(tmp_path / "plan", repo=tmp_path).read()

    assert (only(found).code, only(found).where) == ("missing_root", "plan/root.md:1")


def test_an_empty_plan_is_a_problem(tmp_path: Path) -> None:
    assert only(read(tmp_path)).code == "no_steps"


def test_a_malformed_root_is_a_problem_and_a_bare_one_is_none(tmp_path: Path) -> None:
    assert only(read(tmp_path, root="---\na: \x07\n---\n", step_1=GOOD)).code == "bad_yaml"
    wild = read(tmp_path, root="---\nautonomy: wild\n---\n", step_1=GOOD)
    assert (only(wild).code, wild.errors, wild.plan.autonomy) == ("bad_autonomy", (), "verbose")

    bare = read(tmp_path, root="# Just a title\n", step_1=GOOD)

    assert bare.problems == ()
    assert bare.plan.title == "Just a title"


@pytest.mark.parametrize(
    ("item", "asked"),
    [
        ("None", False),
        ("N/A (pure functions; covered by unit tests).", False),
        ("*None.*", False),
        ("n/a — see phase 3", False),
        ("Nothing flickers", True),
        ("None of the buttons moves", True),
        ("Look at `it`", True),
    ],
)
def test_an_item_that_says_that_there_is_nothing_to_verify_is_not_asked(tmp_path: Path, item: str, asked: bool) -> None:
    found = read(tmp_path, step_1=GOOD + f"\n#### Manual Verification:\n\n- [ ] {item}\n")

    assert bool(found.plan.steps[0].manual) is asked


def test_faults_between_files_name_the_line_of_the_field(tmp_path: Path) -> None:
    one = front("id: step-1", "name: x", "depends_on: [step-2]")
    two = front("id: step-2", "depends_on:", "- step-1", "- nowhere")

    found = read(tmp_path, step_1=one, step_2=two, step_3=front("status: ready", "id: step-1"))

    assert {(p.code, p.where) for p in found.problems} == {
        ("cycle", "plan/step-1.md:4"),
        ("unknown_need", "plan/step-2.md:3"),
        ("duplicate_id", "plan/step-3.md:3"),
    }
    assert len(found.plan.steps) == 3


def test_a_broken_file_is_not_reported_again_by_those_that_need_it(tmp_path: Path) -> None:
    found = read(tmp_path, step_1="no frontmatter", step_2=front("id: step-2", "depends_on: [step-1]"))

    assert [p.code for p in found.problems] == ["no_frontmatter"]


def test_a_role_brings_its_tier_and_a_step_may_run_alone(tmp_path: Path) -> None:
    step = read(tmp_path, step_1=front("id: step-1", "role: Code_Reviewer", "alone: true")).plan.steps[0]

    assert (step.role, step.tier, step.alone) == ("code-reviewer", "strong", True)


def test_a_role_that_is_none_of_ours_does_not_count(tmp_path: Path) -> None:
    found = read(tmp_path, step_1=front("id: step-1", "role: wizard"))

    assert (only(found).code, only(found).severity, only(found).where) == (
        "unknown_role",
        Severity.WARNING,
        "plan/step-1.md:3",
    )
    assert found.plan.steps[0].role == ""


def test_problems_are_sorted_by_file_number_and_line(tmp_path: Path) -> None:
    bad = front("id: step-{}", "status: odd", "tier: huge")

    found = read(tmp_path, step_10=bad.format(10), step_2=bad.format(2), step_b=front("id: b", "tier: x"))

    assert [p.where for p in found.problems] == [
        "plan/step-2.md:3",
        "plan/step-2.md:4",
        "plan/step-10.md:3",
        "plan/step-10.md:4",
        "plan/step-b.md:3",
    ]


def test_symlinked_step_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text(GOOD)
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "step-1.md").symlink_to(tmp_path / "elsewhere.md")

    found = read(tmp_path)

    assert (only(found).code, only(found).where) == ("symlink", "plan/step-1.md:1")


def test_a_pipe_or_folder_called_like_a_step_is_refused_without_waiting(tmp_path: Path) -> None:
    (tmp_path / "plan" / "step-1.md").mkdir(parents=True)
    os.mkfifo(tmp_path / "plan" / "step-2.md")
    (tmp_path / "plan" / "root.md").write_text(ROOT)

    found = open_plan(tmp_path / "plan", repo=tmp_path).read()

    assert [p.code for p in found.problems] == ["not_a_file", "not_a_file"]


def test_a_symlinked_plan_inside_the_repository_is_resolved_and_one_leaving_it_refused(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    read(repo, step_1=GOOD)
    (repo / "link").symlink_to(repo / "plan")
    (tmp_path / "outside").mkdir()
    read(tmp_path / "outside", step_1=GOOD)
    (repo / "away").symlink_to(tmp_path / "outside" / "plan")

    assert open_plan(repo / "link" / "root.md", repo=repo).read().plan.path == "plan"
    with pytest.raises(InvalidInput, match="outside the repository") as refused:
        open_plan(repo / "away", repo=repo)
    assert refused.value.hint


@pytest.mark.parametrize("name", ["missing", "missing/root.md", "empty", "file.txt", "."])
def test_what_is_not_a_plan_is_refused_with_a_hint(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("x")

    with pytest.raises(InvalidInput) as refused:
        open_plan(tmp_path / name, repo=tmp_path)

    assert "drumline validate" in refused.value.hint


def test_every_accepted_status_is_read(tmp_path: Path) -> None:
    words = {"completed": "done", "in-progress": "claimed", "pending": "ready", "": "ready"}
    words |= {status.value: status.value for status in Status}

    for word, meaning in words.items():
        found = read(tmp_path, step_1=front("id: step-1", f"status: {word}"))
        assert found.marks == {"step-1": Marks(status=Status(meaning))}
        assert found.problems == ()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2030-01-02", "2030-01-02"),
        ("2030-01-02T03:04:05Z", "2030-01-02T03:04:05Z"),
        ("'2030-01-02 03:04:05'", "2030-01-02 03:04:05"),
        ("2030-1-2 3:04:05", "2030-01-02T03:04:05"),
        ("yesterday", "yesterday"),
        ("null", ""),
    ],
)
def test_a_claim_time_in_any_spelling_becomes_text(tmp_path: Path, written: str, expected: str) -> None:
    found = read(tmp_path, step_1=front("id: step-1", f"claimed_at: {written}"))

    assert found.marks["step-1"].claimed_at == expected  # type: ignore[index]


def test_native_fields_are_read(tmp_path: Path) -> None:
    content = front(
        "id: 7",
        "name: 'A  name'",
        "files: [./src/a.py, docs/]",
        "tier: strong",
        "agent: codex",
        "checks: [make x]",
        "review: deep",
        "estimate: 2.5",
        "unknown: {deep: [1, 2]}",
    )

    step = read(tmp_path, step_1=content).plan.steps[0]

    assert (step.id, step.title, step.files) == ("7", "A name", ("src/a.py", "docs/"))
    assert (step.tier, step.agent, step.review, step.estimate) == ("strong", "codex", "deep", 2.5)
    assert [(check.command, check.line) for check in step.checks] == [("true", 13), ("make x", 0)]


CRITERIA = """---
id: step-1
---
# step-1: From the heading

```
#### Automated Verification:
- [ ] `in a fence`
```

### Success Criteria:

#### Automated Verification:

- [ ] Tests: `make test`
- [x] Ticked: `` echo `date` ``
- [ ] no command
- [ ] two `a` and `b`
  - a note with `code`
  - [ ] nested `make nested`
- plain `make plain`

#### Automated QA:

- [ ] look at `the page`

#### Manual Verification:

- [ ] Colours of `x` are
  right

## Appendix

- [ ] `not a check`
"""


def test_criteria_are_found_by_heading_and_never_in_code(tmp_path: Path) -> None:
    found = read(tmp_path, step_1=CRITERIA)
    step = found.plan.steps[0]

    assert step.title == "step-1: From the heading"
    assert [(check.line, check.command) for check in step.checks] == [
        (15, "make test"),
        (16, "echo `date`"),
        (20, "make nested"),
        (21, "make plain"),
    ]
    assert step.not_run == ("no command", "two `a` and `b`")
    assert step.manual == ("Colours of `x` are right",)
    assert [(p.code, p.where) for p in found.problems] == [
        ("check_not_command", "plan/step-1.md:17"),
        ("check_not_command", "plan/step-1.md:18"),
    ]


def test_reading_again_parses_only_changed_files_and_keeps_their_warnings(tmp_path: Path) -> None:
    first = read(tmp_path, step_1=CRITERIA, step_2=front("id: step-2", "depends_on: [step-1, step-1]"))
    (tmp_path / "plan" / "step-3.md").write_text(front("id: step-3", "tier: odd"))

    second = open_plan(tmp_path / "plan", repo=tmp_path).read(first)

    assert second.plan.steps[0] is first.plan.steps[0]
    assert second == open_plan(tmp_path / "plan", repo=tmp_path).read()
    assert {p.code for p in second.problems} == {"check_not_command", "redundant_need", "bad_tier"}
    assert open_plan(tmp_path / "plan", repo=tmp_path).read(second) == second


def test_a_removed_file_is_noticed(tmp_path: Path) -> None:
    first = read(tmp_path, step_1=GOOD, step_2=front("id: step-2"))
    (tmp_path / "plan" / "step-2.md").unlink()

    second = open_plan(tmp_path / "plan", repo=tmp_path).read(first)

    assert [step.id for step in second.plan.steps] == ["step-1"]


def test_a_plan_of_a_repository_inside_the_repository_is_refused(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "plan").mkdir()
    (inner / "plan" / "root.md").write_text("# Plan\n")

    with pytest.raises(InvalidInput, match="another repository"):
        open_plan(inner / "plan", repo=tmp_path)


@pytest.mark.parametrize("key", ["needs", "dependsOn", "depends-on", "depends", "dependencies", "blocked_by"])
def test_other_words_for_needs_count_as_needs(tmp_path: Path, key: str) -> None:
    found = read(tmp_path, step_1=front("id: step-1"), step_2=front("id: step-2", f"{key}: [step-1]"))

    assert [step.needs for step in found.plan.steps] == [(), ("step-1",)]
    assert not found.problems


def test_depends_on_outweighs_other_words_for_needs(tmp_path: Path) -> None:
    second = front("id: step-2", "needs: [step-9]", "depends_on: [step-1]")

    found = read(tmp_path, step_1=front("id: step-1"), step_2=second)

    assert found.plan.steps[1].needs == ("step-1",)


def test_an_unknown_need_is_located_at_the_word_that_the_file_has(tmp_path: Path) -> None:
    found = read(tmp_path, step_1=front("id: step-1"), step_2=front("id: step-2", "name: Two", "needs: [step-9]"))

    assert (only(found).code, only(found).where) == ("unknown_need", "plan/step-2.md:4")


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("file", "files"),
        ("Estimates", "estimate"),
        ("check", "checks"),
        ("test", "test_cmd"),
        ("Tests", "test_cmd"),
        ("lint_command", "lint_cmd"),
    ],
)
def test_a_misspelt_field_is_named_and_does_not_count(tmp_path: Path, key: str, meant: str) -> None:
    problem = only(read(tmp_path, step_1=front("id: step-1", f"{key}: x")))

    assert (problem.code, problem.severity) == ("misspelt_field", Severity.WARNING)
    assert f"did you mean {meant!r}?" in problem.message


def test_a_command_for_a_kind_of_check_that_the_root_file_misnames_is_named(tmp_path: Path) -> None:
    root = "---\nplan_type: dag\nformat: dag\nbuild: make\n---\n# P\n"

    problem = only(read(tmp_path, root=root, step_1=front("id: step-1")))

    assert (problem.code, problem.where) == ("misspelt_field", "plan/root.md:4")
    assert "did you mean 'build_cmd'?" in problem.message


def test_fields_of_other_tools_are_left_alone(tmp_path: Path) -> None:
    found = read(tmp_path, step_1=front("id: step-1", "priority: high", "labels: [a]", "created: 2026-01-01"))

    assert not found.problems


def test_a_title_in_the_frontmatter_is_the_title(tmp_path: Path) -> None:
    found = read(tmp_path, step_1=front("id: step-1", "title: The parser"))

    assert found.plan.steps[0].title == "The parser"


def test_a_corrective_step_is_added_to_the_needs_below_the_word_that_the_file_has(tmp_path: Path) -> None:
    found = read(tmp_path, step_1=front("id: step-1"), step_2=front("id: step-2", "needs: [step-1]"))
    correction = Correction(id=StepId("step-2h"), title="Another way", what="Do it", why="It fails", test="true")

    open_plan(tmp_path / "plan", repo=tmp_path).insert(correction, helps=found.plan.steps[1])

    assert "needs: [step-1, step-2h]" in (tmp_path / "plan/step-2.md").read_text()
