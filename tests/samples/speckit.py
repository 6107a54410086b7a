"""Spec Kit's tasks.md: phases, stories, `[P]`, checkpoints and prose."""

from tests.samples.shape import Sample

FULL = """---
description: "Tasks"
---

# Tasks: Login

**Input**: Design documents from `/specs/001-login/`

## Format: `[ID] [P?] [Story] Description`

- **[P]**: Can run in parallel

## Phase 1: Setup (Shared Infrastructure)

- [x] T001 Create the project
- [ ] T002 [P] Configure the linter in `pyproject.toml`
- [ ] T003 [P] Configure CI in .github/workflows/ci.yml

---

## Phase 2: Foundational (Blocking Prerequisites)

**⚠️ CRITICAL**: No user story work can begin until this phase is complete

- [ ] T004 Add the database in src/db.py

**Checkpoint**: Foundation ready

---

## Phase 3: User Story 1 - Sign in (Priority: P1) 🎯 MVP

**Independent Test**: Sign in with a good password

### Tests for User Story 1

- [ ] T005 [P] [US1] Contract test in tests/test_login.py
- [ ] T006 [P] [US1] Integration test in tests/test_flow.py

### Implementation for User Story 1

- [ ] T007 [P] [US1] User model in src/user.py
- [ ] T008 [US1] Login service in src/login.py (depends on T004, T007)

**Checkpoint**: User Story 1 works

## Phase 4: User Story 2 - Sign out (Priority: P2)

- [ ] T009 [P] [US2] Sign out in src/logout.py

## Phase N: Polish

- [ ] T010 [P] Docs in docs/login.md
- [ ] T011 Run quickstart.md validation

## Dependencies & Execution Order

- **User Story 2 (P2)**: Can start after Foundational (Phase 2) - No dependencies on other stories
"""

