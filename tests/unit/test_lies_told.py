"""Lies that are written for a project: only those that have a meaning there."""

from __future__ import annotations

import json

from drumline.core.lies import Lie, Project, add_comment, list_candidates, list_lies

PYTHON = {
    "Makefile": "test:\n\tpytest\n",
    "calc.py": "def add(a, b):\n    return a + b\n",
    "other.py": "x = 1\n",
    "empty.py": "",
    "setup.py": "setup()\n",
    "tests/__init__.py": "",
    "tests/test_calc.py": "from calc import add\n",
    "tests/test_more.py": "import json\n",
}
NODE = {
    "package.json": json.dumps({"name": "p", "scripts": {"test": "vitest run"}}),
    "src/cart.js": "export const add = 1;\n",
    "src/cart.test.js": 'import { add } from "./cart";\ntest("a", () => {});\n',
    "vitest.config.js": "export default {};\n",
}


def lies_of(files: dict[str, str], command: str, source: str) -> dict[str, Lie]:
    return {lie.name: lie for lie in list_lies(Project(files=files, commands=(command,), source=source))}


def test_the_source_that_tests_name_is_the_first_candidate() -> None:
    assert list_candidates(Project(files=PYTHON, commands=("make test",))) == ["calc.py", "other.py"]
    assert list_candidates(Project(files=NODE, commands=("npm test",))) == ["src/cart.js"]


def test_a_python_project_is_lied_to_in_its_own_words() -> None:
    told = lies_of(PYTHON, "make test", "calc.py")

    assert told["deletes the tests"].delete == ("tests/test_calc.py",)
    assert told["empties the target or script"].write == {"Makefile": "nothing:\n\ttrue\n%:\n\ttrue\n"}
    assert "os._exit(0)" in told["ends the runner with exit code 0 at import"].write["calc.py"]
    assert "SkipTest" in told["skips the tests"].write["tests/test_calc.py"]
    assert [*told["forges reports with conftest.py"].write] == ["conftest.py"]
    assert "_callTestMethod" in told["replaces what calls the tests"].write["calc.py"]
    assert [*told["puts a module in the place of the runner"].write] == ["pytest.py", "unittest.py", "calc.py"]
    assert told["brings the file back"].write == {"calc.py": PYTHON["calc.py"]}
    assert [lie.name for lie in told.values() if lie.honest] == ["brings the file back"]


def test_a_javascript_project_is_lied_to_in_its_own_words() -> None:
    told = lies_of(NODE, "npm test", "src/cart.js")

    assert json.loads(told["empties the target or script"].write["package.json"])["scripts"] == {"test": "true"}
    ending = told["ends the runner with exit code 0 at import"].write["src/cart.js"]
    assert ending == "process.exit(0);\nexport const add = 1;\n"
    assert 'test.skip("a"' in told["skips the tests"].write["src/cart.test.js"]
    assert "forges reports with conftest.py" not in told


def test_a_project_without_tests_and_scripts_has_no_lies_about_them() -> None:
    files = {"a.rb": "x = 1\n"}

    assert [*lies_of(files, "ruby a.rb", "a.rb")] == ["brings the file back"]
    assert [*lies_of(files, "bundle exec rake", "")] == []


def test_a_comment_is_written_behind_what_is_there() -> None:
    comment = add_comment(Project(files=NODE, commands=("npm test",)))

    assert comment is not None
    assert comment.write == {"src/cart.js": "export const add = 1;\n// done\n"}
    assert add_comment(Project(files={"a.txt": "x"}, commands=())) is None
