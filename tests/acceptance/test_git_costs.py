"""How many git processes a step of a plan costs: each takes milliseconds, and every step waits for all of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.acceptance.userland import make_user, step_text

MOST = 23
"""For a step with one attempt and one check, executed with and without the work, that is not the first of its run."""


def test_a_step_costs_few_git_processes(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
    folder, log = tmp_path / "shim", tmp_path / "git.log"
    folder.mkdir()
    shim = folder / "git"
    shim.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("git")} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)

    ran = user.run(env={"PATH": f"{folder}:{user.env['PATH']}"})

    assert ran.code == 0, ran.text
    calls = log.read_text(encoding="utf-8").splitlines()
    landings = [at for at, call in enumerate(calls) if "-m land" in call]
    assert len(landings) == 2
    assert landings[1] - landings[0] <= MOST, "\n".join(calls[landings[0] : landings[1]])
