"""Projects of real tools: a plan runs in them without any setup, and with one it is proved in a verify place."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    SCRIPTED,
    User,
    leaving_nothing,
    make_user,
    snapshot,
    step_of,
    step_text,
    write_plan,
)

from drumline.record import Record

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
WRONG, RIGHT = "a - b", "a + b"
REACHED_BY = ("UV_", "SSL_CERT_", "NODE_EXTRA_CA_CERTS", "npm_config_", "GOPROXY")
"""How the names of variables begin that lead to packages."""


class Project(Record):
    """A project with a wrong sum: `code` is the file with it, `install` what brings its packages."""

    tool: str
    files: Mapping[str, str]
    code: str
    check: str
    install: str
    ignored: str = ""


PYTHON = "import iniconfig\n\n\ndef add(a, b):\n    return a - b\n"
PYTHON_TEST = (
    "import unittest\n\nfrom calc import add\n\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n"
    "        self.assertEqual(add(2, 3), 5)\n"
)
NODE = 'import "picocolors";\n\nexport const add = (a, b) => a - b;\n'
NODE_TEST = (
    'import test from "node:test";\nimport assert from "node:assert";\nimport { add } from "./calc.js";\n\n'
    'test("sum", () => assert.equal(add(2, 3), 5));\n'
)
PACKAGE = {
    "name": "calc",
    "type": "module",
    "scripts": {"test": "node --test"},
    "dependencies": {"picocolors": "1.1.1"},
}
RUST = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"
RUST_TEST = "#[test]\nfn sum() {\n    assert_eq!(calc::add(2, 3), 5);\n}\n"
GO = "package calc\n\nfunc Add(a, b int) int {\n\treturn a - b\n}\n"
GO_TEST = """package calc

import "testing"

func TestSum(t *testing.T) {
\tif Add(2, 3) != 5 {
\t\tt.Fatal("no")
\t}
}
"""
PROJECTS = {
    "uv": Project(
        tool="uv",
        files={
            "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\nrequires-python = ">=3.9"\n'
            'dependencies = ["iniconfig"]\n',
            "calc.py": PYTHON,
            "test_calc.py": PYTHON_TEST,
        },
        code="calc.py",
        check="uv run python -m unittest -q test_calc",
        install="uv sync -q",
        ignored=".venv/\n__pycache__/\n",
    ),
    "npm": Project(
        tool="npm",
        files={"package.json": json.dumps(PACKAGE), "calc.js": NODE, "calc.test.js": NODE_TEST},
        code="calc.js",
        check="npm test --silent",
        install="npm install --silent --no-audit --no-fund --no-package-lock",
        ignored="node_modules/\n",
    ),
    "cargo": Project(
        tool="cargo",
        files={
            "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
            "Cargo.lock": 'version = 3\n\n[[package]]\nname = "calc"\nversion = "0.1.0"\n',
            "src/lib.rs": RUST,
            "tests/sums.rs": RUST_TEST,
        },
        code="src/lib.rs",
        check="cargo test -q",
        install="cargo fetch -q",
        ignored="target/\n",
    ),
    "go": Project(
        tool="go",
        files={"go.mod": "module example.org/calc\n\ngo 1.19\n", "calc.go": GO, "calc_test.go": GO_TEST},
        code="calc.go",
        check="go test ./...",
        install="go mod download",
    ),
}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path)


def find_toolchains() -> dict[str, str]:
    """Where Rust keeps its compilers, which a test's own home does not have, and how packages are reached here."""
    places = {"CARGO_HOME": Path.home() / ".cargo", "RUSTUP_HOME": Path.home() / ".rustup"}
    rust = {name: os.environ.get(name, str(place)) for name, place in places.items() if place.exists()}
    return rust | {name: value for name, value in os.environ.items() if name.startswith(REACHED_BY)}


@pytest.mark.parametrize("setup", [False, True], ids=["without setup", "with setup"])
@pytest.mark.parametrize("name", PROJECTS)
def test_a_plan_runs_in_a_real_project_and_leaves_the_checkout_alone(user: User, name: str, setup: bool) -> None:
    project = PROJECTS[name]
    if shutil.which(project.tool) is None:
        pytest.skip(f"there is no {project.tool} here")
    for path, text in project.files.items():
        (user.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (user.repo / path).write_text(text, encoding="utf-8")
    (user.repo / ".gitignore").write_text(project.ignored, encoding="utf-8")
    write_plan(user.repo / "plans/p", step_text("step-1", checks=(project.check,)))
    right = project.files[project.code].replace(WRONG, RIGHT)
    installs = {} if setup else {"run": project.install}  # as an agent does where nobody else did
    user.play({"match": {"step": "step-1"}, "write": {project.code: right}, **installs})
    user.commit_all("project")
    before = {path: body for path, body in snapshot(user.repo).items() if not path.startswith((".git/", "plans/"))}
    env = {**find_toolchains(), **({"DRUMLINE_SETUP": project.install} if setup else {})}

    ran = user.drumline("run", "plans/p", "--agent", SCRIPTED, "--autonomy", "autopilot", env=env)

    assert ran.code == 0, ran.text
    step = step_of(user.status(), "step-1")
    assert (step["state"], step["attempts"], step["proof"]) == ("done", 1, {"level": "proved", "why": []})
    after = {path: body for path, body in snapshot(user.repo).items() if not path.startswith((".git/", "plans/"))}
    assert after == before
    assert user.landed(project.code) == right.strip()
