"""Tables of names distinguish what judges a step from its work."""

from __future__ import annotations

import pytest

from drumline.core.judge import (
    MODIFIED,
    JudgeKind,
    Touched,
    compare_judges,
    find_touched,
    has_tests,
    is_doubtful,
    is_grave,
    is_mixed,
    list_judging,
    list_reverted,
    names_new_test,
)
from drumline.core.reaching import may_reach, uses_runner
from drumline.core.recipes import list_executed, name_sources

T, C, S = JudgeKind.TEST, JudgeKind.CONFIG, JudgeKind.SCRIPT


def classify(path: str, *commands: str, parts: str | None = None, files: tuple[str, ...] = ()) -> JudgeKind | None:
    """The kind of one changed file."""
    found = find_touched({path: "modified"}, commands, {} if parts is None else {path: parts}, files)
    return found[0].kind if found else None


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("tests/test_calc.py", T),
        ("test_calc.py", T),
        ("pkg/calc_test.py", T),
        ("app/tests.py", T),
        ("tests/data/expected.json", T),
        ("src/a.test.ts", T),
        ("src/__tests__/a.js", T),
        ("src/__snapshots__/a.js.snap", T),
        ("pkg/calc_test.go", T),
        ("pkg/testdata/in.txt", T),
        ("spec/models/user_spec.rb", T),
        ("src/test/java/CalcTest.java", T),
        ("conftest.py", C),
        ("tests/conftest.py", C),
        ("pytest.ini", C),
        ("tox.ini", C),
        ("setup.cfg", C),
        ("sitecustomize.py", C),
        ("jest.config.js", C),
        ("vitest.config.ts", C),
        (".mocharc.yml", C),
        (".mvn/jvm.config", C),
        (".cargo/config.toml", C),
        (".config/nextest.toml", C),
        ("ci.runsettings", C),
        ("calc.py", None),
        ("config.toml", None),
        ("src/contest.py", None),
        ("src/latest.ts", None),
        ("test.sh", T),
        ("run-tests.sh", T),
        ("greet_test.sh", T),
        ("all.bats", T),
        ("test_calc.c", T),
        ("src/calc-test.cpp", T),
        ("src/tests.rs", T),
        ("test.js", T),
        ("calc.c", None),
        ("contest.sh", None),
        ("testing.c", None),
        ("test_data.json", None),
        ("docs/testing.md", None),
        ("specs/001-login/tasks.md", None),
        ("openspec/changes/a/specs/login/spec.md", None),
        ("spec/support/login.rb", T),
        ("attest/a.py", None),
        ("expected.txt", T),
        ("docs/cli.golden", T),
        ("golden/sum.json", T),
        ("src/unexpected.txt", None),
        ("src/setupTests.ts", C),
        ("vitest.workspace.ts", C),
        ("__mocks__/chai.js", C),
        ("Makefile", None),
    ],
)
def test_a_file_is_judge_or_work_by_its_name(path: str, kind: JudgeKind | None) -> None:
    assert classify(path) is kind


@pytest.mark.parametrize(
    ("path", "command", "kind"),
    [
        ("Makefile", "make test", S),
        ("rules.mk", "make test", S),
        ("Makefile", "cd . && make -s test", S),
        ("Makefile", "pytest", None),
        ("justfile", "just check", S),
        ("scripts/check.sh", "bash ./scripts/check.sh --all", S),
        ("check.py", "python3 check.py; true", S),
        ("cli.py", "python3 cli.py", S),
        ("cli.py", "python3 cli.py Ada | grep -q Ada", None),
        ("check.py", "python3 check.py | grep -q OK", S),
        ("all.sh", "sh all.sh | grep -q OK", S),
        ("tests/test_a.py", "pytest tests/test_a.py::test_x", T),
        ("calc.py", "make test", None),
        ("test.sh", "sh test.sh", S),
        ("sub/Makefile", "sh -c 'make -C sub test'", S),
        ("sub/Makefile", "env A=1 bash -lc 'cd sub; make test'", S),
        ("scripts/check.sh", 'bash -c "sh scripts/check.sh"', S),
    ],
)
def test_a_script_that_a_check_names_is_judge(path: str, command: str, kind: JudgeKind | None) -> None:
    assert classify(path, command) is kind


