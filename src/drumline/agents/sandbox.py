"""Whether agents run in the jail, as the setting `sandbox` says, and how to get one where there is none.

The rule: where the jail is required, an agent without it is refused before anything starts.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from drumline.agents.jail import PROGRAM, Jail, find_jail
from drumline.errors import InvalidInput
from drumline.protection import AUTO, OFF, REQUIRED
from drumline.record import Record

RELEASE = Path("/etc/os-release")
INSTALL: Mapping[str, str] = MappingProxyType(
    {
        "debian": "apt-get install bubblewrap",
        "ubuntu": "apt-get install bubblewrap",
        "fedora": "dnf install bubblewrap",
        "rhel": "dnf install bubblewrap",
        "centos": "dnf install bubblewrap",
        "arch": "pacman -S bubblewrap",
        "suse": "zypper install bubblewrap",
        "opensuse": "zypper install bubblewrap",
        "alpine": "apk add bubblewrap",
        "gentoo": "emerge sys-apps/bubblewrap",
        "void": "xbps-install bubblewrap",
        "nixos": "nix-env -iA nixos.bubblewrap",
    }
)
"""The command that installs bubblewrap, by the names that /etc/os-release has for a system and its relatives."""
UNKNOWN = "install the package bubblewrap"
NOT_LINUX = "run Drumline on Linux, for example in a virtual machine or a container"
ALLOW = "sysctl kernel.unprivileged_userns_clone kernel.apparmor_restrict_unprivileged_userns user.max_user_namespaces"
OWN = ("scripted",)
"""Agents that play a file: what they run counts as a command of that file's author, not as an agent's."""


class Absence(Record):
    """Why there is no jail here, said of bubblewrap, and the command to type next."""

    reason: str
    hint: str


def choose_jail(sandbox: str = AUTO) -> Jail | None:
    """The jail that agents run in; None if they run without. InvalidInput where it is required and does not work."""
    if sandbox == OFF:
        return None
    jail = find_jail()
    if jail is None and sandbox == REQUIRED:
        absence = explain_absence()
        raise InvalidInput(
            f"bubblewrap {absence.reason}, and sandbox = {REQUIRED!r} does not let an agent run without it "
            "(legal: auto, off)",
            hint=absence.hint,
        )
    return jail


def refuse_unjailed(name: str, sandbox: str) -> None:
    """Refuse an agent of another package that starts its own programs, where the sandbox is required."""
    if sandbox == REQUIRED and name not in OWN:
        raise InvalidInput(
            f"the agent {name!r} cannot be put into the sandbox, and sandbox = {REQUIRED!r} demands it",
            hint="drumline agents",
        )


def explain_absence() -> Absence:
    """Why bubblewrap does not work here."""
    if platform.system() != "Linux":
        return Absence(reason=f"does not exist for {platform.system() or 'this system'}", hint=NOT_LINUX)
    if shutil.which(PROGRAM) is None:
        return Absence(reason="is not installed", hint=find_install_command())
    return Absence(reason="is there but may not make namespaces here", hint=ALLOW)


def find_install_command(release: Path = RELEASE) -> str:
    """The command that installs bubblewrap on this system."""
    try:
        lines = release.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return UNKNOWN
    told = {key: value.strip("\"'") for key, sign, value in (line.partition("=") for line in lines) if sign}
    names = [told.get("ID", ""), *told.get("ID_LIKE", "").split()]
    command = next((INSTALL[name.partition("-")[0]] for name in names if name.partition("-")[0] in INSTALL), "")
    if not command:
        return UNKNOWN
    return command if os.geteuid() == 0 else f"sudo {command}"
