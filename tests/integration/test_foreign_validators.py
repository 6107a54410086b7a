"""Files that we have written to, judged by the tools they belong to.

The tools come from npm, at the versions in `validators.toml`, and from PyPI; without a registry the tests are skipped.
No package has a parser of Kiro's tasks or of plans of Superpowers; that of Spec Kit has its template and a script that
looks for the documents of a feature.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from tests.integration.test_samples import SAMPLES, open_sample
from tools.agents.install import NotInstalled, install
from tools.agents.pins import cache_folder, read_pins

from drumline.core.plan import Marks, Status
from drumline.planfiles import open_plan
from drumline.ports.planfiles import PlanFiles

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

PINS = {**read_pins(), **read_pins(Path(__file__).with_name("validators.toml"))}
DONE = Marks(status=Status.DONE)
SPEC_KIT = "specify-cli==1.2.3"


def ask(name: str, folder: Path, *words: str) -> str:
    """What a tool says about the files in a folder; it must end well."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    try:
        install(PINS["node"], cache, PINS)
        program = install(PINS[name], cache, PINS)
    except NotInstalled as error:
        pytest.skip(f"{name} cannot be installed: {error}")
    env = {"PATH": f"{program.parent}{os.pathsep}{os.defpath}", "HOME": str(folder), "CI": "1", "NO_COLOR": "1"}
    env |= {"OPENSPEC_TELEMETRY": "0", "DO_NOT_TRACK": "1"}
    done = subprocess.run(
        [program, *words], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def mark(files: PlanFiles, ids: Sequence[str], marks: Marks) -> None:
    for step in files.read().plan.steps:
        if step.id in ids:
            files.write(step, marks)


def count_tasks(folder: Path) -> tuple[int, int, bool]:
    """How many tasks OpenSpec calls completed, how many there are, and whether the change is valid."""
    change: Mapping[str, Any] = json.loads(ask("openspec", folder, "list", "--json"))["changes"][0]
    words = ("validate", change["name"], "--type", "change", "--json", "--no-interactive")
    judged: Mapping[str, Any] = json.loads(ask("openspec", folder, *words))["items"][0]
    return change["completedTasks"], change["totalTasks"], judged["valid"]


def test_openspec_counts_what_we_have_ticked_and_finds_the_change_valid(tmp_path: Path) -> None:
    _, files = open_sample(tmp_path, SAMPLES["openspec"]["groups"])

    before = count_tasks(tmp_path)
    mark(files, ["1.2"], Marks(status=Status.CLAIMED, assignee="me"))
    claimed = count_tasks(tmp_path)
    mark(files, ["1.2"], DONE)
    ticked = count_tasks(tmp_path)
    mark(files, ["2.1"], DONE)

    assert before == claimed == (1, 3, True)
    assert ticked == (2, 3, True)
    assert count_tasks(tmp_path) == (3, 3, True)


def list_statuses(folder: Path) -> dict[str, str]:
    """The statuses of tasks and subtasks as Task Master reads them."""
    told = ask("task-master", folder, "list", "--with-subtasks", "--json")
    # It prints a note about newer versions behind the JSON.
    tasks: Sequence[Mapping[str, Any]] = json.JSONDecoder().raw_decode(told)[0]["tasks"]
    found = {task["id"]: task["status"] for task in tasks}
    return found | {f"{task['id']}.{sub['id']}": sub["status"] for task in tasks for sub in task["subtasks"]}


def test_task_master_reads_the_statuses_that_we_have_written(tmp_path: Path) -> None:
    _, files = open_sample(tmp_path, SAMPLES["taskmaster"]["subtasks are the steps"])

    mark(files, ["1"], DONE)
    mark(files, ["2.1"], Marks(status=Status.CLAIMED, assignee="me"))
    mark(files, ["2.2"], Marks(status=Status.BLOCKED, reason="no luck"))
    some = list_statuses(tmp_path)
    mark(files, ["2.1", "2.2", "2.3", "3"], DONE)
    every = list_statuses(tmp_path)
    judged = ask("task-master", tmp_path, "validate-dependencies")

    assert (some["1"], some["2.1"], some["2.2"], some["2.3"], some["3"]) == (
        "done",
        "in-progress",
        "blocked",
        "pending",
        "pending",
    )
    assert set(every.values()) == {"done"}
    assert "all dependencies are valid" in judged


def fetch_spec_kit(folder: Path) -> Path:
    """The templates and scripts that Spec Kit puts into projects."""
    options = ("--quiet", "--no-deps", "--disable-pip-version-check", "--dest", str(folder))
    done = subprocess.run([sys.executable, "-m", "pip", "download", *options, SPEC_KIT], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{SPEC_KIT} cannot be had: {done.stderr[-300:]}")
    with ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return folder / "specify_cli" / "core_pack"


def test_the_template_of_spec_kit_is_ticked_and_its_script_finds_it_complete(tmp_path: Path) -> None:
    pack, feature = fetch_spec_kit(tmp_path / "pack"), tmp_path / "repo" / "specs" / "001-login"
    template = (pack / "templates" / "tasks-template.md").read_text(encoding="utf-8")
    feature.mkdir(parents=True)
    (tmp_path / "repo" / ".specify").mkdir()
    for name, text in {"plan.md": "# Plan\n", "spec.md": "# Spec\n", "tasks.md": template}.items():
        (feature / name).write_text(text, encoding="utf-8")
    files = open_plan(feature / "plan.md", repo=tmp_path / "repo")

    reading = files.read()
    for step in reading.plan.steps:
        files.write(step, DONE)
    script = [sys.executable, str(pack / "scripts" / "python" / "check_prerequisites.py"), "--json"]
    asked = subprocess.run(
        [*script, "--require-tasks", "--include-tasks"],
        cwd=tmp_path / "repo",
        env={"SPECIFY_FEATURE_DIRECTORY": "specs/001-login", "SPECIFY_FEATURE_NO_PERSIST": "1", "PATH": os.defpath},
        capture_output=True,
        text=True,
    )

    assert reading.plan.format == "speckit"
    assert [step.id for step in reading.plan.steps] == [f"T{number:03}" for number in range(1, 29)]
    ticked = (feature / "tasks.md").read_text(encoding="utf-8")
    assert ticked == re.sub(r"^- \[ \] (?=T[0-9]{3} )", "- [x] ", template, flags=re.MULTILINE)
    assert asked.returncode == 0, asked.stderr
    assert "tasks.md" in json.loads(asked.stdout)["AVAILABLE_DOCS"]
