"""Installs the pinned agent programs into the cache: `python -m tools.agents.install [NAME …]`.

An installation appears in one rename, after its program has said its version: a folder that exists is complete. Where
one cannot be had, the reason is kept beside it for the tests that are skipped; nothing is waited for without end.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.agents.pins import Pin, cache_folder, find_program, find_reason, read_pins

# No install scripts: every program named in versions.toml runs as it is packed.
NPM = ("npm", "install", "--ignore-scripts", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--omit=dev")
CACHE = ".npm"
ASK = ("npm", "view", "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=20000")
# npm's own limits do not count for a proxy that takes a connection and never answers.
ASK_LIMIT = 60.0
FETCH_LIMIT = 900.0
START_LIMIT = 120.0


class NotInstalled(Exception):
    """A program could not be installed; the text says which, and why."""


class NotReached(NotInstalled):
    """There is no way to any package from here, so that it is no use to try the next one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Install what is asked for; 1 when something could not be had."""
    pins = read_pins()
    parser = argparse.ArgumentParser(prog="python -m tools.agents.install", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(pins)}; all of them by default")
    names = parser.parse_args(arguments).names or list(pins)
    if unknown := [name for name in names if name not in pins]:
        parser.error(f"not in versions.toml: {', '.join(unknown)} (there are {', '.join(pins)})")
    return install_all([pins[name] for name in names], pins)


def install_all(wanted: Sequence[Pin], pins: dict[str, Pin]) -> int:
    """Install each one and what it needs, go on after a failure, and say how each ended."""
    cache = cache_folder()
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"nothing is installed: {cache} cannot be made: {error.strerror}", file=sys.stderr)
        return 1
    failed, lost = 0, ""
    for pin in dict.fromkeys(p for want in wanted for p in with_needs(want, pins)):
        problem = lost if lost and not find_program(pin, cache) else ""
        try:
            problem = problem or say_installed(pin, cache, pins)
        except NotInstalled as error:
            problem = str(error)
            lost = problem if isinstance(error, NotReached) else lost
        failed += bool(problem)
        keep_reason(pin, cache, problem)
    return 1 if failed else 0


def say_installed(pin: Pin, cache: Path, pins: dict[str, Pin]) -> str:
    """Install a program and say where it is; there is then no reason why it is missing."""
    print(f"{pin.name} {pin.version}: {install(pin, cache, pins)}", flush=True)
    return ""


def keep_reason(pin: Pin, cache: Path, problem: str) -> None:
    """Say why a program is missing, here and to those who look for it later; without a problem, forget the old one."""
    note = find_reason(pin, cache)
    if not problem:
        note.unlink(missing_ok=True)
        return
    print(f"{pin.name} {pin.version}: not installed: {problem}", file=sys.stderr, flush=True)
    note.write_text(problem + "\n")


def with_needs(pin: Pin, pins: dict[str, Pin]) -> list[Pin]:
    """A pin after the one it needs."""
    return [pins[pin.needs], pin] if pin.needs else [pin]


def install(pin: Pin, cache: Path, pins: dict[str, Pin]) -> Path:
    """Return the program's entry, installing it first where it is missing."""
    if found := find_program(pin, cache):
        return found
    if shutil.which("npm") is None:
        raise NotInstalled("npm is not on PATH; install Node.js with npm (on Debian: apt-get install npm)")
    ask_for(pin)
    # Beside its final place, so that the rename is one and links to neighbours already hold.
    room = Path(tempfile.mkdtemp(dir=cache, prefix=f".{pin.folder}."))
    try:
        fetch(pin, room)
        add_entries(pin, room, pins)
        check_version(pin, room)
        publish(room, cache / pin.folder)
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return cache / pin.folder / "bin" / pin.name


def ask_for(pin: Pin) -> None:
    """See quickly that the package can be had; NotReached where no answer comes at all."""
    try:
        asked = subprocess.run([*ASK, pin.package, "version"], capture_output=True, text=True, timeout=ASK_LIMIT)
    except subprocess.TimeoutExpired:
        raise NotReached(f"npm got no answer about {pin.package} in {ASK_LIMIT:g} s") from None
    if asked.returncode:
        problem = NotInstalled if "code E4" in asked.stderr else NotReached
        raise problem(f"npm cannot get {pin.package}: {first_lines(asked.stderr)}")
    if not asked.stdout.strip():
        raise NotInstalled(f"npm knows no {pin.package}")


def fetch(pin: Pin, room: Path) -> None:
    """Have npm unpack the package in `room`, with a cache of its own: what it has fetched is not needed twice."""
    command = [*NPM, "--prefix", str(room), "--cache", str(room / CACHE), pin.package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_LIMIT)
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"npm had not fetched {pin.package} after {FETCH_LIMIT:g} s") from None
    finally:
        shutil.rmtree(room / CACHE, ignore_errors=True)
    if done.returncode:
        raise NotInstalled(f"npm ended with {done.returncode}: {first_lines(done.stderr)}")


def add_entries(pin: Pin, room: Path, pins: dict[str, Pin]) -> None:
    """Make `bin` with the program and what it needs, so that this one folder on PATH is enough."""
    found = sorted(room.glob(pin.program))
    if len(found) != 1:
        raise NotInstalled(f"{pin.package} has {len(found)} files {pin.program!r} where one was expected")
    found[0].chmod(0o755)
    entries = room / "bin"
    entries.mkdir()
    # Relative links, and so still right after the rename.
    (entries / pin.name).symlink_to(Path("..") / found[0].relative_to(room))
    if pin.needs:
        (entries / pin.needs).symlink_to(Path("..", "..", pins[pin.needs].folder, "bin", pin.needs))


def check_version(pin: Pin, room: Path) -> None:
    """Start the program and see that it is the version the pin says."""
    with tempfile.TemporaryDirectory() as home:
        path = f"{room / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        command = [str(room / "bin" / pin.name), "--version"]
        # A home of its own: merely saying the version makes some programs write settings.
        env = {"PATH": path, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "GOOSE_PATH_ROOT": home}
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=START_LIMIT)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotInstalled(f"it cannot say its version: {error}") from error
    if done.returncode or pin.version not in done.stdout:
        said = last_lines(done.stdout + done.stderr)
        raise NotInstalled(f"--version should say {pin.version}, but ended with {done.returncode} and said {said!r}")


def publish(room: Path, place: Path) -> None:
    """Give the finished folder its name, unless somebody else was faster."""
    room.chmod(0o755)
    try:
        room.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def first_lines(text: str, count: int = 3) -> str:
    """What npm says first of an error, on one line: then come its stack and its advice."""
    lines = [line.removeprefix("npm error ") for line in text.splitlines() if line.startswith("npm error ")]
    return " / ".join(lines[:count]) or last_lines(text)


def last_lines(text: str, count: int = 3) -> str:
    """The end of a program's output, on one line."""
    return " / ".join(text.strip().splitlines()[-count:])


if __name__ == "__main__":
    sys.exit(main())
