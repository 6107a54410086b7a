"""Places outside a workspace where a change matters: they hold other people's work, or start programs later.

The rule: a fingerprint is inode, size, mode and both times of a file, never its content. A time that was set back is
still seen, because the change time cannot be set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

MOST_FILES = 2000
"""Files of one folder that are looked at; what is beyond that is not seen."""
HOME_FILES = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".xprofile",
    ".xsessionrc",
    ".xinitrc",
    ".pam_environment",
    ".inputrc",
    ".envrc",
    ".gitconfig",
    ".hgrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pdbrc",
    ".pythonrc.py",
    ".gdbinit",
    ".lldbinit",
    ".curlrc",
    ".wgetrc",
    ".netrc",
    ".vimrc",
    ".gvimrc",
    ".exrc",
    ".emacs",
    ".tmux.conf",
    ".screenrc",
    ".cargo/config.toml",
    ".cargo/config",
    ".docker/config.json",
    ".kube/config",
    ".aws/config",
    ".aws/credentials",
    ".m2/settings.xml",
    ".gradle/init.gradle",
    ".bundle/config",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/CLAUDE.md",
    ".codex/config.toml",
    ".codex/AGENTS.md",
    ".gemini/settings.json",
    ".qwen/settings.json",
]
HOME_FOLDERS = [
    ".ssh",
    "bin",
    ".local/bin",
    ".local/share/applications",
    ".local/share/systemd/user",
    ".emacs.d/lisp",
    ".vim/plugin",
    ".vim/autoload",
    ".git-templates",
    ".githooks",
    ".gradle/init.d",
    ".claude/hooks",
    ".claude/commands",
    ".claude/agents",
    ".claude/skills",
    "Library/LaunchAgents",
]
CONFIG_FILES = ("pip/pip.conf", "goose/config.yaml", "starship.toml", "nvim/init.lua", "nvim/init.vim")
CONFIG_FOLDERS = ("autostart", "systemd/user", "environment.d", "fish", "git", "drumline", "opencode", "direnv")
SYSTEM_FILES = ("/etc/profile", "/etc/environment", "/etc/ld.so.preload", "/etc/passwd", "/etc/sudoers", "/etc/crontab")
SYSTEM_FOLDERS = (
    "/etc/profile.d",
    "/etc/cron.d",
    "/etc/cron.daily",
    "/etc/cron.hourly",
    "/etc/sudoers.d",
    "/etc/systemd/system",
    "/etc/ld.so.conf.d",
    "/usr/local/bin",
    "/var/spool/cron",
)
GIT_FILES = ("config", "config.worktree", "commondir")
GIT_FOLDERS = ("hooks", "info")
NOISY = ("known_hosts", "config.lock", ".DS_Store")
"""Beginnings of names in these folders that change in the course of honest work."""


def read_user_places() -> dict[Path, str]:
    """What starts programs for this user, and what Drumline keeps for them; as root, for everybody."""
    env = os.environ
    home = Path(env.get("HOME") or Path.home())
    config = _find_folder(env, "XDG_CONFIG_HOME", home / ".config")
    state = _find_folder(env, "XDG_STATE_HOME", home / ".local" / "state")
    files = [home / name for name in HOME_FILES] + [config / name for name in CONFIG_FILES]
    folders = [home / name for name in HOME_FOLDERS] + [config / name for name in CONFIG_FOLDERS]
    files += [*(state / "drumline").glob("*/trust.json"), *home.glob(".local/lib/python*/site-packages/*.pth")]
    files += home.glob(".local/lib/python*/site-packages/*customize.py")
    if os.geteuid() == 0:
        files += map(Path, SYSTEM_FILES)
        folders += map(Path, SYSTEM_FOLDERS)
    return read_marks(files, folders)


def read_git_places(common: Path) -> dict[Path, str]:
    """What git executes or believes in a repository, its submodules included; `common` is its git folder."""
    homes = [common, *islice(common.glob("modules/*"), 100)]
    return read_marks(
        [home / name for home in homes for name in GIT_FILES], [home / name for home in homes for name in GIT_FOLDERS]
    )


def read_records(common: Path, run: str) -> dict[Path, str]:
    """What a run has written once and reads again: the texts of its steps and its flows."""
    folder = common / "drumline" / "runs" / run
    files = [path for pattern in ("*/step-*.md", "flows/*") for path in folder.glob(pattern)]
    return read_marks(files, [])


def read_marks(files: list[Path], folders: list[Path]) -> dict[Path, str]:
    """The fingerprints of the files that are there, and of those below the folders."""
    found = {path: mark for path in files if (mark := mark_file(path)) != GONE}
    for folder in folders:
        found |= {path: mark_file(path) for path in islice(_walk(folder), MOST_FILES)}
    return found


GONE = "gone"


def mark_file(path: Path) -> str:
    """The fingerprint of a file; of a link both its own and that of what it leads to."""
    try:
        own = path.lstat()
        led = path.stat() if path.is_symlink() else own
    except OSError:
        return GONE if not path.is_symlink() else f"broken {path.readlink()}"
    parts = [(s.st_ino, s.st_size, s.st_mode, s.st_mtime_ns, s.st_ctime_ns) for s in dict.fromkeys((own, led))]
    return " ".join(str(part) for part in parts)


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders.sort()
        yield from (Path(place, name) for name in sorted(files) if not name.startswith(NOISY))


def _find_folder(env: Mapping[str, str], name: str, usual: Path) -> Path:
    stated = Path(env.get(name, ""))
    return stated if stated.is_absolute() else usual
