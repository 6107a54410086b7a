"""What counts as proved, through the command line."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.cli_user import make_user, step_text


def test_a_criterion_that_is_no_command_keeps_a_landed_step_from_being_proved(tmp_path: Path) -> None:
    criterion = "- [ ] compare `one` with `two`\n"
    user = make_user(tmp_path, step_text("step-1") + criterion, step_text("step-2", ["step-1"]))

    ran = user.run()

    assert ran.code == 2, ran.text
    assert user.step("step-1")["checks"] == {"passed": 1, "total": 2}
    assert user.step("step-1")["proved"] is False
    assert user.step("step-1")["reason"] == "landed, but only 1 of its 2 checks could be run"
    assert user.step("step-2")["proved"] is True
