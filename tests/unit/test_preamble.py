"""What a plan says of itself reaches prompts by sections, and what does not fit is named."""

from __future__ import annotations

import pytest

from drumline.planfiles.preamble import BUDGET, read_preamble

ROOT = """---
status: ready
---
# Search by name

One sentence about it.

## Overview

People look for things.

### Why now

Because.

## Implementation Approach

An index, then the page.

## What We're NOT Doing

No fuzzy search.

## Steps

| id | status |
|----|--------|
| a  | ready  |

## Dependency graph

```
a -> b
```
"""


def test_the_plans_own_words_are_there_and_its_lists_of_steps_are_not() -> None:
    found = read_preamble(ROOT)

    assert found == (
        "One sentence about it.\n\n## Overview\n\nPeople look for things.\n\n### Why now\n\nBecause.\n\n"
        "## Implementation Approach\n\nAn index, then the page.\n\n## What We're NOT Doing\n\nNo fuzzy search."
    )


def test_what_does_not_fit_is_named_and_what_matters_most_comes_first() -> None:
    text = f"# Plan\n\n## Notes on style\n\n{'n' * BUDGET}\n\n## Approach\n\nAn index.\n"

    assert read_preamble(text) == "## Approach\n\nAn index.\n\n(Left out here for their length: Notes on style.)"


def test_a_long_section_is_cut_between_paragraphs_and_never_within_a_code_block() -> None:
    block = f"```\n{'x' * 2_000}\n\n{'y' * 5_000}\n```"

    found = read_preamble(f"# Plan\n\n## Approach\n\nAn index.\n\n### How\n\n{block}\n\nThen the page.\n")

    assert found == "## Approach\n\nAn index.\n\n(Left out here for their length: the rest of Approach.)"


@pytest.mark.parametrize(
    "text", ["", "---\nstatus: ready\n---\n", "# Only a title\n", "## Overview\n\n## Steps\n\n- a\n"]
)
def test_a_plan_that_says_nothing_of_itself_has_no_preamble(text: str) -> None:
    assert read_preamble(text) == ""


def test_sections_of_steps_and_what_follows_them_are_left_out() -> None:
    text = "# Plan\n\nGoal.\n\n## Phase 1\n\nDo it.\n\n## Phase 2\n\nDo more.\n\n## Constraints\n\nNone.\n"
    starts = frozenset({text.index("## Phase 1"), text.index("## Phase 2")})

    assert read_preamble(text, steps=starts) == "Goal.\n\n## Constraints\n\nNone."
    assert read_preamble(text, until=text.index("## Phase 1")) == "Goal."


def test_what_matters_most_is_there_also_behind_the_steps() -> None:
    text = "# Plan\n\nGoal.\n\n## Steps\n\n### Step 1\n\nDo it.\n\n## Key Decisions\n\nOne pass.\n\n## Risks\n\nNone.\n"

    found = read_preamble(text, until=text.index("### Step 1"), after=text.index("## Key Decisions"))

    assert found == "Goal.\n\n## Key Decisions\n\nOne pass."


def test_ticked_boxes_are_nothing_that_a_plan_says() -> None:
    text = "# Plan\n\n## Global Verification\n\n- [{0}] Log in\n  1. [{0}] as Eve\n"

    assert read_preamble(text.format("x")) == read_preamble(text.format(" "))


def test_a_heading_in_a_fence_is_text() -> None:
    assert read_preamble("# P\n\n## Overview\n\n```\n## Steps\n```\n") == "## Overview\n\n```\n## Steps\n```"