SAMPLES = {
    "the template": Sample(
        text=FULL,
        steps="""
            T001 : done
            T002 < T001
            T003 < T001
            T004 < T002 T003
            T005 < T004
            T006 < T004
            T007 < T005 T006
            T008 < T007 T004
            T009 < T004
            T010 < T008 T009
            T011 < T010
        """,
    ),
    "the older template": Sample(
        text="# Tasks: A\n\n## Phase 3.1: Setup\n- [ ] T001 Create it\n- [ ] T002 [P] Lint\n\n"
        "## Phase 3.2: Tests First (TDD)\n- [ ] T003 [P] Contract test\n- [ ] T004 [P] Integration test\n\n"
        "## Phase 3.3: Core\n- [ ] T005 [P] Model\n\n## Dependencies\n- Tests (T003-T004) before implementation (T005)\n"
        "- T001 blocks T005\n\n## Validation Checklist\n\n- [ ] All contracts have tests\n",
        steps="""
            T001
            T002 < T001
            T003 < T002
            T004 < T002
            T005 < T003 T004 T001
        """,
        codes=("box_unread",),
    ),
    "no phases": Sample(
        text="# Tasks: A\n\n- [ ] T001 One\n- [ ] T002 [P] Two\n- [ ] T003 [P] Three\n- [ ] T004 Four\n",
        steps="""
            T001
            T002 < T001
            T003 < T001
            T004 < T002 T003
        """,
    ),
    "bold ids, colons and suffixes": Sample(
        text="# Tasks: A\n\n## Phase 1: S\n\n- [x] **T001** [P] One\n- [ ] **T002**: [US1] Two\n- [ ] T003a. Three\n- [ ] T003B Three more\n- [ ] M001 Four\n",
        steps="""
            T001 : done
            T002 < T001
            T003a < T002
            T003B < T003a
            M001 < T003B
        """,
    ),
    "stories beside each other": Sample(
        text="# Tasks\n\n## Phase 1: Setup\n- [ ] T001 A\n\n## Phase 2: User Story 1\n- [ ] T002 [US1] B\n- [ ] T003 [US1] C\n\n"
        "## Phase 3: User Story 2\n- [ ] T004 [US2] D\n\n## Phase 4: User Story 3\n- [ ] T005 [US3] E\n\n"
        "## Phase 5: Polish\n- [ ] T006 [P] F\n",
        steps="""
            T001
            T002 < T001
            T003 < T002
            T004 < T001
            T005 < T001
            T006 < T003 T004 T005
        """,
    ),
    "a story that needs another": Sample(
        text="# Tasks\n\n## Phase 1: User Story 1\n- [ ] T001 [US1] A\n- [ ] T002 [US1] B\n\n"
        "## Phase 2: User Story 2\n- [ ] T003 [US2] C\n- [ ] T004 [US2] D\n\n## Phase 3: User Story 3\n- [ ] T005 [US3] E\n\n"
        "## Dependencies\n\n- **User Story 2 (P2)**: Depends on US1\n- **User Story 3**: does NOT depend on US1 or US2\n",
        steps="""
            T001
            T002 < T001
            T003 < T002
            T004 < T003
            T005
        """,
    ),
    "what a line is about": Sample(
        text="# Tasks\n\n## Phase 1: User Story 1\n- [ ] T001 A\n\n## Phase 2: User Story 2\n- [ ] T002 B\n\n"
        "## Phase 3: User Story 3\n- [ ] T003 C\n\n## Phase 4: User Story 4\n- [ ] T004 D\n\n## Dependencies\n\n"
        "- **User Story 2**: Can start after Phase 9 - May integrate with US1 but is independent\n"
        "- **User Story 3**: Enhances US2 - Best implemented after US1\n- US1 and US4 are both P1, but US4 depends on US1\n",
        steps="""
            T001
            T002
            T003 < T001
            T004 < T001
        """,
    ),
    "clauses about tasks of a phase": Sample(
        text="# Tasks\n\n## Phase 1: Setup\n- [ ] T001 A\n\n## Phase 2: User Story 1\n- [ ] T002 [P] B\n- [ ] T003 [P] C\n"
        "- [ ] T004 [P] D\n\n## Phase 3: User Story 2\n- [ ] T005 [P] E\n- [ ] T006 [P] F\n- [ ] T007 [P] G (rows → pages, to make T002 green)\n\n"
        "## Phase 4: User Story 3\n- [ ] T008 H\n\n## Phase 5: User Story 4\n- [ ] T009 I\n\n## Dependencies\n\n"
        "- **Phase 2 (US1)**: Depends on Phase 1 — T002 → T003; T004 after T002\n"
        "- **US2**: Can start after Setup — shows what US3 needs\n"
        "- In parallel after Phase 1 completes: US1 (T002→T003) and US2 (T005→T006)\n"
        "- **Phase 5**: Depends on Phases 2–4 being done\n\n| Story | Needs | Why |\n|---|---|---|\n"
        "| US3 (list) | Phase 1, US2 | Depends on the rows (US2) |\n",
        steps="""
            T001
            T002 < T001
            T003 < T001 T002
            T004 < T001 T002
            T005 < T001
            T006 < T001 T005
            T007 < T001
            T008 < T001 T006 T007
            T009 < T001 T003 T004 T006 T007 T008
        """,
    ),
    "arrows and ranges": Sample(
        text="# Tasks\n\n## Phase 1: X\n- [ ] T001 [P] A\n- [ ] T002 [P] B\n- [ ] T003 [P] C\n- [ ] T004 [P] D\n\n"
        "## Dependencies\n\nT001 → T002 → T003\n\n- T004 depends on T001-T003\n",
        steps="""
            T001
            T002 < T001
            T003 < T002
            T004 < T003
        """,
    ),
    "prose that contradicts the order": Sample(
        text="# Tasks\n\n## Phase 1: X\n- [ ] T001 A (depends on T002)\n- [ ] T002 B\n",
        steps="""
            T001
            T002 < T001
        """,
        codes=("need_dropped",),
    ),
    "phases that prose names": Sample(
        text="# Tasks\n\n## Phase 1: X\n- [ ] T001 A\n\n## Phase 2: User Story 1\n- [ ] T002 [US1] B\n\n"
        "## Phase 3: User Story 2\n- [ ] T003 [US2] C\n\n## Execution Order\n\n- Phase 3 requires Phase 2; Phase 1 first\n",
        steps="""
            T001
            T002 < T001
            T003 < T001 T002
        """,
    ),
    "a phase that is deferred": Sample(
        text=(
            "# Tasks: Shop\n\n## Phase 1: Setup\n\n- [ ] T001 Make folders\n\n## Phase 2: Future enhancements\n\n"
            "- [ ] T002 [P] Add a robot\n- [ ] T003 [P] Add a map\n\n**Checkpoint**: Robots work\n\n"
            "## Phase 3: Polish\n\n- [ ] T004 Write docs\n- [ ] T005 [P] ~~Write a book~~\n"
        ),
        steps="""
            T001
            T002 < T001 : skipped
            T003 < T001 : skipped
            T004 < T002 T003
            T005 < T004 : skipped
        """,
        codes=("deferred", "deferred"),
    ),
    "items of a task": Sample(
        text="# Tasks\n\n## Phase 1: X\n\n- [ ] T001 Build it\n  - [x] the floor\n  - Run: `make floor`\n- [~] T002 Paint it\n",
        steps="""
            T001 ! make floor
            T002 < T001 : claimed
        """,
    ),
    "examples are not tasks": Sample(
        text="# Tasks\n\n## Phase 1: X\n\n- [ ] T001 [P] Real\n\n## Parallel Example\n\n```bash\n- [ ] T002 fake\n# T001 → T003\n```\n",
        steps="T001",
    ),
    "the same id twice": Sample(
        text="# Tasks\n\n## Phase 1: X\n\n- [ ] T001 One\n- [ ] T001 Another\n- [ ] T002 Two (depends on T001)\n",
        steps="""
            T001
            T001-2 < T001
            T002 < T001-2 T001
        """,
        codes=("id_twice",),
    ),
    "placeholders of the template": Sample(
        text="# Tasks\n\n## Phase 1: X\n\n- [ ] T001 [P] One\n\n## Phase N: Polish\n\n- [ ] TXXX [P] Documentation\n",
        steps="T001",
        codes=("box_unread",),
    ),
    "boxes of every kind": Sample(
        text="# Tasks\n\n## Phase 1: X\n\n* [x] T001 One\n\n+ [ ] T002 Two\n\t- [ ] an item\n\t- [a link](a.md)\n\n"
        "1. [~] T003 Three\n2. [-] T004 Four\n\n- [another](b.md)\n\n```md\n- [ ] T005 fake\n```\n",
        steps="""
            T001 : done
            T002 < T001
            T003 < T002 : claimed
            T004 < T003 : claimed
        """,
        codes=("mark_unknown",),
    ),
}


def many(count: int) -> str:
    """A list of so many tasks, in phases of ten."""
    lines = ["# Tasks"]
    for number in range(count):
        if number % 10 == 0:
            lines.append(f"\n## Phase {number // 10 + 1}: X\n")
        lines.append(f"- [ ] T{number:04} {'[P] ' if number % 3 else ''}Write src/f{number}.py")
    return "\n".join(lines) + "\n"