MADE = (
    "PY = python3\n\ntest: lint\n\t@sh scripts/check.sh --all\n\t$(PY) app.py && bash build.sh\n"
    "\tsh ci/all.sh; python3 tools/all.py; ./runtests\n"
    "lint:\n\t-$(MAKE) types\n\ntypes:\n\tpython3 verify.py\n\nrelease:\n\t./release_check.sh\n"
)
PACKAGED = (
    '{"scripts": {"test": "npm run -s lint && node ci.js && node run.js", "pretest": "sh suite.sh", '
    '"lint": "node lint.js"}}'
)
SOURCES = {"Makefile": MADE, "package.json": PACKAGED}


@pytest.mark.parametrize(
    ("path", "command", "kind"),
    [
        ("scripts/check.sh", "make test", S),
        ("verify.py", "make -s test", S),
        ("release_check.sh", "make test", None),
        ("release_check.sh", "make release", S),
        ("app.py", "make test", None),
        ("build.sh", "make test", None),
        ("ci/all.sh", "make test", T),
        ("tools/all.py", "make test", T),
        ("run.js", "npm test", T),
        ("runtests", "make test", S),
        ("ci/all.sh", "make types", None),
        ("verify.py", "make -C sub test", None),
        ("verify.py", "pytest", None),
        ("ci.js", "CI=1 npm test", S),
        ("suite.sh", "npm t", S),
        ("lint.js", "pnpm run test", S),
        ("lint.js", "yarn build", None),
        ("ci.js", "npm --prefix web test", None),
        ("ci.js", "cd web && npm test", None),
    ],
)
def test_a_script_that_judges_by_its_name_is_judge_where_a_target_executes_it(
    path: str, command: str, kind: JudgeKind | None
) -> None:
    found = find_touched({path: "modified"}, [command], {}, executed=list_executed([command], SOURCES))

    assert [file.kind for file in found] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("command", "sources"),
    [
        ("make test", ("GNUmakefile", "makefile", "Makefile", "package.json")),
        ("cd web && npm test", ("package.json",)),
        ("pytest -q", ()),
    ],
)
def test_only_commands_that_look_up_what_they_execute_are_unfolded(command: str, sources: tuple[str, ...]) -> None:
    assert name_sources([command]) == sources


@pytest.mark.parametrize("text", ["", "{", "[]", '{"scripts": 1}', '{"scripts": {"test": 1}}'])
def test_a_package_that_cannot_be_read_executes_nothing(text: str) -> None:
    assert list_executed(["npm test"], {"package.json": text}) == []


def test_a_program_that_the_step_is_to_write_is_work() -> None:
    assert classify("cli.py", "python3 cli.py --version", files=("./cli.py",)) is None
    assert classify("check.sh", "bash check.sh", files=("check.sh",)) is S


TWO = "test: build\n\tpytest\nbuild:\n\ttrue\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "change"),
    [
        ("pyproject.toml", "[project]\ndependencies = []\n", "[project]\ndependencies = ['x']\n", ""),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = ''\n",
            "[tool.pytest.ini_options]\naddopts = '-k no'\n",
            "modified",
        ),
        ("pyproject.toml", None, "[project]\nname = 'x'\n", ""),
        ("pyproject.toml", None, "[tool.pytest.ini_options]\n", "created"),
        ("pyproject.toml", "[project]\n", "[project\n", "modified"),
        ("package.json", '{"dependencies": {}}', '{"dependencies": {"a": "1"}}', ""),
        ("web/package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}', "modified"),
        ("package.json", '{"jest": {}}', "{}", "deleted"),
        ("pom.xml", "<a>1</a>", "<a>2</a>", ""),
        ("pom.xml", "<a>1</a>", "<a>1</a><properties><skipTests>true</skipTests></properties>", "created"),
        ("pom.xml", None, "<properties><maven.test.skip>true</maven.test.skip></properties>", "created"),
        ("build.gradle", "dependencies { a }\n", "dependencies { b }\n", ""),
        ("build.gradle.kts", "x\n", "x\ntasks.test { enabled = false }\n", "created"),
        ("vite.config.ts", "x({ plugins: [a] })", "x({ plugins: [b] })", ""),
        ("vite.config.ts", "x({ test: { a: {} }, b })", "x({ test: { a: {} }, c })", ""),
        ("vite.config.ts", "x({ test: { a: {} } })", "x({ test: { a: { b } } })", "modified"),
        ("mix.exs", "deps: []\n", "deps: [:a]\n", ""),
        ("mix.exs", "deps: []\n", 'aliases: [test: "true"]\n', "created"),
        ("Makefile", TWO, TWO + "lint:\n\truff check\n", ""),
        ("Makefile", TWO, TWO.replace("pytest", "true"), "modified"),
        ("Makefile", TWO, TWO.replace("\ttrue", "\tfalse"), "modified"),
        ("Makefile", TWO, "SHELL = /bin/true\n" + TWO, "modified"),
        ("Makefile", TWO, ".IGNORE:\n" + TWO, "modified"),
        ("Makefile", TWO, ".PHONY: lint\n" + TWO, ""),
        ("Makefile", ".PHONY: test\n" + TWO, TWO, "modified"),
        ("Makefile", "build:\n\ttrue\n", TWO, "created"),
        ("Makefile", None, TWO, "created"),
        ("Makefile", TWO, "build:\n\ttrue\n", "deleted"),
    ],
)
def test_a_mixed_file_judges_by_its_parts(path: str, before: str | None, after: str | None, change: str) -> None:
    assert is_mixed(path, ["make test"])

    assert compare_judges(path, before, after, ["make test"]) == change


