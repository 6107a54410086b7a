"""How many git processes a step of a plan costs: each takes milliseconds, and every step waits for all of its own."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

from tests.acceptance.cli_user import make_user, step_text

COMPARED = 11
"""A step with one attempt and one check, executed with and without the work, that is not the first of its run."""
KNOWN = 9
"""The same, where the step before has shown what the check says without the work."""
FURTHER = 2
"""Another check of the same step, executed with and without the work."""
MOST = 15
"""A step with one check where files lie about that git ignores or that tools drop."""
FIRST = 18
"""A run until it has landed its first step, with all that it asks before it begins."""


def test_a_step_costs_few_git_processes(tmp_path: Path) -> None:
    checks = {
        "step-1": ["test -f step-1.txt"],
        "step-2": ["test -f step-2.txt"],
        "step-3": ["test -f step-2.txt"],
        "step-4": ["test -f step-4.txt", "test -s step-4.txt"],
        "step-5": ["test -f step-5.txt"],
        "step-6": ["test -f step-6.txt"],
    }
    names = list(checks)
    texts = [step_text(name, names[at - 1 : at], checks=checks[name]) for at, name in enumerate(names)]
    user = make_user(tmp_path, *texts)
    plain = [{"match": {"step": name}, "write": {f"{name}.txt": f"{name}\n"}} for name in names[:4]]
    untidy = {".gitignore": "out/\n", "out/a.log": "a\n", "src/__pycache__/a.pyc": "a\n"}
    user.play(*plain, *({"match": {"step": name}, "write": {f"{name}.txt": "1\n", **untidy}} for name in names[4:]))
    folder, log = tmp_path / "shim", tmp_path / "git.log"
    folder.mkdir()
    shim = folder / "git"
    shim.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("git")} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)

    ran = user.run(env={"PATH": f"{folder}:{user.env['PATH']}"})

    assert ran.code == 0, ran.text
    calls = log.read_text(encoding="utf-8").splitlines()
    landings = [at for at, call in enumerate(calls) if "-m land" in call]
    assert len(landings) == len(texts)
    first, second, third, fourth, *untidied = (calls[begin:end] for begin, end in pairwise([0, *landings]))
    assert len(first) <= FIRST, "\n".join(first)
    assert len(second) <= COMPARED, "\n".join(second)
    assert len(third) <= KNOWN, "\n".join(third)
    assert len(fourth) <= COMPARED + FURTHER, "\n".join(fourth)
    for step in untidied:
        assert len(step) <= MOST, "\n".join(step)
