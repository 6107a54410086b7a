"""Vectors of the implement.md contract as tables. Where we differ from other readers of the format, a row says so."""

from __future__ import annotations

import pytest

from drumline.core.plan import Marks, Severity, Status
from drumline.planfiles.document import Parsed
from drumline.planfiles.implement import ImplementDialect
from drumline.planfiles.preamble import BUDGET

PATH = ".ai/specs/2416553-add-layout-switcher/implement.md"


def parse(text: str, path: str = PATH) -> Parsed:
    return ImplementDialect().parse(text, path)


def codes(found: Parsed) -> list[str]:
    return [problem.code for problem in found.problems]


@pytest.mark.parametrize(
    ("line", "status", "warned"),
    [
        ("**Status:** pending", Status.READY, []),
        ("**Status:** in-progress", Status.CLAIMED, []),
        ("**Status:** done", Status.DONE, []),
        ("**Status:** blocked", Status.BLOCKED, []),
        # Their parser counts such a step and lists it nowhere; here it is a step that was skipped.
        ("**Status:** skipped", Status.SKIPPED, []),
        ("- **Status:** done", Status.DONE, []),
        ("**Status**: done", Status.DONE, []),
        ("**Status:** Pending", Status.READY, ["status_drift"]),
        ("**Status:** done (in abc123)", Status.DONE, ["status_drift"]),
        ("**Status:** ✅ Completed", Status.DONE, ["status_drift"]),
        ("**Status:** In Progress", Status.CLAIMED, ["status_drift"]),
        ("**Status:** failed", Status.BLOCKED, ["status_drift"]),
        ("**Status:**", Status.READY, ["no_status"]),
        ("Nothing here.", Status.READY, ["no_status"]),
        ("**Status:** donee", Status.READY, ["bad_status", "no_status"]),
        ("> **Status:** done", Status.READY, ["no_status"]),
        ("`**Status:** done`", Status.READY, ["no_status"]),
        ("<!-- **Status:** done -->", Status.READY, ["no_status"]),
        ("```\n**Status:** done\n```", Status.READY, ["no_status"]),
        ("    **Status:** done", Status.READY, ["no_status"]),
        ("**Status:** pending\n**Status:** done", Status.READY, ["second_status"]),
    ],
)
def test_a_status_line_is_read_as_it_is_meant(line: str, status: Status, warned: list[str]) -> None:
    found = parse(f"### Step 1: Title\n\n{line}\n")

    assert found.marks["1"].status is status  # type: ignore[index]
    assert codes(found) == warned


@pytest.mark.parametrize(
    ("heading", "step", "title", "status", "warned"),
    [
        ("### Step 3: Add it", "3", "Add it", Status.DONE, []),
        ("## Step 3: Add it", "3", "Add it", Status.DONE, []),
        ("## Step 3: Add it [done]", "3", "Add it", Status.DONE, ["mixed_variants"]),
        ("### Step 3h: Heal — it", "3h", "Heal — it", Status.DONE, []),
        ("### Step R1b: Review fix", "R1b", "Review fix", Status.DONE, []),
        ("### Step 3: Add it ###", "3", "Add it", Status.DONE, []),
        ("### Step 3 - Add it", "3", "Add it", Status.DONE, ["heading_drift"]),
        ("### Step 3 — Add it: now", "3", "Add it: now", Status.DONE, ["heading_drift"]),
        ("### Step 3. Add it", "3", "Add it", Status.DONE, ["heading_drift"]),
        ("### Step 3 Add it", "3", "Add it", Status.DONE, ["heading_drift"]),
        ("### STEP 3: Add it", "3", "Add it", Status.DONE, ["heading_drift"]),
        ("### **Step 3:** Add it", "3", "Add it", Status.DONE, ["heading_drift"]),
        ("### Step 3: Take `a[0]` and [b](c)", "3", "Take `a[0]` and [b](c)", Status.DONE, []),
        # A bracket means another repository only in a plan that spans several.
        ("### Step 3: Sort list[int]", "3", "Sort list[int]", Status.DONE, []),
        ("### Step 3:", "3", "Step 3", Status.DONE, []),
    ],
)
def test_a_heading_opens_a_step(heading: str, step: str, title: str, status: Status, warned: list[str]) -> None:
    found = parse(f"# Implementation Plan: X\n\n{heading}\n**Status:** done\n")

    assert [(s.id, s.title) for s in found.steps] == [(step, title)]
    assert found.marks == {step: Marks(status=status)}
    assert codes(found) == warned