@pytest.mark.parametrize("command", ["make -C sub test", "env make test", "make -f other.mk test", "pytest"])
def test_a_makefile_that_is_not_surely_the_one_that_is_read_judges_as_a_whole(command: str) -> None:
    assert not is_mixed("Makefile", [command])


def test_a_mixed_file_whose_part_differs_is_configuration() -> None:
    assert classify("pyproject.toml", parts="modified") is C
    assert classify("pyproject.toml", parts="") is None
    assert classify("Makefile", "make test", parts="") is None


@pytest.mark.parametrize(
    ("touched", "doubtful", "grave", "reverted"),
    [
        ([("tests/test_a.py", T, "created")], False, False, ["tests/test_a.py"]),
        ([("check.sh", S, "created")], False, False, []),
        ([("tests/test_a.py", T, "modified")], True, False, ["tests/test_a.py"]),
        ([("tests/test_a.py", T, "deleted")], True, True, ["tests/test_a.py"]),
        ([("conftest.py", C, "created")], True, True, ["conftest.py"]),
        ([("Makefile", S, "modified")], True, True, ["Makefile"]),
        ([("scripts/check.sh", S, "modified")], True, True, ["scripts/check.sh"]),
        ([("app.py", S, "modified")], True, False, ["app.py"]),
    ],
)
def test_new_tests_and_scripts_take_nothing_away(
    touched: list[tuple[str, JudgeKind, str]], doubtful: bool, grave: bool, reverted: list[str]
) -> None:
    files = [Touched(path=path, kind=kind, change=change) for path, kind, change in touched]

    assert (is_doubtful(files), is_grave(files), list_reverted(files)) == (doubtful, grave, reverted)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("unittest.py", C),
        ("pytest/__init__.py", C),
        ("difflib.py", C),
        ("types.json", None),
        ("types/user.py", None),
        ("src/types.py", None),
        ("shapes.py", None),
    ],
)
def test_a_new_module_in_the_place_of_one_of_the_runner_is_configuration(path: str, kind: JudgeKind | None) -> None:
    new = find_touched({path: "created"}, ["python3 -m unittest"], {})

    assert [file.kind for file in new] == ([kind] if kind else [])
    assert find_touched({path: "modified"}, ["python3 -m unittest"], {}) == ()


