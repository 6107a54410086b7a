"""Checks that fail because of this machine: no fix is used up, setup runs again, and the block says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_user import make_user, step_text


def test_a_package_that_is_declared_and_not_installed_is_installed_by_another_setup(tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    check = f"test -f step-1.txt && {{ python3 -c 'import drumbeat_extra' || {{ touch {tried}; exit 1; }}; }}"
    user = make_user(tmp_path, step_text("step-1", checks=(check,)))
    (user.repo / "requirements.txt").write_text("drumbeat-extra\n")
    (user.repo / ".gitignore").write_text("drumbeat_extra.py\n")
    user.commit_all("needs a package")
    counter = tmp_path / "setups"
    setup = f"test ! -e {tried} || {{ echo x >> {counter}; touch drumbeat_extra.py; }}"
    (user.repo / ".drumline").mkdir(exist_ok=True)
    (user.repo / ".drumline/config.toml").write_text(f"setup = '{setup}'\n")

    ran = user.run(env={"DRUMLINE_SANDBOX": "off"})  # else the check could not leave a mark

    assert ran.code == 0, ran.text
    assert "a package that the project needs is not installed here" in ran.text
    assert counter.exists()
    assert user.step("step-1")["attempts"] == 1


def test_a_package_that_stays_missing_blocks_the_step_with_what_to_do(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=("python3 -c 'import drumbeat_extra'",)))
    (user.repo / "requirements.txt").write_text("drumbeat-extra\n")
    user.commit_all("needs a package")

    ran = user.run()

    assert ran.code == 2, ran.text
    assert "No module named 'drumbeat_extra'" in ran.text
    assert "configure a setup command that installs it" in ran.text
    assert user.step("step-1")["attempts"] == 1


def test_a_package_that_the_work_uses_and_does_not_declare_goes_back_to_the_agent(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=("python3 use.py",)))
    user.play(
        {"match": {"step": "step-1", "attempt": 1}, "write": {"use.py": "import drumbeat_extra\n"}},
        {"match": {"step": "step-1", "attempt": 2}, "write": {"use.py": "print('done')\n"}},
    )

    ran = user.run()

    assert ran.code == 0, ran.text
    assert user.step("step-1")["attempts"] == 2


def test_a_check_that_takes_too_long_is_repeated_and_blocks_the_step_without_a_fix(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=("sleep 60",)))

    ran = user.run(env={"DRUMLINE_CHECK_TIMEOUT": "1"})

    assert ran.code == 2, ran.text
    assert "the check took too long" in ran.text
    assert "raise check_timeout" in ran.text
    assert user.step("step-1")["attempts"] == 1


@pytest.mark.parametrize("wanted", ["2", "3"])
def test_a_check_that_loads_code_of_the_checkout_is_not_run_whatever_it_says(tmp_path: Path, wanted: str) -> None:
    check = "cd tests && python3 -m unittest -q test_app"
    user = make_user(tmp_path, step_text("step-1", checks=(check,)))
    (user.repo / "tests").mkdir()
    (user.repo / "tests/test_app.py").write_text(
        f"import sys, unittest\nsys.path.append({str(user.repo)!r})\nimport app\n\n\n"
        f"class App(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(app.VALUE, {wanted})\n"
    )
    (user.repo / "app.py").write_text("VALUE = 2\n")
    user.commit_all("a project")
    user.play({"match": {"step": "step-1"}, "write": {"app.py": "VALUE = 3\n"}})

    ran = user.run(env={"DRUMLINE_SANDBOX": "off"})

    assert ran.code == 2, ran.text
    assert user.step("step-1")["attempts"] == 1
    assert user.step("step-1")["proof"] == {"level": "unproved", "why": ["not_run"]}
    assert "loaded code of your checkout (app.py)" in ran.text
    assert "configure a setup command" in user.drumline("why", "step-1").text