@pytest.mark.parametrize(
    "text",
    [
        "# Step 1: a title, not a step\n",
        "#### Step 1: too deep\n",
        "## Steps\n",
        "Step 1: no heading\n",
        "```\n### Step 1: in a fence\n**Status:** done\n```\n",
        "> ### Step 1: quoted\n",
        "- ### Step 1: in a list\n",
        "<!--\n### Step 1: in a comment\n-->\n",
    ],
)
def test_what_only_looks_like_a_step_is_none(text: str) -> None:
    assert parse(text).steps == ()


def test_a_heading_without_an_id_is_told() -> None:
    found = parse("### Step by step: how\n")

    assert (found.steps, codes(found)) == ((), ["heading_unread"])


@pytest.mark.parametrize(
    ("ids", "needs"),
    [
        ("1 2 3", {"1": "", "2": "1", "3": "2"}),
        ("1 2 3 3h 3h2 4", {"3": "2 3h 3h2", "3h": "2", "3h2": "2", "4": "3"}),
        ("1 1h 2", {"1": "1h", "1h": "", "2": "1"}),
        ("1 2 R1 R2 3", {"2": "1 R1 R2", "R1": "1", "R2": "1", "3": "2"}),
        ("1 2 R1 R1b", {"2": "1 R1 R1b", "R1b": "1"}),
        ("1 2 3a 3b", {"3a": "2", "3b": "3a"}),
        ("1 2 2h 2hh 3", {"2": "1 2h", "2h": "1 2hh", "2hh": "1", "3": "2"}),
        ("R1 2", {"R1": "", "2": "R1"}),
        ("R1 R1 2", {"2": "R1"}),
        ("9h 2", {"9h": "", "2": "9h"}),
    ],
)
def test_order_and_ids_say_who_waits_for_whom(ids: str, needs: dict[str, str]) -> None:
    text = "".join(f"### Step {one}: T\n**Status:** pending\n" for one in ids.split())

    found = {step.id: " ".join(step.needs) for step in parse(text).steps}

    assert {one: found[one] for one in needs} == needs  # type: ignore[index]


@pytest.mark.parametrize(
    ("field", "checks", "not_run"),
    [
        ("**Test:** `make test`", ["make test"], []),
        ("**Test:** run `make test` and see it pass", ["make test"], []),
        ("**Test:** compile check only", [], []),
        ("**Test:** make test", [], ["make test"]),
        ("**Test:** `a` and `b`", [], ["`a` and `b`"]),
        ("**Test:** Run `make a` — passes for `src/a`", ["make a"], []),
        ("**Test:** `cart` is exported", [], ["`cart` is exported"]),
        ("**Verification:**\n- [ ] `make a`\n- [x] `make b`\n- by eye", ["make a", "make b"], ["by eye"]),
        ("**Verification:** these pass:\n- `make a`", ["make a"], []),
        ("**Verification:**\n\n`make a`", ["make a"], []),
        ("**Test:**\n```\nmake test\n```", ["make test"], []),
        ("**Verification:**\n```bash\n$ make a\n# why\nmake b \\\n  c\n```", ["make a", "make b \\\n  c"], []),
        ("**Test:**\n```json\n{}\n```", [], ["a code block"]),
        ("**What:** `not a check`", [], []),
    ],
)
def test_only_a_single_code_span_is_run(field: str, checks: list[str], not_run: list[str]) -> None:
    found = parse(f"### Step 1: T\n**Status:** pending\n{field}\n")

    assert [check.command for check in found.steps[0].checks] == checks
    assert list(found.steps[0].not_run) == not_run
    assert codes(found) == ["check_not_command"] * len(not_run)


@pytest.mark.parametrize(
    ("field", "files"),
    [
        ("**Files:** `src/a.py`, `src/b.py`", ["src/a.py", "src/b.py"]),
        ("**Files:** src/a.py, Makefile.am (new)", ["src/a.py", "Makefile.am"]),
        ("**Files:** .github/ci.yml", [".github/ci.yml"]),
        ("**Files:** `./src/a.py:10-20`", ["src/a.py"]),
        ("**Files:** None", []),
        ("**Files:**\n- Modify: `a.py`\n- Create: b/c.py\n- Test: `t.py` (new)", ["a.py", "b/c.py", "t.py"]),
    ],
)
def test_files_are_harvested_and_do_not_bind(field: str, files: list[str]) -> None:
    found = parse(f"### Step 1: T\n**Status:** pending\n{field}\n")

    assert (list(found.steps[0].files), found.steps[0].binding) == (files, False)
    assert codes(found) == []


