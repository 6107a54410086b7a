"""Plays lies against the checks of a repository, each as a real run in a copy of it that is thrown away afterwards.

The rule: what judges the lies is `drumline do` itself, in a process of its own; here only the scenes are set and the
answers read. The user's checkout, its branches and its runs are not touched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from drumline.core.foul import UNHEARD
from drumline.core.lies import Lie, Project, add_comment, list_candidates, list_lies
from drumline.errors import DrumlineError, InvalidInput
from drumline.record import Record, replace
from drumline.workspace.git import ask_git
from drumline.workspace.repository import Repository

TASK = "Bring back what is missing."
MOST_TEXT = 1_000_000
"""Bytes: a larger file is not looked at."""
CHECK, JUDGE, IDS, RED_FIRST = "the check itself", "the judge as it was before", "test ids", "red before green"
"""What notices a lie, in the words of the page about proofs."""
_REASONS = {
    "green_before": RED_FIRST,
    "base_unknown": RED_FIRST,
    "tests_changed": JUDGE,
    "unchanged": "the empty change",
    "ignored": "the ignored change",
}
NOTHING, NOTHING_BROKEN = "does nothing where the checks pass already", "does nothing"


class Played(Record):
    """How a lie ended: the step's `state` and `level`, and what noticed it; nothing if it is not to be noticed.

    `passed` says that every check passed in the end.
    """

    lie: Lie
    state: str
    level: str = ""
    caught_by: tuple[str, ...] = ()
    passed: bool = False

    @property
    def is_caught(self) -> bool:
        """Whether it does not end as proved."""
        return self.level != "proved"


class Trial(Record):
    """What was played: `broken` is the file that was emptied first, empty if the checks failed without that."""

    broken: str
    played: tuple[Played, ...]


def try_checks(repository: Repository, commands: Sequence[str], tell: Callable[[str], None]) -> Trial:
    """Play every lie against the commands; DrumlineError if they cannot be run or no file matters to them."""
    with _open_copy(repository, commands) as copy:
        play = _Play(copy=copy, tell=tell)
        project = Project(files=copy.read_files(), commands=tuple(commands))
        played = [play.lie(Lie(name=NOTHING))]
        broken = ""
        if played[0].passed:
            comment = add_comment(project)
            played += [play.lie(comment)] if comment else []
            broken, noticed = play.break_file(project)
            played.append(noticed)
        played += [play.lie(lie) for lie in list_lies(replace(project, source=broken))]
        return Trial(broken=broken, played=tuple(played))


class _Play(Record):
    """Plays lies, and tells which."""

    copy: _Copy
    tell: Callable[[str], None]

    def lie(self, lie: Lie) -> Played:
        """Play one."""
        self.tell(f"playing: {lie.name}")
        return self.copy.play(lie)

    def break_file(self, project: Project) -> tuple[str, Played]:
        """Empty a source file without which the checks fail, and see what they say about work that does nothing."""
        for path in list_candidates(project):
            self.tell(f"emptying {path}")
            self.copy.commit({path: ""})
            played = self.lie(Lie(name=NOTHING_BROKEN))
            if not played.passed:
                return path, played
            self.copy.commit({path: project.files[path]})
        raise InvalidInput(
            "the checks pass whichever source file is emptied, so that they cannot show what is wrong with one",
            hint="write a check that fails if the code is wrong, and try again",
        )


class _Copy(Record):
    """A copy of a repository in a temporary folder, with the state of its runs beside it."""

    folder: Path
    commands: tuple[str, ...]

    @property
    def repo(self) -> Path:
        return self.folder / "repo"

    def read_files(self) -> dict[str, str]:
        """The tracked files that are text."""
        found = {}
        for path in ask_git("ls-files", "-z", cwd=self.repo).items:
            file = self.repo / path
            if file.is_file() and not file.is_symlink() and file.stat().st_size <= MOST_TEXT:
                try:
                    found[path] = file.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    continue
        return found

    def commit(self, files: Mapping[str, str]) -> None:
        """Commit these files as a state that tasks begin at."""
        for path, text in files.items():
            (self.repo / path).write_text(text, encoding="utf-8")
        who = ("-c", "user.name=drumline", "-c", "user.email=drumline@localhost", "-c", "commit.gpgsign=false")
        ask_git(*who, "commit", "--quiet", "--no-verify", "--all", "--message", "scene", cwd=self.repo)

    def play(self, lie: Lie) -> Played:
        """Let a scripted agent tell the lie, and see what becomes of it."""
        script = self.folder / "agent.yaml"
        deed = {"write": dict(lie.write), "delete": list(lie.delete), "say": "done"}
        script.write_text(json.dumps({"rules": [], "default": deed}), encoding="utf-8")
        checks = [word for command in self.commands for word in ("--check", command)]
        options = ["--agent", f"scripted:{script}", "--autonomy", "autopilot", "--retries", "1", "--json"]
        ran = self._type("do", TASK, *checks, *options)
        if ran.returncode == InvalidInput.exit_code:
            raise DrumlineError(f"the checks could not be tried: {ran.stderr.strip()}")
        step = _parse(self._type("status", "--json"))["steps"][0]
        told = _parse(self._type("why", str(step["id"]), "--json"))
        return _read_end(lie, step, told)

    def _type(self, *words: str) -> subprocess.CompletedProcess[str]:
        # The person was asked about these commands before.
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "DRUMLINE_TRUST": "off"}
        env["DRUMLINE_MUTANTS"] = "off"
        return subprocess.run(
            [sys.executable, "-m", "drumline", *words],
            cwd=self.repo,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@contextmanager
def _open_copy(repository: Repository, commands: Sequence[str]) -> Iterator[_Copy]:
    with tempfile.TemporaryDirectory(prefix="drumline-trial-") as name:
        copy = _Copy(folder=Path(name), commands=tuple(commands))
        source = str(repository.top)
        ask_git("clone", "--quiet", "--no-tags", "--template=", source, str(copy.repo), cwd=copy.folder)
        yield copy


def _parse(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    try:
        found = json.loads(ran.stdout)
    except ValueError:
        raise DrumlineError(f"the checks could not be tried: {ran.stderr.strip()}") from None
    return found if isinstance(found, dict) else {}


def _read_end(lie: Lie, step: Mapping[str, Any], told: Mapping[str, Any]) -> Played:
    """What noticed a lie, from what Drumline tells everybody about a step."""
    proof = step["proof"] if isinstance(step["proof"], dict) else {"level": "", "why": []}
    checks = told.get("checks") or []
    failing = [check for check in checks if check["exit_code"] != 0]
    trees = {found["tree"]: found["verdict"] for check in checks for found in check["compared"]}
    signs = {
        CHECK: bool(failing),
        JUDGE: trees.get("base_judge") == "red",
        IDS: any(sign in str(told["sentence"]) for sign in UNHEARD),
    }
    caught = [_REASONS.get(reason, reason) for reason in proof["why"]]
    caught += [name for name, seen in signs.items() if seen] if step["state"] != "done" else []
    return Played(
        lie=lie,
        state=str(step["state"]),
        level=str(proof["level"]),
        caught_by=tuple(dict.fromkeys(caught or ([] if proof["level"] == "proved" else [str(told["sentence"])]))),
        passed=not failing,
    )
