"""How the test runners that a check starts are reached: by environment variables alone, the command stays as it is.

pytest and unittest read a module on `PYTHONPATH`, node:test, jest and vitest one that `NODE_OPTIONS` names, and
`go test` lets a program of ours run its test binaries (`GOFLAGS`). The rule: what the user has set there is kept, and a
variable that leaves us no room is left alone.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from drumline.core.recipes import name_sources
from drumline.core.shellwords import find_scripts, split_command
from drumline.isolation.contained import read_start
from drumline.patterns import compile_late

MOST_READ = 1_000_000
REPORTER = Path(__file__).with_name("reporter")
FOLDER, ENDING = "DRUMLINE_REPORT", "DRUMLINE_ENDING"
GO_TEST = """#!/bin/sh
other="go_${{GOOS:-}}_${{GOARCH:-}}_exec"
if command -v "$other" >/dev/null 2>&1; then exec "$other" "$@"; fi
case "$*" in
  *" -test.list"* | *" -test.fuzzworker"*) exec "$@" ;;
  *" -test."*) exec {python} -I -S {reporter} {folder} {root} "$@" ;;
  *) exec "$@" ;;
esac
"""
"""Runs what `go test` and `go run` have built: a test binary with our reporter around it, anything else as it is."""


_SETS_PATH = compile_late(
    r"((?:^|[;&|(\n]|\b(?:env|export|then|do|else|time|exec)[ \t])[ \t]*"
    r"(?:[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|[^\s;&|'\"])*[ \t]+)*PYTHONPATH=)([\"']?)(?=[^\s\"';&|])"
)
_PLAIN = compile_late(r"[\w/.@+-]+")


def keep_reachable(command: str) -> str:
    """The command with our folder before what it sets `PYTHONPATH` to, where that stands for a variable of a shell."""
    place = str(REPORTER)
    return _SETS_PATH.sub(rf"\g<1>\g<2>{place}{os.pathsep}", command) if _PLAIN.fullmatch(place) else command


PROGRAMS = "drumline-programs"
_PYTHONS = ("python", "python3", "pytest", "py.test", "coverage", "uv", "poetry")
_STAND_IN = """#!/bin/sh
export PYTHONPATH={reporter}${{PYTHONPATH:+:$PYTHONPATH}}
IFS=:
for folder in $PATH; do
  [ "$folder" != {here} ] && [ -x "$folder/{name}" ] && exec "$folder/{name}" "$@"
done
echo "{name}: command not found" >&2
exit 127
"""
"""Starts a program that others started with a `PYTHONPATH` of their own, and lets it find our reporter as well."""


def lead_reporters(reports: Path, env: Mapping[str, str], *, root: Path, command: str = "") -> dict[str, str]:
    """The environment of a check in the folder `root`, in which test runners report to the folder `reports`.

    Where a target or a script of the command sets `PYTHONPATH`, programs stand before those of Python that set it
    anew; nothing stands there otherwise.
    """
    told = {**env, **dict.fromkeys((FOLDER, ENDING), str(reports))}
    told["PYTHONPATH"] = _join(os.pathsep, str(REPORTER), _look_up("PYTHONPATH", env))
    if _sets_path(command, root):
        told["PATH"] = _join(os.pathsep, str(_write_stand_ins(reports / PROGRAMS, env)), _look_up("PATH", env))
    preload = f"--require {_quote(REPORTER / 'node_reporter.cjs')}"
    told["NODE_OPTIONS"] = _join(" ", preload, _look_up("NODE_OPTIONS", env))
    flags = _look_up("GOFLAGS", env) or _read_go_flags(env)
    if "-exec" not in flags and not _look_up("GOOS", env) and not _look_up("GOARCH", env):
        program = _write_go_test(reports, root)
        if not set(str(program)) & set(" \t'\""):
            told["GOFLAGS"] = _join(" ", flags, f"-exec={program}")
    return told


def _sets_path(command: str, root: Path) -> bool:
    """Whether what a command executes through targets and scripts speaks of the variable."""
    scripts = [script for part in split_command(command) for script in find_scripts(part.words)]
    return any("PYTHONPATH" in _read(root / name) for name in (*name_sources([command]), *scripts))


def _read(file: Path) -> str:
    with suppress(OSError, ValueError):
        text = read_start(file, MOST_READ + 1)
        return text.decode("utf-8", "replace") if len(text) <= MOST_READ else ""
    return ""


def _write_stand_ins(folder: Path, env: Mapping[str, str]) -> Path:
    """A folder with programs that stand before those of Python that there are."""
    folder.mkdir()
    words = {"reporter": shlex.quote(str(REPORTER)), "here": shlex.quote(str(folder))}
    for name in [name for name in _PYTHONS if shutil.which(name, path=_look_up("PATH", env))]:
        (folder / name).write_text(_STAND_IN.format(name=name, **words), "utf-8")
        (folder / name).chmod(0o700)
    return folder


def _look_up(name: str, env: Mapping[str, str]) -> str:
    return env.get(name, os.environ.get(name, ""))


def _join(separator: str, *parts: str) -> str:
    return separator.join(filter(None, parts))


def _quote(path: Path) -> str:
    """A word as Node reads it in `NODE_OPTIONS`."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _read_go_flags(env: Mapping[str, str]) -> str:
    """The flags that `go env -w` has kept, which the variable would hide."""
    home = _look_up("XDG_CONFIG_HOME", env) or f"{_look_up('HOME', env)}/.config"
    try:
        text = Path(_look_up("GOENV", env) or f"{home}/go/env").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
    return next((line[8:].strip() for line in text.splitlines() if line.startswith("GOFLAGS=")), "")


def _write_go_test(reports: Path, root: Path) -> Path:
    """The program that runs test binaries; its name is new each time, so that Go never takes an old verdict for it."""
    program = reports / f"go-test-{token_hex(4)}"
    words = {"python": sys.executable, "reporter": REPORTER / "go_reporter.py", "folder": reports, "root": root}
    program.write_text(GO_TEST.format(**{name: shlex.quote(str(word)) for name, word in words.items()}), "utf-8")
    program.chmod(0o700)
    return program
