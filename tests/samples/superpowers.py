"""Plans of Superpowers: tasks with files, interfaces, and commands that must fail before and pass after."""

from tests.samples.shape import Sample

NAME = "docs/superpowers/plans/2026-01-01-login.md"
HEAD = """# Login Implementation Plan

> **For agentic workers:** REQUIRED SUB-SKILL: Use superpowers:executing-plans

**Goal:** Let users sign in.

**Tech Stack:** Python

---

"""
FULL = (
    HEAD
    + """### Task 1: Password check

**Files:**
- Create: `src/password.py`
- Modify: `src/app.py:10-20`
- Test: `tests/test_password.py`

**Interfaces:**
- Consumes: nothing
- Produces: `check(password: str) -> bool`

- [ ] **Step 1: Write the failing test**

```python
def test_a(): ...  # Run: `make fake`
```

- [ ] **Step 2: Run test to verify it fails**

Run: `pytest tests/test_password.py -v`
Expected: FAIL with "function not defined"

- [ ] **Step 3: Write minimal implementation**

- [ ] **Step 4: Run test to verify it passes**

Run: `pytest tests/test_password.py -v`
Expected: PASS

- [ ] **Step 5: Commit**

```bash
git add src && git commit -m "feat: add"
```

### Task 2: Form

**Files:**
- Modify: `src/form.py`

- [x] **Step 1: Write it**
- [x] **Step 2: Check it**

Run: `ruff check src`
Expected: no errors.
"""
)


def tasks(*bodies: str) -> str:
    """A plan of so many tasks."""
    return HEAD + "".join(f"### Task {number}: T{number}\n\n{body}\n\n" for number, body in enumerate(bodies, start=1))


