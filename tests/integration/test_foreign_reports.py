"""Test runners of JavaScript and Go that a check starts report which tests ran, and end as they would without that."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.runners import find_packages

from drumline.core.testids import Cut
from drumline.engine.reporters import lead_reporters
from drumline.engine.reports import Outcomes, read_outcomes

NODE = """import test, { describe, it } from "node:test";
import assert from "node:assert";

test("good", () => {});
test("bad", () => assert.equal(2, 3));
test("left out", { skip: true }, () => {});
describe("group", () => { it("good", () => {}); });
"""
JEST = """test("good", () => {});
test("bad", () => expect(2).toBe(3));
test.skip("left out", () => {});
describe("group", () => { it("good", () => {}); });
"""
VITEST = f'import {{ describe, expect, it, test }} from "vitest";\n{JEST}'
GO = """package some

import (
\t"fmt"
\t"testing"
)

func TestGood(t *testing.T)    { fmt.Print("no newline"); t.Log("said") }
func TestBad(t *testing.T)     { t.Error("wrong") }
func TestLeftOut(t *testing.T) { t.Skip() }
func TestGroup(t *testing.T)   { t.Run("good", func(t *testing.T) {}) }
"""
FOUND = {"good": "passed", "bad": "failed", "left out": "skipped", "group > good": "passed"}
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here")
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go here")


class Ended:
    """What a check printed and reported."""

    def __init__(self, code: int, text: str, found: Outcomes | None) -> None:
        self.code, self.text, self.found = code, text, found

    @property
    def tests(self) -> Mapping[str, str]:
        assert self.found is not None, self.text
        return self.found.tests


def run(folder: Path, command: str, files: Mapping[str, str], **env: str) -> Ended:
    """Write the files, execute the command as a check is, and read what was reported."""
    work, reports = folder / "work", folder / "reports"
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text, encoding="utf-8")
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in ("NODE_OPTIONS", "GOFLAGS")}
    told = {**kept, "NO_COLOR": "1", "CI": "1", **lead_reporters(reports, env, root=work)}
    ended = subprocess.run(["bash", "-c", command], cwd=work, env=told, capture_output=True, text=True, check=False)
    return Ended(ended.returncode, ended.stdout + ended.stderr, read_outcomes(reports))


def name_all(file: str, tests: Mapping[str, str], separator: str = " > ") -> dict[str, str]:
    return {f"{file}{separator}{name}": outcome for name, outcome in tests.items()}


# --- node:test ---------------------------------------------------------------------------------------------------


@needs_node
@pytest.mark.parametrize("command", ["node --test", "node a.test.mjs", "node --test --test-reporter=dot"])
def test_node_tells_which_tests_ran(tmp_path: Path, command: str) -> None:
    ended = run(tmp_path, command, {"a.test.mjs": NODE})

    assert ended.code == 1
    assert ended.found is not None
    assert ended.found.complete
    assert ended.tests == {**name_all("a.test.mjs", FOUND), "a.test.mjs > group": "passed"}
    assert "good" in ended.text or "--test-reporter=dot" in command


@needs_node
def test_a_file_that_node_cannot_load_stands_for_its_tests(tmp_path: Path) -> None:
    broken = run(tmp_path, "node --test", {"a.test.mjs": f'import "./missing.mjs";\n{NODE}'})
    lying = run(tmp_path, "node --test", {"a.test.mjs": f"{NODE}process.exit(0);\n"})

    assert (broken.code, broken.tests) == (1, {"(file) a.test.mjs": "failed"})
    assert (lying.code, lying.tests) == (0, {"(file) a.test.mjs": "passed"})
    assert broken.found is not None
    assert lying.found is not None
    assert (broken.found.complete, lying.found.complete) == (True, False)


@needs_node
def test_a_file_that_has_no_tests_comes_to_its_end(tmp_path: Path) -> None:
    ended = run(tmp_path, "node --test", {"a.test.mjs": NODE, "b.test.mjs": "export const x = 1;\n"})

    assert ended.found is not None
    assert ended.found.complete
    assert ended.tests["(file) b.test.mjs"] == "passed"


@needs_node
def test_a_lone_test_file_that_ends_its_process_tells_nothing(tmp_path: Path) -> None:
    ended = run(tmp_path, "node a.test.mjs", {"a.test.mjs": f"{NODE}process.exit(0);\n"})

    assert (ended.code, ended.found) == (0, None)


@needs_node
def test_node_without_tests_runs_as_ever(tmp_path: Path) -> None:
    theirs = {
        "mine.cjs": "globalThis.mine = 1;\n",
        "a.mjs": "console.log(mine, process.argv.length, process.execArgv);\n",
    }
    option = f'--require "{tmp_path}/work/mine.cjs"'

    ended = run(tmp_path, "node a.mjs x; exit 3", theirs, NODE_OPTIONS=option)

    assert (ended.code, ended.text, ended.found) == (3, "1 3 []\n", None)


# --- jest and vitest ---------------------------------------------------------------------------------------------

SCRIPTS = {"jest": ("a.test.js", JEST, "jest"), "vitest": ("a.test.js", VITEST, "vitest run")}


@pytest.fixture(params=SCRIPTS)
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A runner that is installed in the project."""
    name = str(request.param)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "node_modules").symlink_to(find_packages(name))
    return name