def test_a_path_outside_the_repository_is_told_and_left_out() -> None:
    found = parse("### Step 1: T\n**Status:** pending\n**Files:** `../x.py`, `a.py`\n")

    assert (found.steps[0].files, codes(found)) == (("a.py",), ["file_not_used"])


@pytest.mark.parametrize(
    ("head", "tag", "elsewhere"),
    [
        ("**Other repos required:** Backend-API", "[Backend-API]", "Backend-API"),
        ("**Other repos required:** Backend-API", "[This repo]", ""),
        ("**Repo:** Web\n**Other repos required:** Backend-API", "[Web]", ""),
        ("**Other repos required:** None", "[int]", ""),
        ("", "[int]", ""),
        ("**Other repos required:** Backend-API", "[done]", ""),
        ("**Other repos required:** Backend-API", "[Backend-API] [pending]", "Backend-API"),
    ],
)
def test_steps_of_another_repository_are_known(head: str, tag: str, elsewhere: str) -> None:
    found = parse(f"# Implementation Plan: X\n{head}\n\n## Step 1: T {tag}\n")

    assert found.steps[0].elsewhere == elsewhere
    assert ("elsewhere" in codes(found)) is bool(elsewhere)


@pytest.mark.parametrize(
    ("text", "path", "ticket"),
    [
        ("**Work Item:** #77\n", PATH, "77"),
        ("", PATH, "2416553"),
        ("", ".ai/specs/ABC-12-some-slug/implement.md", "ABC-12"),
        ("", "plans/layout/implement.md", ""),
        ("", "implement.md", ""),
    ],
)
def test_the_ticket_comes_from_the_plan_or_its_folder(text: str, path: str, ticket: str) -> None:
    assert parse(f"# Implementation Plan: X\n\n{text}\n### Step 1: T\n", path).ticket == ticket


def test_title_provenance_and_the_plans_own_status_are_not_taken_for_a_step() -> None:
    text = (
        "---\nprovenance:\n  agent: dx-plan\n  confidence: low\n  verified: false\n---\n"
        "# Implementation Plan: Switcher\n\n"
        "**Status:** In Progress\n\n## Requirements Summary\n\n**Status:** pending\n\n## Step 1: T [pending]\n"
    )

    found = parse(text)

    assert (found.title, codes(found)) == ("Switcher", ["low_confidence"])
    assert found.marks == {"1": Marks()}


def test_a_broken_frontmatter_is_a_warning_and_the_steps_are_still_read() -> None:
    found = parse("---\na: [\n---\n### Step 1: T\n**Status:** pending\n")

    assert [step.id for step in found.steps] == ["1"]
    assert [problem.severity for problem in found.problems] == [Severity.WARNING]


def test_what_stands_above_the_steps_is_the_plans_own_words_and_a_step_has_its_part_alone() -> None:
    found = parse(
        "---\na: b\n---\n# Implementation Plan: X\r\n## Approach\nBold.\n### Step 1: One\nA\n### Step 2: Two\nB\n"
    )

    assert found.preamble == "## Approach\nBold."
    assert found.texts["2"] == "### Step 2: Two\nB\n"  # type: ignore[index]


def test_decisions_that_are_too_long_are_cut_and_named() -> None:
    decisions = "\n\n".join(f"### Decision {n}\n\n{'Because. ' * 100}" for n in range(12))

    found = parse(f"# Implementation Plan: X\n## Key Decisions\n\n{decisions}\n## Steps\n### Step 1: One\nA\n")

    assert "### Decision 0\n\nBecause." in found.preamble
    assert found.preamble.endswith("(Left out here for their length: the rest of Key Decisions.)")
    assert len(found.preamble) < BUDGET + 200


def test_a_step_ends_at_the_next_heading_of_its_level() -> None:
    found = parse("### Step 1: One\n**Status:** pending\n#### Notes\nMore.\n## Testing Plan\n**Test:** `never`\n")

    assert found.texts["1"].endswith("More.\n")  # type: ignore[index]
    assert found.steps[0].checks == ()
