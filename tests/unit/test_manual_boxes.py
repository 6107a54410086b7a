"""Boxes of what only a person can verify: ticked one by one, wherever they have moved to."""

from __future__ import annotations

from drumline.core.plan import Marks, Status
from drumline.planfiles.stepfile import parse_step
from drumline.planfiles.writing import set_marks

TEXT = """\
---
id: a
status: ready
---

# a

#### Automated Verification:

- [ ] `make`

#### Manual Verification:

- [ ] reads well
- [ ] is short
"""


def test_the_box_of_a_manual_item_is_ticked_and_no_other_one() -> None:
    step = parse_step(TEXT, "a.md").step
    assert step is not None
    moved = set_marks(TEXT, step, Marks(status=Status.BLOCKED, reason="waits"))

    ticked = set_marks(moved, step, Marks(status=Status.DONE), ticked=[step.manual_lines[1]])

    assert "- [ ] `make`\n" in ticked
    assert "- [ ] reads well\n- [x] is short\n" in ticked


def test_items_without_boxes_have_no_lines() -> None:
    step = parse_step(TEXT.replace("- [ ] reads", "- reads"), "a.md").step

    assert step is not None
    assert (step.manual, step.manual_lines) == (("reads well", "is short"), ())