@needs_node
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("called", ["npm test --silent", "npx {script}", "npx {script} a.test --reporter{s}=default"])
def test_a_runner_from_npm_tells_which_tests_ran(tmp_path: Path, runner: str, called: str) -> None:
    file, tests, script = SCRIPTS[runner]
    command = called.format(script=script, s="s" if runner == "jest" else "")
    files = {
        file: tests,
        "b.test.js": f'import "./missing";\n{tests}',
        "package.json": f'{{"scripts": {{"test": "{script}"}}}}',
    }

    ended = run(tmp_path, command, files)

    alone = "a.test" in command
    assert ended.code == 1, ended.text
    assert ended.found is not None, ended.text
    assert ended.found.complete
    assert ended.tests == {**name_all(file, FOUND), **({} if alone else {"(file) b.test.js": "failed"})}
    assert "left out" in ended.text or "1 skipped" in ended.text


@needs_node
@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_runner_from_npm_that_the_work_ends_is_noticed(tmp_path: Path, runner: str) -> None:
    file, tests, script = SCRIPTS[runner]

    ended = run(tmp_path, f"npx {script}", {file: f"{tests}process.exit(0);\n", "package.json": "{}"})

    assert ended.code != 0 or (ended.found is not None and not ended.found.complete), ended.text


@needs_node
@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_reporters_in_a_configuration_of_vitest_are_kept(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "node_modules").symlink_to(find_packages("vitest"))
    config = 'export default { test: { reporters: ["json"] } };\n'

    ended = run(tmp_path, "npx vitest run", {"a.test.js": VITEST, "vitest.config.mjs": config, "package.json": "{}"})

    assert '"numTotalTests":4' in ended.text
    assert ended.found is None


# --- go test -----------------------------------------------------------------------------------------------------

MODULE = {"go.mod": "module example.com/some\n\ngo 1.18\n", "some.go": "package some\n"}
GO_FOUND = {"TestGood": "passed", "TestBad": "failed", "TestLeftOut": "skipped", "TestGroup": "passed"}
GO_FOUND["TestGroup/good"] = "passed"


@needs_go
@pytest.mark.long
@pytest.mark.parametrize("flags", ["", "-v", "-json"])
def test_go_tells_which_tests_ran(tmp_path: Path, flags: str) -> None:
    files = {**MODULE, "some_test.go": GO, "deep/deep.go": "package deep\n"}
    files["deep/deep_test.go"] = GO.replace("package some", "package deep")

    ended = run(tmp_path, f"go vet ./... && go test {flags} ./...", files, GOCACHE=str(tmp_path / "cache"))

    assert ended.code == 1, ended.text
    assert ended.found is not None, ended.text
    assert ended.found.complete
    assert ended.tests == {**name_all(".", GO_FOUND, ": "), **name_all("deep", GO_FOUND, ": ")}
    assert ("=== RUN" in ended.text) is bool(flags)


@needs_go
@pytest.mark.long
def test_a_test_binary_that_the_work_ends_does_not_come_to_its_end(tmp_path: Path) -> None:
    lie = {"some.go": 'package some\n\nimport "os"\n\nfunc init() { os.Exit(0) }\n'}

    ended = run(tmp_path, "go test ./...", {**MODULE, "some_test.go": GO, **lie}, GOCACHE=str(tmp_path / "cache"))

    assert ended.code == 0, ended.text
    assert ended.found is not None
    assert not ended.found.complete


@needs_go
@pytest.mark.long
def test_programs_of_go_run_as_ever(tmp_path: Path) -> None:
    main = 'package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nfunc main() { fmt.Println(os.Args[1:]); os.Exit(4) }\n'

    ended = run(tmp_path, "go run . a", {**MODULE, "some.go": main}, GOCACHE=str(tmp_path / "cache"))

    assert (ended.code, ended.found) == (1, None)
    assert "[a]" in ended.text


def test_what_the_user_has_set_is_kept(tmp_path: Path) -> None:
    (tmp_path / "config" / "go").mkdir(parents=True)
    (tmp_path / "config" / "go" / "env").write_text("GOPROXY=off\nGOFLAGS=-mod=mod\n", encoding="utf-8")
    env = {"GOFLAGS": "", "GOENV": "", "XDG_CONFIG_HOME": str(tmp_path / "config"), "NODE_OPTIONS": "--no-warnings"}

    told = lead_reporters(tmp_path, env, root=tmp_path)
    taken = lead_reporters(tmp_path, {**env, "GOFLAGS": "-exec=sudo"}, root=tmp_path)

    assert told["GOFLAGS"].startswith("-mod=mod -exec=")
    assert told["NODE_OPTIONS"].endswith(" --no-warnings")
    assert taken["GOFLAGS"] == "-exec=sudo"


PLAIN = 'const assert = require("assert");\nconst { add } = require("./calc.js");\n\nassert.equal(add(2, 3), 5);\n'
ENDS = {
    "at import": ("process.exit(0);\n", "calc.js"),
    "in a function": ("exports.add = () => process.exit();\n", "calc.js"),
    "with a failure that is kept": ("process.on('uncaughtException', () => {});\nexports.add = () => 0;\n", ""),
    "with another exit code": ("process.on('exit', () => { process.exitCode = 0; });\nexports.add = () => 0;\n", ""),
}


@needs_node
@pytest.mark.parametrize("end", ENDS)
def test_a_script_of_tests_that_the_work_ends_is_told(tmp_path: Path, end: str) -> None:
    text, file = ENDS[end]

    ended = run(tmp_path, "node test.js", {"calc.js": text, "test.js": PLAIN})

    assert ended.code == 0
    assert ended.found is not None
    assert ended.found.cut == (Cut(program="test.js", file=file),)


@needs_node
@pytest.mark.parametrize("sum_", ["a + b", "a - b"])
def test_a_script_that_ends_by_itself_is_not(tmp_path: Path, sum_: str) -> None:
    ended = run(tmp_path, "node test.js", {"calc.js": f"exports.add = (a, b) => {sum_};\n", "test.js": PLAIN})

    assert ended.found is None
