"""The tasks.md of an OpenSpec change, with the specs beside it."""

from tests.samples.shape import Sample

NAME = "openspec/changes/add-login/tasks.md"
SPEC = """## ADDED Requirements

### Requirement: Sign in

The system SHALL let users sign in.

#### Scenario: Good password

- **WHEN** the password is right
- **THEN** a session is opened

#### Scenario: Bad password
- **WHEN** the password is wrong
- **THEN** nothing is opened

## REMOVED Requirements

### Requirement: Guests

#### Scenario: Guest
- **WHEN** somebody comes
- **THEN** they are let in
"""
BESIDE = {"openspec/changes/add-login/specs/auth/spec.md": SPEC, "openspec/changes/add-login/proposal.md": "# Why\n"}

SAMPLES = {
    "groups": Sample(
        name=NAME,
        text="# Implementation Tasks\n\n## 1. Database\n\n- [x] 1.1 Add the table\n- [ ] 1.2 Add the index\n\n## 2. Page\n\n- [ ] 2.1 Add the form\n",
        steps="""
            1.1 : done
            1.2 < 1.1
            2.1 < 1.2
        """,
        beside=BESIDE,
    ),
    "no title": Sample(
        name=NAME,
        text="## 1. Planning & Setup\n- [ ] 1.1 Confirm\n- [ ] 1.2 Decide\n",
        steps="""
            1.1
            1.2 < 1.1
        """,
    ),
    "a group that is deferred": Sample(
        name=NAME,
        beside=BESIDE,
        text="## 1. Code\n\n- [ ] 1.1 Add a switch\n\n## 2. Deferred (follow-up change)\n\n- [ ] 2.1 Add a timer\n",
        steps="""
            1.1
            2.1 < 1.1 : skipped
        """,
        codes=("deferred",),
    ),
    "no numbers": Sample(
        name=NAME,
        text="# Tasks\n\n## Checklist\n- [x] Update the spec\n- [ ] Update the docs\n",
        steps="""
            update-the-spec : done
            update-the-docs < update-the-spec
        """,
    ),
    "ids with letters": Sample(
        name=NAME,
        text="# Tasks\n\n- [x] T-1 One\n- [x] T-2: Two\n- [ ] P3: Three\n- [ ] **W4 Four**\n",
        steps="""
            T-1 : done
            T-2 < T-1 : done
            P3 < T-2
            w4-four < P3
        """,
    ),
    "nested numbers": Sample(
        name=NAME,
        text="# Tasks\n\n## 1. A\n\n- [ ] 1.1 One\n  - [ ] 1.1.1 Half\n  - [ ] 1.1.2 Other half\n- [ ] 1.2 Two\n  - [ ] a note\n",
        steps="""
            1.1.1
            1.1.2 < 1.1.1
            1.2 < 1.1.2
        """,
    ),
    "numbered and plus bullets": Sample(
        name=NAME,
        text="# Tasks\n\n1. [ ] First thing\n2. [x] Second thing\n\n+ [ ] Third thing\n",
        steps="""
            first-thing
            second-thing < first-thing : done
            third-thing < second-thing
        """,
    ),
    "half done is not done": Sample(
        name=NAME,
        text="# Tasks\n\n## 1. A\n\n- [~] 1.1 Begun\n- [-] 1.2 Deferred\n- [x] 1.3 Done\n",
        steps="""
            1.1 : claimed
            1.2 < 1.1 : claimed
            1.3 < 1.2 : done
        """,
        codes=("mark_unknown",),
    ),
    "link bullets": Sample(
        name=NAME,
        text="# Tasks\n\n- [Design](design.md)\n- [x](proposal.md) agreed\n- [ ] 1.1 Do it\n",
        steps="1.1",
    ),
    "validation as a check": Sample(
        name=NAME,
        text="# Tasks\n\n## 1. A\n- [ ] 1.1 Do it\n  - Validate: `openspec validate add-login --strict`\n- [ ] 1.2 Run `npm test` and look\n",
        steps="""
            1.1 ! openspec validate add-login --strict
            1.2 < 1.1
        """,
    ),
    "a note above and details below": Sample(
        name=NAME,
        text="# Tasks: `/x`\n\n> One skill.\n\n## 1. The skill\n\n- [x] 1.1 Create `src/a.ts` with `f()`:\n  details on the next line.\n\n  More.\n- [ ] 1.2 Register it\n",
        steps="""
            1.1 : done
            1.2 < 1.1
        """,
    ),
    "a fence between tasks": Sample(
        name=NAME,
        text="# Tasks\n\n- [ ] 1.1 One\n\n  ```md\n  - [ ] 9.9 fake\n  ```\n\n- [ ] 1.2 Two\n",
        steps="""
            1.1
            1.2 < 1.1
        """,
    ),
    "the same number in two groups": Sample(
        name=NAME,
        text="# Tasks\n\n## A\n- [ ] 1.1 One\n\n## B\n- [ ] 1.1 Another\n",
        steps="""
            1.1
            1.1-2 < 1.1
        """,
        codes=("id_twice",),
    ),
    "known by its neighbours": Sample(
        name="changes/add-login/tasks.md",
        text="## 1. A\n\n- [ ] 1.1 One\n",
        steps="1.1",
        beside={"changes/add-login/proposal.md": "# Why\n", "changes/add-login/specs/auth/spec.md": SPEC},
    ),
    "boxes of every kind": Sample(
        name=NAME,
        text="## 1. A\n\n* [x] 1.1 One\n\n+ [ ] 1.2 Two\n\t- [ ] an item\n\t- [a link](a.md)\n\n1. [~] 1.3 Three\n2. [-] 1.4 Four\n\n"
        "- [another](b.md)\n\n```md\n- [ ] 1.5 fake\n```\n",
        steps="""
            1.1 : done
            1.2 < 1.1
            1.3 < 1.2 : claimed
            1.4 < 1.3 : claimed
        """,
        codes=("mark_unknown",),
    ),
}


def many(count: int) -> str:
    """A list of so many tasks, in groups of ten."""
    lines = ["# Tasks"]
    for number in range(count):
        if number % 10 == 0:
            lines.append(f"\n## {number // 10 + 1}. Group\n")
        lines.append(f"- [ ] {number // 10 + 1}.{number % 10 + 1} Write it")
    return "\n".join(lines) + "\n"
