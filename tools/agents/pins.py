"""Which agent programs the tests use and where they are kept; their versions stand in `versions.toml` alone."""

from __future__ import annotations

import os
import platform
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VERSIONS = Path(__file__).with_name("versions.toml")
MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """One program at one version, with the platform already filled in."""

    name: str
    version: str
    package: str
    program: str
    needs: str = ""

    @property
    def folder(self) -> str:
        """The name of its folder in the cache: another version is another folder."""
        return f"{self.name}-{self.version}"


def read_pins(path: Path = VERSIONS) -> dict[str, Pin]:
    """Every pin by its name, in the order of the file."""
    with path.open("rb") as stream:
        tables: Mapping[str, Mapping[str, str]] = tomllib.load(stream)
    return {name: fill_in(name, table) for name, table in tables.items()}


def fill_in(name: str, table: Mapping[str, str]) -> Pin:
    """A pin for this machine."""
    words = {"platform": name_platform(), "version": table["version"]}
    return Pin(
        name=name,
        version=table["version"],
        package=table["package"].format_map(words),
        program=table["program"].format_map(words),
        needs=table.get("needs", ""),
    )


def name_platform() -> str:
    """This machine in npm's words, such as linux-x64."""
    machine = platform.machine().lower()
    return f"{platform.system().lower()}-{MACHINES.get(machine, machine)}"


def cache_folder() -> Path:
    """Where installations are kept: outside the clone, so that a fresh clone finds them again."""
    if chosen := os.environ.get("DRUMLINE_AGENTS_DIR"):
        return Path(chosen)
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "drumline" / "agents"


def find_program(pin: Pin, cache: Path) -> Path | None:
    """The installed program's entry in its own `bin` folder, or None where it is not installed."""
    entry = cache / pin.folder / "bin" / pin.name
    return entry if entry.exists() else None


def find_reason(pin: Pin, cache: Path) -> Path:
    """Where the installer says why a program is missing; there is no such file while it has not tried in vain."""
    return cache / f"{pin.folder}.missing"
