"""Kiro's tasks.md: groups, optional tasks, requirements, and the dependency graph in its variants."""

from tests.samples.shape import Sample

NAME = ".kiro/specs/login/tasks.md"
GRAPHED = (
    "# Implementation Plan\n\n## Tasks\n\n- [ ] 1. Store\n  - [x] 1.1 Table\n    - _Requirements: 1.1_\n  - [ ] 1.2 Model\n"
    "- [ ] 2. Page\n  - [ ] 2.1 Form\n  - [ ]* 2.2 Test of the form\n- [ ] 3. Checkpoint - Ensure all tests pass\n\n"
    "## Task Dependency Graph\n\n"
)
REQUIREMENTS = """# Requirements Document

## Requirements

### Requirement 1: Sign in

**User Story:** As a user, I want to sign in

#### Acceptance Criteria

1. WHEN the password is right THEN the system SHALL open a session
2. IF the password is wrong THEN the system SHALL say so

### Requirement 2

#### Acceptance Criteria

1. WHEN the session is old THEN the system SHALL close it
"""


def graphed(block: str) -> str:
    """The plan with a graph."""
    return f"{GRAPHED}{block}\n"


SAMPLES = {
    "groups": Sample(
        name=NAME,
        text="# Implementation Plan\n\n- [ ] 1. Set up\n  - Create the project\n  - _Requirements: 1.1, 1.2_\n\n"
        "- [ ] 2. Build\n\n  - [x] 2.1 Model\n\n    - Fields\n    - _Requirements: 2.1_\n\n  - [ ] 2.2 View\n    - _Requirements: 1.1_\n",
        steps="""
            1
            2.1 < 1 : done
            2.2 < 2.1
        """,
        beside={".kiro/specs/login/requirements.md": REQUIREMENTS},
    ),
    "optional tasks": Sample(
        name=NAME,
        text="# Plan\n\n- [ ] 1. Build\n  - [ ] 1.1 Do it\n  - [ ]* 1.2 Test it\n  - [x]* 1.3 Test it twice\n- [ ]\\* 2. Measure it\n- [ ] 3.1* Load\n",
        steps="""
            1.1
            1.2 < 1.1 : skipped
            1.3 < 1.2 : done
            2 < 1.3 : skipped
            3.1 < 2 : skipped
        """,
    ),
    "tasks whose parts are all optional": Sample(
        name=NAME,
        text="# Plan\n\n- [ ] 1. Set up\n  - Create the folders\n  - [ ]* 1.1 Test it\n- [ ] 2. Build\n  - [ ] 2.1 Model\n"
        "    - Tests: `make model`\n    - [ ]* 2.1.1 Test it\n      - Tests: `make deep`\n  - [ ] 2.2 View\n- [ ] 3. Ship\n- [x]* 3.1 Test it\n"
        "- [ ]* 4. Tune\n  - [ ]* 4.1 Test it\n",
        steps="""
            1
            1.1 < 1 : skipped
            2.1 < 1.1 ! make model
            2.1.1 < 2.1 : skipped ! make deep
            2.2 < 2.1.1
            3 < 2.2
            3.1 < 3 : done
            4.1 < 3.1 : skipped
        """,
    ),
    "a graph that names the optional part of a task": Sample(
        name=NAME,
        text="# Plan\n\n- [ ] 1. Set up\n  - [ ]* 1.1 Test it\n  - [ ]* 1.2 Load it\n- [ ] 2. Build\n- [ ] 3. Ship\n\n"
        '## Task Dependency Graph\n\n```json\n{"waves": [{"id": 0, "tasks": ["1.1", "1.2"]}, {"id": 1, "tasks": ["2", "3"]}]}\n```\n',
        steps="""
            1
            1.1 : skipped
            1.2 : skipped
            2 < 1.1 1 1.2
            3 < 1.1 1 1.2
        """,
    ),
    "numbers behind letters": Sample(
        name=NAME,
        text="# Plan\n\n## Tasks\n\n### A — Server\n\n- [x] A1. Detect it\n  - _Requirements: 1.1_\n\n- [ ] A2. Show it\n  - _Requirements: 1.2_\n\n"
        "### B — Page\n\n- [ ] B1. Draw it\n  - [ ]* B1.1 Test it\n  - [ ] B1.2 Style it\n",
        steps="""
            A1 : done
            A2 < A1
            B1.1 < A2 : skipped
            B1.2 < B1.1
        """,
        beside={".kiro/specs/login/requirements.md": REQUIREMENTS},
    ),
    "tasks below a heading that defers them": Sample(
        text="# Plan\n\n- [ ] 1. Page\n  - _Requirements: 1.1_\n\n## Not doing\n\n- [ ] 2. Shop\n  - [-] 2.1 Till\n",
        steps="""
            1
            2.1 < 1 : skipped
        """,
        codes=("deferred",),
    ),
    "a flat list with numbers": Sample(
        name=NAME,
        text="# Plan\n\n## Tasks\n\n- [ ] 1. Store\n- [x] 1.1 (P) Table\n  - rows\n- [ ] 1.2 (P) Model\n- [ ] 2. Page\n",
        steps="""
            1.1 : done
            1.2 < 1.1
            2 < 1.2
        """,
    ),
    "in work and queued": Sample(
        name=NAME,
        text="# Plan\n\n- [x] 1. One\n- [-] 2. Two\n- [~] 3. Three\n",
        steps="""
            1 : done
            2 < 1 : claimed
            3 < 2 : claimed
        """,
    ),
    "waves by id": Sample(
        name=NAME,
        text=graphed(
            '```json\n{"waves": [{"id": 0, "tasks": ["1.1"]}, {"id": 1, "tasks": ["1.2", "2.1"]}, {"id": 2, "tasks": ["2.2", "3"]}]}\n```'
        ),
        steps="""
            1.1 : done
            1.2 < 1.1
            2.1 < 1.1
            2.2 < 1.2 2.1 : skipped
            3 < 1.2 2.1
        """,
    ),
    "waves by number, with a task left out": Sample(
        name=NAME,
        text=graphed(
            '```json\n{"waves": [{"wave": 1, "description": "x", "tasks": ["1"]}, {"wave": 2, "tasks": ["2.1", "2.2"]}]}\n```'
        ),
        steps="""
            1.1 : done
            1.2
            2.1 < 1.1 1.2
            2.2 < 1.1 1.2 : skipped
            3 < 2.1 2.2
        """,
        codes=("graph_left_out",),
    ),
    "lists of lists": Sample(
        name=NAME,
        text=graphed('```json\n{"waves":[["1.1"],["1.2"],["2.1"],["2.2"],["3"]]}\n```'),
        steps="""
            1.1 : done
            1.2 < 1.1
            2.1 < 1.2
            2.2 < 2.1 : skipped
            3 < 2.2
        """,
    ),
    "waves that say what they depend on": Sample(
        name=NAME,
        text=graphed(
            '```json\n{"waves": [{"id": 0, "tasks": ["1.1"], "depends_on": []}, {"id": 1, "tasks": ["2.1"], "depends_on": []},\n'
            ' {"id": 2, "tasks": ["1.2", "2.2", "3", "9.9"], "depends_on": [0, 1]}]}\n```'
        ),
        steps="""
            1.1 : done
            1.2 < 1.1 2.1
            2.1
            2.2 < 1.1 2.1 : skipped
            3 < 1.1 2.1
        """,
        codes=("graph_unknown",),
    ),
    "dependencies by task": Sample(
        name=NAME,
        text=graphed(
            '```json\n{"dependencies": {"1.1": [], "1.2": ["1.1"], "2.1": ["1.1"], "2.2": ["2.1"], "3": ["1", "2"]}}\n```'
        ),
        steps="""
            1.1 : done
            1.2 < 1.1
            2.1 < 1.1
            2.2 < 2.1 : skipped
            3 < 1.1 1.2 2.1 2.2
        """,
    ),
    "tasks that say what they depend on": Sample(
        name=NAME,
        text=graphed(
            '```json\n[{"id": "1.1", "depends_on": []}, {"id": "1.2", "depends_on": ["1.1"]}, {"id": "2.1"}, {"id": "2.2", "depends_on": ["2.1"]},\n'
            ' {"id": "3", "depends_on": ["1.2", "2.1"]}]\n```'
        ),
        steps="""
            1.1 : done
            1.2 < 1.1
            2.1
            2.2 < 2.1 : skipped
            3 < 1.2 2.1
        """,
    ),
    "arrows": Sample(
        name=NAME,
        text=graphed("```\n1.1 → 1.2 → 3\nTask 1.1 + Task 1.2\n  --> Task 2.1 (the form, 5 fields)\n2.1 -> 2.2\n```"),
        steps="""
            1.1 : done
            1.2 < 1.1
            2.1 < 1.1 1.2
            2.2 < 2.1 : skipped
            3 < 1.2
        """,
    ),
    "mermaid": Sample(
        name=NAME,
        text=graphed(
            "```mermaid\ngraph TD\n    T1_1[Task 1.1: 2 tables] --> T1_2[1.2]\n    T1_2 -->|then| T2_1\n    T2_1 --> T2_2\n    T2_1 --> T3\n```"
        ),
        steps="""
            1.1 : done
            1.2 < 1.1
            2.1 < 1.2
            2.2 < 2.1 : skipped
            3 < 2.1
        """,
    ),
    "a graph that goes round in circles": Sample(
        name=NAME,
        text=graphed('```json\n{"dependencies": {"1.1": ["2.1"], "2.1": ["1.1"]}}\n```'),
        steps="""
            1.1 : done
            1.2 < 1.1
            2.1 < 1.2
            2.2 < 2.1 : skipped
            3 < 2.2
        """,
        codes=("graph_unread",),
    ),
    "a graph that cannot be read": Sample(
        name=NAME,
        text=graphed("```json\n{broken\n```"),
        steps="""
            1.1 : done
            1.2 < 1.1
            2.1 < 1.2
            2.2 < 2.1 : skipped
            3 < 2.2
        """,
        codes=("graph_unread",),
    ),
    "elsewhere, known by its requirements": Sample(
        name="docs/tasks.md",
        text="# Plan\n\n- [ ] 1. One\n  - Test: `make one`\n  - _Requirements: 1.1_\n- [ ] Not numbered\n",
        steps="1 ! make one",
        codes=("box_unread",),
    ),
    "boxes of every kind": Sample(
        name=NAME,
        text="# Plan\n\n* [x] 1. One\n\n+ [ ] 2. Two\n\t- [ ] an item\n\t- [a link](a.md)\n\n1. [-] 3. Three\n2. [~] 4. Four\n\n"
        "- [another](b.md)\n\n```md\n- [ ] 5. fake\n```\n",
        steps="""
            1 : done
            2 < 1
            3 < 2 : claimed
            4 < 3 : claimed
        """,
    ),
    "a group that is ticked with an open task, and one with an open item": Sample(
        name=NAME,
        text="# Plan\n\n- [x] 1. Group\n\t- [x] 1.1 One\n\t- [ ] 1.2 Two\n- [x] 2. Three\n  - [ ] an item\n",
        steps="""
            1.1 : done
            1.2 < 1.1
            2 < 1.2 : done
        """,
        codes=("parent_ticked", "parent_ticked"),
    ),
    "a check of a group": Sample(
        name=NAME,
        text="# Plan\n\n- [ ] 1. Group\n  - Run: `make all`\n  - [ ] 1.1 One\n  - [ ] 1.2 Two\n  - [ ]* 1.3 Tests\n",
        steps="""
            1.1
            1.2 < 1.1 ! make all
            1.3 < 1.2 : skipped
        """,
    ),
    "waves told in a list": Sample(
        name=NAME,
        text=graphed("- **Wave 1:** 1.1, 2.1\n- **Wave 2** (after the first): 1.2, 2.2\n- Wave 3: 3"),
        steps="""
            1.1 : done
            1.2 < 1.1 2.1
            2.1
            2.2 < 1.1 2.1 : skipped
            3 < 1.2 2.2
        """,
    ),
    "waves told in a code block, with a task that is not there": Sample(
        name=NAME,
        text=graphed("```\nWave 1: 1.1, 1.2, 2.1\nWave 2: 2.2, 7.7, 3\n```"),
        steps="""
            1.1 : done
            1.2
            2.1
            2.2 < 1.1 1.2 2.1 : skipped
            3 < 1.1 1.2 2.1
        """,
        codes=("graph_unknown",),
    ),
    "needs that are not there": Sample(
        name=NAME,
        text=graphed('```json\n{"1.1": [], "1.2": ["9.9"], "2.1": [], "2.2": ["2.1"], "3": ["1.2", "2.2"]}\n```'),
        steps="""
            1.1 : done
            1.2
            2.1
            2.2 < 2.1 : skipped
            3 < 1.2 2.2
        """,
        codes=("graph_unknown",),
    ),
    "waves that need one that is not there": Sample(
        name=NAME,
        text=graphed(
            '```json\n{"waves": [{"id": 0, "tasks": ["1.1", "1.2", "2.1"]}, '
            '{"id": 1, "tasks": ["2.2", "3"], "depends_on": [0, 8]}]}\n```'
        ),
        steps="""
            1.1 : done
            1.2
            2.1
            2.2 < 1.1 1.2 2.1 : skipped
            3 < 1.1 1.2 2.1
        """,
        codes=("graph_unknown",),
    ),
    "dependencies told in prose": Sample(
        name=NAME,
        text=graphed("Task 3 depends on 1.2 and everything before it."),
        steps="""
            1.1 : done
            1.2 < 1.1
            2.1 < 1.2
            2.2 < 2.1 : skipped
            3 < 2.2
        """,
        codes=("graph_unread",),
    ),
}


def many(count: int) -> str:
    """A list of so many tasks, in groups of ten."""
    lines = ["# Plan\n"]
    for number in range(count):
        if number % 10 == 0:
            lines.append(f"- [ ] {number // 10 + 1}. Group")
        lines.append(f"  - [ ] {number // 10 + 1}.{number % 10 + 1} Write it\n    - _Requirements: 1.1_")
    return "\n".join(lines) + "\n"