SAMPLES = {
    "the template": Sample(
        name=NAME,
        text=FULL,
        steps="""
            1 !! pytest tests/test_password.py -v
            2 < 1 : done ! ruff check src
        """,
    ),
    "steps without boxes": Sample(
        name="docs/plans/2025-01-01-x.md",
        text=tasks(
            "**Step 1: Run test to verify it fails**\n\nRun: `make test`\nExpected: FAIL\n\n**Step 2: Again**\n\nRun: `make test`\nExpected: PASS"
        ),
        steps="1 !! make test",
    ),
    "commands in code blocks": Sample(
        name=NAME,
        text=tasks(
            "- [ ] **Step 1: Verify**\n\nRun:\n\n```bash\n$ pytest -q\n```\n\nExpected: all PASS.",
            "- [ ] **Step 1: Verify**\n\n```bash\ncd app\nnpm test\n```\n\nExpected: 12 passed, 0 failures",
            "- [ ] **Step 1: Look**\n\n```bash\nnpm run lint\n```\n",
            "- [ ] **Step 1: Verify**\n\nRun:\n\n```bash\n# both\nfor f in a b; do\n  test -f $f\ndone\n```\n\nExpected: no output",
        ),
        steps="""
            1 ! pytest -q
            2 < 1 ! cd app && npm test
            3 < 2
            4 < 3 ! set -e for f in a b; do test -f $f done
        """,
    ),
    "expectations on the same line": Sample(
        name=NAME,
        text=tasks(
            "- [ ] Run: `make test` → green.",
            "- [ ] Run: `make lint` — Expected: FAIL",
            "- [ ] Run `make` and expect success",
        ),
        steps="""
            1 ! make test
            2 < 1
            3 < 2 ! make
        """,
    ),
    "no expectation but the words of the step": Sample(
        name=NAME,
        text=tasks(
            "- [ ] **Step 1: Run the test to make sure it fails**\n\nRun: `make a`\n\n- [ ] **Step 2: Run the tests and make sure they pass**\n\nRun: `make a`"
        ),
        steps="1 !! make a",
    ),
    "acts are no checks": Sample(
        name=NAME,
        text=tasks(
            "- [ ] Install\n\nRun: `npm install`\nExpected: success\n\n- [ ] Commit\n\nRun: `git status`\nExpected: clean"
        ),
        steps="1",
    ),
    "what is shortened can fail again": Sample(
        name=NAME,
        text=tasks("- [ ] Verify\n\nRun: `pytest -q 2>&1 | tail -5`\nExpected: all pass"),
        steps="1 ! pytest -q",
    ),
    "unclear expectations and foreign folders": Sample(
        name=NAME,
        text=tasks(
            "- [ ] Look\n\nRun: `python show.py`\nExpected: shows the list",
            "- [ ] Test\n\nRun: `cd /home/ann/shop && make test`\nExpected: PASS",
            "- [ ] Test\n\nRun: `pytest <file>`\nExpected: PASS",
        ),
        steps="""
            1
            2 < 1
            3 < 2
        """,
        codes=("check_not_command",) * 3,
    ),
    "errors by name are failures": Sample(
        name=NAME,
        text=tasks(
            "- [ ] Red\n\nRun: `make b`\nExpected: ModuleNotFoundError\n\n- [ ] Green\n\nRun: `make b`\nExpected: no regressions"
        ),
        steps="1 !! make b",
    ),
    "dotted and lettered tasks below parts": Sample(
        name=NAME,
        text=HEAD
        + "## Phase 1: A\n\n### Task 1.1: One\n\n- [x] a\n\n### Task 1.2a — Two\n\n- [ ] b\n\n## Chunk 2\n\n### Task B1: Three\n\n- [ ] c\n",
        steps="""
            1.1 : done
            1.2a < 1.1
            B1 < 1.2a
        """,
    ),
    "tasks of the second level, with sections": Sample(
        name=NAME,
        text=HEAD
        + "## Task 1: One\n\n### Steps\n\n- [ ] a\n\n### Verification\n\nRun: `make one`\nExpected: PASS\n\n## Task 2: Two\n\n- [ ] b\n",
        steps="""
            1 ! make one
            2 < 1
        """,
    ),
    "a task half done": Sample(
        name=NAME,
        text=tasks("- [x] a\n- [~] b\n- [ ] c", "- [X] a"),
        steps="""
            1
            2 < 1 : done
        """,
    ),
    "the same number twice": Sample(
        name=NAME,
        text=HEAD + "### Task 1: One\n\n- [ ] a\n\n### Task 1: Again\n\n- [ ] b\n",
        steps="""
            1
            1-2 < 1
        """,
        codes=("id_twice",),
    ),
    "headings with codes": Sample(
        name="specs/002-x/tasks.md",
        text="# Implementation Tasks\n\n### Phase 1: Core\n\n#### T001: Update the state [P]\n\n- [x] a\n- [ ] b\n\n#### T002: Add a function\n\n- [ ] c\n",
        steps="""
            T001
            T002 < T001
        """,
    ),
    "examples are not tasks": Sample(
        name=NAME,
        text=tasks("- [ ] a\n\n````md\n### Task 9: Fake\n\n- [ ] x\n\nRun: `make fake`\nExpected: PASS\n````"),
        steps="1",
    ),
    "boxes of every kind": Sample(
        name=NAME,
        text=HEAD
        + "### Task 1: A\n\n1. [ ] **Step 1: One**\n\n+ [x] **Step 2: Two**\n\t- [ ] nested\n\n* [ ] **Step 3: Three**\n\n"
        "- [a link](a.md)\n\n```md\n- [ ] fake\n```\n\n### Task 2: B\n\n- [x] **Step 1: Done**\n- [X] **Step 2: Done**\n\n"
        "### Task 3: C\n\n- [-] **Step 1: Half**\n- [~] **Step 2: Half**\n",
        steps="""
            1
            2 < 1 : done
            3 < 2
        """,
    ),
    "commits are not checks": Sample(
        name=NAME,
        text=tasks(
            "- [ ] a\n\nRun:\n\n```bash\ngit status --short\ngit add a.py\ngit commit \\\n  -m 'feat: a' \\\n  -m 'why; and how'\n```\n\n"
            "Expected: the commit succeeds.",
            "- [ ] a\n\nRun:\n\n```bash\nmake test\ngit add -A && git commit -m 'b; c'\n```\n\nExpected: PASS",
            "- [ ] a\n\nRun: `make lint && git push origin main`\nExpected: PASS",
        ),
        steps="""
            1
            2 < 1 ! make test
            3 < 2
        """,
        codes=("check_not_command",),
    ),
    "a change of OpenSpec whose tasks are headings": Sample(
        name="openspec/changes/add-login/tasks.md",
        text="# Implementation Tasks\n\n## Phase 1: Store\n\n### Task 1.1: Add a method\n- **File**: `a.py`\n- **Work**: Write it\n\n"
        "### Task 1.2: Use it\n- **Work**: Call it\n",
        steps="""
            1.1
            1.2 < 1.1
        """,
        beside={"openspec/changes/add-login/proposal.md": "# Why\n"},
    ),
    "an unclear expectation of several commands": Sample(
        name=NAME,
        text=HEAD + "### Task 1: A\n\n- [ ] **Step 1: Look**\n\n```bash\nmake a\nmake b\n```\n\nExpected: two lines\n",
        steps="1",
        codes=("check_not_command",),
    ),
}


def many(count: int) -> str:
    """A plan of so many tasks."""
    body = "- [ ] **Step 1: Test**\n\nRun: `make test`\nExpected: FAIL\n\n- [ ] **Step 2: Code**\n\nRun: `make test`\nExpected: PASS"
    return tasks(*[body] * count)
