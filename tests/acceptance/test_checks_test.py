"""`drumline checks test`: lies are played against the user's own checks, and nothing of the user's is touched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, leaving_nothing, make_user, step_text, write_plan
from tests.acceptance.liescenes import GREEN

NODE = {
    "package.json": '{"type": "module", "scripts": {"test": "node --test"}}\n',
    "calc.js": "export const add = (a, b) => a + b;\n",
    "calc.test.js": 'import test from "node:test";\nimport assert from "node:assert";\n'
    'import { add } from "./calc.js";\n\ntest("sum", () => assert.equal(add(2, 3), 5));\n',
}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path)


def write(user: User, files: Mapping[str, str], *checks: str) -> None:
    for path, text in files.items():
        (user.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (user.repo / path).write_text(text, encoding="utf-8")
    write_plan(user.repo / PLAN, step_text("step-1", checks=checks))
    user.commit_all("project")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("files", "check"),
    [
        (GREEN, "make test"),
        pytest.param(NODE, "npm test", marks=pytest.mark.skipif(not shutil.which("npm"), reason="no npm")),
    ],
)
def test_every_lie_is_caught_and_the_honest_work_is_proved(user: User, files: Mapping[str, str], check: str) -> None:
    write(user, files, check)
    before = (user.git("rev-parse", "--all"), user.git("status", "--porcelain"))

    ran = user.type("checks", "test", "step-1", "--plan", PLAN, "--json")

    assert ran.code == 0, ran.text
    found = ran.json
    lies = found["lies"]
    assert isinstance(lies, list)
    assert found["broken"] in files
    assert [lie["name"] for lie in lies if not lie["honest"] and not (lie["caught"] and lie["by"])] == []
    assert [(lie["level"], lie["by"]) for lie in lies if lie["honest"]] == [("proved", [])]
    assert {"red before green", "the judge as it was before", "test ids", "the check itself"} <= {
        by for lie in lies for by in lie["by"]
    }
    assert (user.git("rev-parse", "--all"), user.git("status", "--porcelain")) == before


def test_a_check_that_cannot_fail_is_found(user: User) -> None:
    write(user, {"calc.py": "x = 1\n"}, "true")

    ran = user.type("checks", "test", "step-1", "--plan", PLAN)

    assert ran.code == 3, ran.text
    assert "the checks pass whichever source file is emptied" in ran.err
    assert "emptying calc.py" in ran.err


def test_what_there_is_to_try_has_to_be_there(user: User) -> None:
    write(user, {}, "true")

    nothing = user.type("checks", "test")
    unknown = user.type("checks", "test", "step-9", "--plan", PLAN)
    shown = user.type("checks", PLAN)

    assert (nothing.code, unknown.code, shown.code) == (3, 3, 0)
    assert "there is no check to try" in nothing.err
    assert "has no step 'step-9'" in unknown.err
    assert "step-1: true" in shown.out
