"""The tutorial and the readme's first plan, typed as they stand. What they show must be what is printed.

A `bash` block is typed, a `text` block after it must be found in its output line by line, and a comment before a
block says that it ends with another code than 0, or when Ctrl-C is pressed.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import drumline

TOP = Path(drumline.__file__).parent.parent.parent
PATIENCE = 120.0
INTERRUPTED = 130
BLOCK = re.compile(r"(?:<!-- (?P<note>[^>]*) -->\n\n)?```(?P<kind>bash|text)\n(?P<body>.*?)```", re.DOTALL)
VARYING = ((r"\b\d{6}-\d{6}-\w{3}\b", "RUN"), (r"\b[0-9a-f]{9}\b", "COMMIT"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """Something to type, and what the page says about it."""

    typed: str
    shown: tuple[str, ...] = ()
    code: int = 0
    interrupt_after: str = ""


def read_scenes(page: str) -> Iterator[Scene]:
    """The blocks of a page in their order."""
    blocks = list(BLOCK.finditer(page))
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block["kind"] == "text":
            continue
        note = block["note"] or ""
        shown = after["body"].splitlines() if after is not None and after["kind"] == "text" else []
        yield Scene(
            typed=block["body"],
            shown=tuple(shown),
            code=int(note.removeprefix("exit ")) if note.startswith("exit ") else 0,
            interrupt_after=note.partition("after: ")[2],
        )


@dataclass(kw_only=True)
class Shell:
    """Somebody at a shell: the folder stays from one block to the next."""

    folder: Path
    environment: Mapping[str, str]
    said: int = 0

    def type(self, scene: Scene) -> tuple[int, str]:
        """Type a block; its exit code and everything it printed."""
        self.said += 1
        output = Path(self.environment["HOME"]) / f"said-{self.said}"
        place = output.with_suffix(".cwd")
        script = f"set -e\n{scene.typed}\npwd > '{place}'\n"
        with output.open("wb") as sink:
            process = subprocess.Popen(
                ["bash", "-c", script],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
            if scene.interrupt_after:
                wait_for(output, scene.interrupt_after)
                os.killpg(process.pid, signal.SIGINT)
            code = process.wait(timeout=PATIENCE)
        self.folder = Path(place.read_text().strip()) if place.exists() else self.folder
        return code, output.read_text(encoding="utf-8")


def wait_for(file: Path, text: str) -> None:
    """Wait until a file contains a text."""
    deadline = time.monotonic() + PATIENCE
    while text not in file.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline, f"{text!r} never came: {file.read_text(encoding='utf-8')}"
        time.sleep(0.1)


def level(text: str) -> list[str]:
    """The lines of an output with ids and commits replaced by the words that pages use for them."""
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text)
    return text.splitlines()


def open_shell(tmp_path: Path) -> Shell:
    """A shell of a person that git knows, with `drumline` on the path."""
    home, programs, work = (tmp_path / name for name in ("home", "bin", "work"))
    for folder in (home, programs, work):
        folder.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    program = programs / "drumline"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m drumline "$@"\n')
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRUMLINE_", "GIT_", "XDG_"))}
    kept.pop("CI", None)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    return Shell(folder=work, environment={**kept, "HOME": str(home), "PATH": path, "GIT_CONFIG_NOSYSTEM": "1"})


def test_the_tutorial_is_true_to_the_letter(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    scenes = list(read_scenes((TOP / "docs" / "tutorial.md").read_text(encoding="utf-8")))

    for scene in scenes:
        code, said = shell.type(scene)

        assert code in ({INTERRUPTED, -signal.SIGINT} if scene.interrupt_after else {scene.code}), said
        assert [line for line in scene.shown if line not in level(said)] == [], said

    assert len(scenes) > 10


def test_the_first_plan_of_the_readme_works(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## Your first plan\n")[2].partition("\n## ")[0]
    typed = textwrap.dedent("\n".join(line for line in section.splitlines() if line.startswith("    ") or not line))
    shell.type(Scene(typed="git init --quiet\ngit commit --quiet --allow-empty --message start"))

    code, said = shell.type(Scene(typed=typed))

    assert code == 0, said
    assert "1 of 1 step landed, 1 proved" in said
