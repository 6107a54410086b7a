"""What the agent of a step knows, as whole prompts of one small plan in every format that says something of itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import SCRIPTED, User
from tests.acceptance.test_clean_plans import setup

EXPECTED = Path(__file__).parent / "prompts"
NOTES = "The port is 4711.\n"
REPORT = "# Task Report\n\n- Status: success\n\n## Downstream Context\n\n- Tokens are tuples.\n"
ABOUT = "## Overview\n\nA small language.\n\n## Approach\n\nOne pass.\n\n## What we're not doing\n\nNo compiler.\n"


def dag_step(number: int, needs: str) -> str:
    return (
        f"---\nid: step-{number}\ntitle: Part {number}\ndepends_on: [{needs}]\nstatus: ready\n---\n\n"
        f"# Part {number}\n\n## Overview\n\nWrite {number}.txt.\n\n## Context\n\nAs the others do.\n\n"
        f"## Success Criteria\n\n#### Automated Verification:\n\n- [ ] it is there: `test -f {number}.txt`\n"
    )


def phased_step(number: int, needs: str) -> str:
    return (
        f"---\nstep: {number}\ntitle: Part {number}\ndepends_on: [{needs}]\nstatus: pending\n---\n\n"
        f"## Objective\n\nWrite the file.\n\n## Acceptance criteria\n\n- It is there.\n\n"
        f"## Test commands\n\n- `test -f {number}.txt`\n\n## Out of scope\n\n- A compiler.\n"
    )


def implement_step(number: int) -> str:
    return (
        f"### Step {number}: Part {number}\n**Status:** pending\n**Files:** `{number}.txt`\n**What:** Write it.\n"
        f"**Why:** It is wanted.\n**Test:** `test -f {number}.txt`\n\n"
    )


def linear_phase(number: int) -> str:
    return (
        f"## Phase {number}: Part {number}\n\n### Overview\n\nWrite {number}.txt.\n\n### Success Criteria\n\n"
        f"#### Automated Verification:\n\n- [ ] it is there: `test -f {number}.txt`\n\n"
    )


def maestro_phase(number: int, needs: str) -> str:
    return (
        f"## Phase {number}: Part {number}\n\n### Agent: coder\n\n### Parallel: no\n\n### Blocked by: {needs}\n\n"
        f"### Files to Create\n\n- `{number}.txt` - the part\n\n### Validation\n\n- `test -f {number}.txt`\n\n"
    )


DECISIONS = "## Key Decisions\n\n### One pass\n\n**Chosen:** one pass\n**Why:** it is fast\n\n"
CHUNKS = [
    [
        {
            "id": f"c{n}",
            "scope": f"Write {n}.txt",
            "files": [f"{n}.txt"],
            "model": "sonnet",
            "checks": [f"test -f {n}.txt"],
        }
    ]
    for n in (1, 2)
]
PLANS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "dag": (
        "plans/lang",
        "step-",
        {
            "plans/lang/root.md": f"---\nstatus: ready\n---\n# The language\n\n{ABOUT}",
            "plans/lang/step-1.md": dag_step(1, ""),
            "plans/lang/step-2.md": dag_step(2, "step-1"),
            "plans/lang/NOTES.md": NOTES,
        },
    ),
    "phased": (
        "plans",
        "0",
        {
            "plans/plan.md": f"# The language\n\n{ABOUT}",
            "plans/steps/01-part.md": phased_step(1, ""),
            "plans/steps/02-part.md": phased_step(2, "1"),
            "plans/NOTES.md": NOTES,
        },
    ),
    "implement": (
        ".ai/specs/7-lang/implement.md",
        "",
        {
            ".ai/specs/7-lang/implement.md": f"# Implementation Plan: The language\n\n## Approach\n\nOne pass.\n\n"
            f"{DECISIONS}## Steps\n\n{implement_step(1)}{implement_step(2)}",
            ".ai/specs/7-lang/NOTES.md": NOTES,
        },
    ),
    "waves": (
        "docs/lang.json",
        "c",
        {
            "docs/lang.json": json.dumps(
                {"description": "The language", "plan": "One pass.", "testsRequired": False, "waves": CHUNKS}
            ),
            "docs/NOTES.md": NOTES,
        },
    ),
    "linear": (
        "docs/lang.md",
        "phase-",
        {"docs/lang.md": f"# The language\n\n{ABOUT}\n{linear_phase(1)}{linear_phase(2)}", "docs/NOTES.md": NOTES},
    ),
    "maestro": (
        "docs/lang-impl-plan.md",
        "",
        {
            "docs/lang-impl-plan.md": f"# The language\n\n{ABOUT}\n{maestro_phase(1, 'None')}{maestro_phase(2, '1')}",
            "docs/NOTES.md": NOTES,
        },
    ),
}


def play(folder: Path, form: str) -> tuple[User, str]:
    """A user whose run of the plan is over, and the step that needs the other; its first attempt failed its check."""
    plan, prefix, files = PLANS[form]
    user = setup(folder, files)
    write_files(user, {".drumline/config.toml": 'rigor = "quick"\nreview = "none"\n'})
    user.play(
        {"match": {"step": f"{prefix}1"}, "write": {"1.txt": "x\n"}, "say": REPORT},
        {"match": {"step": f"{prefix}2", "attempt": 1}, "say": REPORT},
        {"match": {"step": f"{prefix}2"}, "write": {"2.txt": "x\n"}, "say": REPORT},
    )
    ran = user.drumline("run", plan, "--agent", SCRIPTED, "--autonomy", "autopilot", "--context", "Mind the gap.")
    assert ran.code == 0, ran.text
    return user, f"{prefix}2"


def name_alike(prompt: str) -> str:
    """The prompt alone, without what differs from run to run."""
    prompt = prompt.partition(" <==\n")[2].partition("\n==> ")[0]
    prompt = re.sub(r"(?m)^Session: .*", "Session: RUN", prompt)
    prompt = re.sub(r"drumline/\d{6}-\d{6}-\w+", "drumline/RUN", prompt)
    prompt = re.sub(r"(?m)^claimed_at: .*", "claimed_at: TIME", prompt)
    return re.sub(r"Landed as [0-9a-f]{12}", "Landed as COMMIT", prompt)


@pytest.mark.parametrize(
    "form", [form if form == "dag" else pytest.param(form, marks=pytest.mark.long) for form in PLANS]
)
def test_the_whole_prompt_of_a_fix_of_a_step_that_needs_another(tmp_path: Path, form: str) -> None:
    user, step = play(tmp_path, form)

    assert name_alike(user.prompt(step, 2)) == (EXPECTED / f"{form}.md").read_text()
