"""Installs the pinned agent programs into the cache: `python -m tools.agents.install [NAME …]`.

An installation appears in one rename, after its program has said its version: a folder that exists is complete.
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

from tools.agents.pins import Pin, cache_folder, find_program, read_pins

# No install scripts: every program named in versions.toml runs as it is packed.
NPM = ("npm", "install", "--ignore-scripts", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--omit=dev")


class NotInstalled(Exception):
    """A program could not be installed; the text says which, and why."""


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
    cache.mkdir(parents=True, exist_ok=True)
    failed = 0
    for pin in dict.fromkeys(p for want in wanted for p in with_needs(want, pins)):
        try:
            print(f"{pin.name} {pin.version}: {install(pin, cache, pins)}", flush=True)
        except NotInstalled as problem:
            failed += 1
            print(f"{pin.name} {pin.version}: not installed: {problem}", file=sys.stderr, flush=True)
    return 1 if failed else 0


def with_needs(pin: Pin, pins: dict[str, Pin]) -> list[Pin]:
    """A pin after the one it needs."""
    return [pins[pin.needs], pin] if pin.needs else [pin]


def install(pin: Pin, cache: Path, pins: dict[str, Pin]) -> Path:
    """Return the program's entry, installing it first where it is missing."""
    if found := find_program(pin, cache):
        return found
    if shutil.which("npm") is None:
        raise NotInstalled("npm is not on PATH; install Node.js with npm (on Debian: apt-get install npm)")
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


def fetch(pin: Pin, room: Path) -> None:
    """Have npm unpack the package in `room`."""
    done = subprocess.run([*NPM, "--prefix", str(room), pin.package], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotInstalled(f"npm ended with {done.returncode}: {last_lines(done.stderr)}")


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
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
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


def last_lines(text: str, count: int = 3) -> str:
    """The end of a program's output, on one line."""
    return " / ".join(text.strip().splitlines()[-count:])


if __name__ == "__main__":
    sys.exit(main())
