"""A landed step that a person does not find good, in a real repository: sent back, put right, verified, ticked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import SCRIPTED, make_user, states_of, step_text


@pytest.mark.long  # tests/integration/test_sent_back.py shows the same on fakes, wherever the process dies
def test_a_manual_item_that_is_not_good_sends_the_landed_step_back(tmp_path: Path) -> None:
    user = make_user(
        tmp_path, step_text("step-1", manual="It reads well\n- [ ] It is short"), step_text("step-2", ["step-1"])
    )
    user.play({"match": {"step": "step-1m"}, "write": {"step-1.txt": "step-1, put right\n"}})

    first = user.run("--autonomy", "critical")
    gates = user.status()["gates"]
    silent = user.drumline("answer", "wave-1", "not-good:2")
    which = user.drumline("answer", "wave-1", "not-good", "--comment", "Too long.")
    back = user.drumline("answer", "wave-1", "not-good:2", "--comment", "Too long.", "--resume")
    between = user.file("step-1")
    done = user.drumline("answer", "wave-1.2", "continue", "--resume")

    assert (first.code, back.code, done.code) == (2, 2, 0), done.text
    assert isinstance(gates, list)
    landed = user.git("log", "--format=%H", "--grep", r"\[step-1\]", user.branch())
    assert [(item["number"], item["commit"]) for item in gates[0]["items"]] == [(1, landed), (2, landed)]
    assert (silent.code, "needs a text" in silent.err) == (3, True)
    assert (which.code, "not-good:NUMBER" in which.err) == (3, True)
    assert "step-1 adds to the plan (manual): step-1m" in back.err
    assert "- [x] It reads well\n- [ ] It is short" in between
    assert "- [x] It reads well\n- [x] It is short" in user.file("step-1")
    assert "Too long." in user.file("step-1m")
    assert states_of(user.status()) == dict.fromkeys(("step-1", "step-1m", "step-2"), "done")


IMPLEMENT = """\
# Implementation Plan: Two files

## Steps
### Step 1: Write one
**Status:** pending
**Test:** `test -f step-1.txt`

### Step 2: Write two
**Status:** pending
**Test:** `test -f step-2.txt`

## Testing Plan

### Manual Verification

- [ ] One reads well
- [ ] Two reads well
"""


@pytest.mark.long  # tests/integration/test_overall.py and test_sent_back.py show the parts
def test_what_an_implement_plan_lists_for_people_is_asked_about_after_its_last_step(tmp_path: Path) -> None:
    user = make_user(tmp_path)
    write_files(user, {"implement.md": IMPLEMENT})
    user.commit_all("plan")
    user.play(
        {"match": {"step": "2m"}, "write": {"step-2.txt": "two, put right\n"}},
        {"match": {"step": "2"}, "write": {"step-2.txt": "two\n"}},
        {"match": {"step": "1"}, "write": {"step-1.txt": "one\n"}},
    )

    asked = user.drumline("run", "implement.md", "--agent", SCRIPTED, "--autonomy", "critical")
    back = user.drumline("answer", "wave-2", "not-good:2", "--comment", "Too long.", "--resume")
    between = (user.repo / "implement.md").read_text(encoding="utf-8")
    done = user.drumline("answer", "wave-2.2", "continue", "--resume")

    after = (user.repo / "implement.md").read_text(encoding="utf-8")
    assert (asked.code, back.code, done.code) == (2, 2, 0), done.text
    assert "- [x] One reads well\n- [ ] Two reads well" in between
    assert "### Step 2m: Put right what 2 landed\n**Status:** done" in between
    assert "- [x] One reads well\n- [x] Two reads well" in after
