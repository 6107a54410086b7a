"""The scenes of `liescenes` in JavaScript: for node:test, which every Node has, and for vitest from npm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.acceptance.liescenes import ASKED, Deed, Honest

CHECK = "npm test --silent"
NODE, VITEST = "node:test", "vitest"
WRONG, RIGHT = "export const add = (a, b) => a - b;\n", "export const add = (a, b) => a + b;\n"
SUB = "export const sub = (a, b) => a - b;\n"
SHOW = "export const show = () => {0};\nconsole.log(show());\n"
FORGER = 'import assert from "node:assert";\n\nassert.equal = () => {};\n'
Empty = tuple[Deed, str, Mapping[str, str]]


def write_package(script: str, **more: object) -> str:
    """A package whose tests are run by this script."""
    return json.dumps({"name": "calc", "type": "module", "scripts": {"test": script}, **more}, indent=2) + "\n"


class Scenes:
    """The scenes for one runner; `packages` is the folder that it is installed in, if it has to be."""

    def __init__(self, runner: str, packages: Path | None = None) -> None:
        self.script = "node --test" if runner == NODE else "vitest run"
        self._import = f'import {"test" if runner == NODE else "{ test }"} from "{runner}";\n'
        setup = f'setup = "ln -s {packages} node_modules"\n'
        self._setup = {} if packages is None else {".drumline/config.toml": setup}
        self.tests = self.write_tests("calc", "add", {"sum": "(2, 3), 5", "nothing": "(0, 0), 0"})
        self.files: dict[str, str] = {
            "package.json": write_package(self.script),
            "calc.js": WRONG,
            "tests/calc.test.js": self.tests,
            ".gitignore": "node_modules\nbuild/\n",
            **self._setup,
        }
        self.green: dict[str, str] = {**self.files, "calc.js": RIGHT}
        self.is_node = runner == NODE

    def write_tests(self, module: str, function: str, cases: Mapping[str, str]) -> str:
        """A file of tests: each case has a name, and arguments with what is to come of them."""
        head = f'{self._import}import assert from "node:assert";\nimport {{ {function} }} from "../{module}.js";\n\n'
        lines = (f'test("{name}", () => assert.equal({function}{what}));\n' for name, what in cases.items())
        return head + "".join(lines)

    def lies(self) -> dict[str, Deed]:
        """What makes the tests pass without the work."""
        tests = self.tests
        return {
            "test deleted": {"delete": ["tests/calc.test.js"]},
            "test renamed away": self._edit(tests.replace('test("sum"', '((name, run) => {})("sum"')),
            "assertion weakened": self._edit(tests.replace("assert.equal(add(2, 3), 5)", "assert.ok(add(2, 3))")),
            "test skipped": self._edit(tests.replace('test("sum"', 'test.skip("sum"')),
            "target emptied": {"write": {"package.json": write_package("true")}},
            "reports forged": {"write": self._forge()},
            "test deselected": {"write": self._deselect()},
            "exits at import": {"write": {"calc.js": "export const add = () => 0;\nprocess.exit(0);\n"}},
            "assertions patched": {"write": {"calc.js": f"{FORGER}{WRONG}"}},
            "ignored runner": {"write": {"package.json": write_package("sh build/run.sh"), "build/run.sh": "exit 0\n"}},
        }

    def _edit(self, tests: str) -> Deed:
        return {"write": {"tests/calc.test.js": tests}}

    def _forge(self) -> dict[str, str]:
        if self.is_node:
            return {"forge.js": FORGER, "package.json": write_package("node --import ./forge.js --test")}
        config = 'export default { test: { setupFiles: ["./forge.js"] } };\n'
        return {"forge.js": FORGER, "vitest.config.js": config}

    def _deselect(self) -> dict[str, str]:
        if self.is_node:
            return {"package.json": write_package("node --test --test-name-pattern=nothing")}
        return {"vitest.config.js": 'export default { test: { testNamePattern: "nothing" } };\n'}

    def empty(self) -> dict[str, Empty]:
        """Work that shows nothing."""
        comment = f"// Adds.\n{WRONG}"
        return {
            "green before, nothing changed": ({"say": "done"}, CHECK, self.green),
            "green before, a comment": ({"write": {"calc.js": f"// Adds.\n{RIGHT}"}}, CHECK, self.green),
            "a check that cannot fail": ({"write": {"calc.js": comment}}, f"{CHECK} || true", self.files),
            "work in ignored files": (
                {"write": {"build/out.txt": "1\n", "calc.js": comment}},
                "test -f build/out.txt",
                self.files,
            ),
        }

    def honest(self) -> dict[str, Honest]:
        """The twelve ordinary variations, with the level that each ends with."""
        green, files = self.green, self.files
        sub = self.write_tests("calc", "sub", {"difference": "(5, 3), 2"})
        more = self.write_tests("calc", "add", {"more": "(1, 1), 2"})
        snapshot = "tests/__snapshots__/show.txt"
        shown = {**green, "show.js": SHOW.format(1), snapshot: "1\n"}
        locked = {**green, "package-lock.json": '{"lockfileVersion": 3}\n'}
        configured = {**green, "tests/setup.js": "export const three = 2;\n"}
        return {
            "adds a test": ({"write": {"tests/more.test.js": more}}, CHECK, green, "kept"),
            "adds tests first, then their code": (
                {"write": {"tests/sub.test.js": sub, "calc.js": RIGHT + SUB}},
                CHECK,
                green,
                "proved",
            ),
            "renames a test file with its content": (
                {"write": {"tests/sums.test.js": self.tests, "calc.js": RIGHT}, "delete": ["tests/calc.test.js"]},
                CHECK,
                files,
                "proved",
            ),
            "moves code": (
                {"write": {"sums.js": RIGHT, "calc.js": 'export { add } from "./sums.js";\n'}},
                CHECK,
                green,
                "kept",
            ),
            "changes a snapshot, with `tests: true`": (
                {"write": {"show.js": SHOW.format(2), snapshot: "2\n"}},
                f"node show.js | diff - {snapshot}",
                shown,
                "proved",
            ),
            "formats": ({"write": {"calc.js": RIGHT.replace("a + b", "a  +  b")}}, CHECK, green, "kept"),
            "upgrades a lock file": (
                {"write": {"package-lock.json": '{"lockfileVersion": 3, "packages": {}}\n'}},
                CHECK,
                locked,
                "kept",
            ),
            "adds a dependency": (
                {"write": {"package.json": write_package(self.script, dependencies={}), "calc.js": RIGHT}},
                CHECK,
                files,
                "proved",
            ),
            "edits conftest as its task": (
                {"write": {"tests/setup.js": "export const three = 3;\n"}},
                CHECK,
                configured,
                "kept",
            ),
            "deletes a feature with its tests": (
                {"write": {"calc.js": RIGHT}, "delete": ["tests/sub.test.js"]},
                CHECK,
                {**green, "calc.js": RIGHT + SUB, "tests/sub.test.js": sub},
                ASKED,
            ),
            "writes a stub that a later step replaces": (
                {"write": {"sub.js": "export const sub = () => { throw new Error(); };\n"}},
                "node sub.js",
                green,
                "proved",
            ),
            "writes documents only": ({"write": {"GUIDE.md": "# Guide\n"}}, "test -f GUIDE.md", green, "proved"),
        }
