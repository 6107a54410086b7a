"""What a check was judged with: the same judge has the same digest wherever it is, another one has another."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.engine.identity import digest_environment, digest_judge, digest_log, find_test_file
from drumline.ports.processes import Job

FILES = {
    "calc.py": "x = 1\n",
    "tests/test_calc.py": "def test_a(): ...\n",
    "tests/conftest.py": "",
    "pytest.ini": "[pytest]\n",
    "Makefile": "test:\n\ttrue\n",
    "check.sh": "true\n",
}
IDS = ("tests/test_calc.py::test_a",)


def make(folder: Path, **changed: str) -> Path:
    for path, text in {
        **FILES,
        **{name.replace("__", "/").replace("_dot_", "."): t for name, t in changed.items()},
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("command", ["make test", "sh check.sh", "pytest tests"])
def test_the_same_judge_has_the_same_digest_whatever_the_work_is(tmp_path: Path, command: str) -> None:
    one, other = make(tmp_path / "a"), make(tmp_path / "b", calc_dot_py="x = 2\n")

    assert digest_judge(one, command, IDS) == digest_judge(other, command, IDS) != ""


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("pytest tests", "tests__test_calc_dot_py"),
        ("pytest tests", "tests__conftest_dot_py"),
        ("pytest tests", "pytest_dot_ini"),
        ("make test", "Makefile"),
        ("sh check.sh", "check_dot_sh"),
    ],
)
def test_another_judge_has_another_digest(tmp_path: Path, command: str, path: str) -> None:
    one, other = make(tmp_path / "a"), make(tmp_path / "b", **{path: "other\n"})

    assert digest_judge(one, command, IDS) != digest_judge(other, command, IDS)


def test_where_no_file_decides_there_is_no_digest(tmp_path: Path) -> None:
    assert digest_judge(tmp_path, "test -f a.txt", ()) == ""


@pytest.mark.parametrize("name", ["../outside.py", "/etc/passwd", "nothing.here"])
def test_ids_lead_to_no_file_elsewhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside.py").touch()
    (tmp_path / "in").mkdir()

    assert find_test_file(tmp_path / "in", name) == ""


def test_a_log_and_an_environment_have_digests(tmp_path: Path) -> None:
    log = tmp_path / "check.log"
    log.write_text("said", encoding="utf-8")
    job = Job(argv=["bash", "-c", "true"], cwd=tmp_path, log=log, env={"PATH": "/bin"})

    found = {digest_environment(Job(argv=["bash"], cwd=tmp_path, log=log, env={"PATH": path})) for path in ("/a", "/b")}

    assert digest_log(log) != digest_log(tmp_path / "none") == ""
    assert digest_environment(job) == digest_environment(job)
    assert len(found) == 2
