"""The story the demo tells, act by act. Whatever is shown was done by the real command line in a child process."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from drumline.demo.project import PLAN, Project, clean_environment
from drumline.errors import DrumlineError
from drumline.record import Record

PARKED, INTERRUPTED = 2, 130
PATIENCE = 20
"""How often a background driver that is not there yet is looked for; each look takes some seconds."""


class Status(Record):
    """The part of `drumline status --json` that the story is about."""

    branch: str
    gates: Sequence[Mapping[str, object]]


@dataclass(kw_only=True)
class Play:
    """One performance in one repository; what to try next is said only if the repository is `kept`."""

    project: Project
    kept: bool = True
    environment: Mapping[str, str] = field(default_factory=clean_environment)

    def perform(self) -> None:
        """All acts in order; DrumlineError if the run does not go as the script says."""
        self._look_at_the_plan()
        run = self._start()
        self._watch(run)
        self._answer()
        self._finish()
        self._show_result(self._status())

    def _look_at_the_plan(self) -> None:
        heading(1, "A plan: six steps in markdown, in a git repository")
        self._show("validate", PLAN)

    def _start(self) -> str:
        heading(2, "Start it in the background, and watch")
        tell(
            "The configuration asks for parallel mode, so steps 2 and 3 run at the same time. The agent gets",
            "step 4 wrong and says it is right; the check that Drumline runs says otherwise, so it has to fix it.",
            "Step 3 stays wrong after two fixes: it is diagnosed, and a corrective step, step-3h, takes another way.",
            "",
        )
        return self._show("run", PLAN, "--detach", capture=True).strip()

    def _watch(self, run: str) -> None:
        for _ in range(PATIENCE):
            code = self._call("attach", run)
            if code != INTERRUPTED:
                break
        if code != PARKED:
            raise DrumlineError(f"the run should wait for a person now, but ended with {code}", hint=self._look_hint())

    def _answer(self) -> None:
        heading(3, "A gate: step 5 has something only a person can judge")
        tell("The run is parked: no process is left, only its journal. Any terminal may answer, now or tomorrow.")
        for gate in self._status().gates:
            tell(f"  {gate['id']}: " + str(gate["question"]).replace("\n", "\n    "))
            self._show("answer", str(gate["id"]), "continue", "--comment", "reads well")

    def _finish(self) -> None:
        heading(4, "Drive on to the end")
        if self._call("resume"):
            raise DrumlineError("the run did not end well", hint=self._look_hint())

    def _show_result(self, status: Status) -> None:
        heading(5, "What you have now")
        branch = status.branch
        self._git("log", "--oneline", "--graph", f"main..{branch}")
        tell("", "The checkout was not touched, except that the plan's files say what is done:")
        self._git("diff", "--stat", "--", PLAN)
        if self.kept:
            self._suggest()

    def _suggest(self) -> None:
        program = Path(sys.executable).with_name("drumline")
        name = str(program) if program.exists() else f"{sys.executable} -m drumline"
        tell("", "Look around (the folder is kept; make demo makes a new one each time):", "")
        for line in (
            f"cd {shlex.quote(str(self.project.top))}",
            f"{name} status",
            f"{name} why step-3",
            f"{name} logs step-4",
            f"{name} merge --plan-files && python3 -m tally README.md",
        ):
            tell(f"  {line}")

    def _status(self) -> Status:
        done = subprocess.run(
            self.project.start("status", "--json"),
            cwd=self.project.top,
            env=self.environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        found = json.loads(done.stdout)
        return Status(branch=found["branch"], gates=found["gates"])

    def _show(self, *arguments: str, capture: bool = False) -> str:
        """Run a command of Drumline that must succeed; its stdout if it is wanted instead of shown."""
        tell(click.style(f"$ drumline {shlex.join(arguments)}", fg="cyan"))
        done = subprocess.run(
            self.project.start(*arguments),
            cwd=self.project.top,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if capture else None,
            text=True,
        )
        if done.returncode:
            raise DrumlineError(f"drumline {arguments[0]} ended with {done.returncode}", hint=self._look_hint())
        return done.stdout or ""

    def _call(self, *arguments: str) -> int:
        """Run a command of Drumline with our terminal; its exit code."""
        tell(click.style(f"$ drumline {shlex.join(arguments)}", fg="cyan"))
        return subprocess.run(self.project.start(*arguments), cwd=self.project.top, env=self.environment).returncode

    def _git(self, *arguments: str) -> None:
        tell(click.style(f"$ git {shlex.join(arguments)}", fg="cyan"))
        subprocess.run(["git", "--no-pager", *arguments], cwd=self.project.top, env=self.environment, check=True)

    def _look_hint(self) -> str:
        return f"cd {shlex.quote(str(self.project.top))} && drumline status"


def heading(number: int, text: str) -> None:
    """Where the story is."""
    tell("", click.style(f"{number}. {text}", bold=True), "")


def tell(*lines: str) -> None:
    """Lines on stdout, at once: child processes write to the same place."""
    for line in lines:
        click.echo(line)
    sys.stdout.flush()
