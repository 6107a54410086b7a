"""A landed step that a person does not find good, in a real repository: sent back, put right, verified, ticked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_user import make_user, states_of, step_text


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