@pytest.mark.parametrize(
    ("text", "reaches"),
    [
        ("import calc\n\ncalc.add = lambda a, b: a + b\n", True),
        ("def test_a(monkeypatch):\n    monkeypatch.setattr('a.b', 1)\n", True),
        ("import calc from './calc.js';\nvi.spyOn(calc, 'add');\n", True),
        ("class A(TestCase):\n    def setUp(self):\n        self.x = 1\n        assert self.x == 1\n", False),
        ("def test_a():\n    total = add(1, 2)\n    assert total == 3\n", False),
        ("import calc; calc.add = print\n", True),
        ("import calc\ncalc.add, _ = print, 0\n", True),
        ("import calc\nfor calc.add in [print]:\n    pass\n", True),
        ("import calc\ncalc.__setattr__('add', print)\n", True),
        ("import calc\ngetattr(calc, '__di' + 'ct__')['add'] = print\n", True),
        ("import calc\ncalc.add.__globals__.update(add=print)\n", True),
        ("from pathlib import Path\nPath('calc.py').write_text('')\n", True),
        ("open('calc.py', 'w').close()\n", True),
        ("pytest_plugins = ['forge']\n", True),
        ("def pytest_collection_modifyitems(items):\n    items.clear()\n", True),
        ("def test_a(:\n", True),
        ("def test_a():\n    found = {}\n    found['a'] = 1\n    assert open('a').read() == found['a']\n", False),
        ("def test_a():\n    assert getattr(a, 'b') == a.__name__\n", False),
        ("class A(TestCase):\n    def test_a(self):\n        self.found['a'] = 1\n", False),
    ],
)
def test_a_new_test_that_replaces_what_it_imports_may_take_something_away(text: str, reaches: bool) -> None:
    path = "tests/a.test.js" if "'./" in text else "tests/test_a.py"
    new = Touched(path=path, kind=T, change="created", reaches=may_reach(path, text))

    assert (is_doubtful([new]), is_grave([new])) == (reaches, False)


@pytest.mark.parametrize(
    ("path", "text", "uses"),
    [
        ("src/calc.js", "expect.extend({ toBe: () => ({ pass: true }) });\n", True),
        ("src/calc.ts", 'import { expect } from "vitest";\n', True),
        ("src/calc.cjs", 'const { jest } = require("@jest/globals");\n', True),
        ("src/calc.mjs", 'import assert from "node:assert";\nassert.equal = () => {};\n', True),
        ("src/calc.js", "require('assert').equal = () => {};\n", True),
        ("src/calc.js", "globalThis.expect = () => ({ toBe() {} });\n", True),
        ("src/calc.js", 'import assert from "node:assert";\nassert.equal(1, 1);\n', False),
        ("src/calc.ts", "if (import.meta.vitest) { const { it, expect } = import.meta.vitest; }\n", False),
        ("src/calc.js", "export const expect = (value) => value;\n", False),
        ("docs/testing.md", 'import { expect } from "vitest";\n', False),
    ],
)
def test_a_file_of_javascript_that_uses_a_test_runner_belongs_to_the_tests(path: str, text: str, uses: bool) -> None:
    assert uses_runner(path, text) == uses

    found = find_touched({path: "modified"}, ["npm test"], {}, using=[path] if uses else [])
    assert [file.kind for file in found] == ([T] if uses else [])


def test_tests_that_are_part_of_the_task_are_no_judge_of_the_base() -> None:
    task = Touched(path="tests/test_a.py", kind=T, change="modified", work=True)
    settings = Touched(path="pytest.ini", kind=C, change="modified")

    assert not is_doubtful([task])
    assert (list_reverted([task, settings]), list_judging([task, settings])) == (
        ["pytest.ini"],
        ["tests/test_a.py", "pytest.ini"],
    )
    assert has_tests([task])
    assert not has_tests([settings])


@pytest.mark.parametrize(
    ("path", "kind"), [("golden/a.txt", T), ("golden/deep/b.txt", T), ("a.txt", None), ("conftest.py", C)]
)
def test_what_the_setting_judge_names_counts_as_a_test(path: str, kind: JudgeKind | None) -> None:
    found = find_touched({path: "modified"}, ["make"], {}, more=["golden/"])

    assert (found[0].kind if found else None) is kind


def test_a_command_that_names_a_new_test_cannot_run_without_it() -> None:
    new = [Touched(path="tests/test_a.py", kind=T, change="created")]

    assert names_new_test("pytest ./tests/test_a.py::test_x", new)
    assert not names_new_test("pytest tests", new)


def test_a_file_that_the_setting_names_judges_as_a_whole() -> None:
    changed, parts = {"vite.config.js": MODIFIED}, {"vite.config.js": ""}

    assert find_touched(changed, ["npx vitest run"], parts) == ()
    assert [file.path for file in find_touched(changed, ["npx vitest run"], parts, more=["vite.config.*"])] == [
        *changed
    ]
