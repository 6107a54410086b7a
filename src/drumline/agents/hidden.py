"""What a jail does not show: places of sockets, credentials, browser profiles; and what has to stay visible there.

The rule: a place is hidden for what it is for, not for what is in it. `hide` and `folders` of a profile adjust it.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from drumline.ports.processes import Job

SHARED = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108 - nothing is written there: they are replaced
RUNTIME = "XDG_RUNTIME_DIR"
KEPT = ("/run/current-system", "/run/booted-system", "/run/opengl-driver", "/etc/resolv.conf")
"""What stays visible: how NixOS finds its programs, and how names of machines are looked up."""
OWN = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "VIRTUAL_ENV")
SOURCES = Path(__file__).resolve().parents[2]

CREDENTIALS = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".kube",
    ".docker/config.json",
)


def find_areas() -> list[Path]:
    """Folders that a jail has of its own: those for temporary files and for sockets."""
    runtime = os.environ.get(RUNTIME, "")
    found = [Path(place) for place in (*SHARED, tempfile.gettempdir(), runtime) if place]
    real = dict.fromkeys(Path(os.path.realpath(place)) for place in found)
    home = Path.home()
    return [place for place in real if str(place) in SHARED or not home.is_relative_to(place)]


def find_needed(job: Job) -> Iterator[Path]:
    """What a program finds even where an area lies over it: itself, its home, what its words and variables name."""
    environ = _choose(os.environ, job.keep) | dict(job.env)
    named = [*KEPT, *(environ[name] for name in OWN if environ.get(name)), *environ.get("PATH", "").split(os.pathsep)]
    named += [str(SOURCES), sys.prefix, sys.base_prefix, *job.argv, *environ.values()]
    for text in dict.fromkeys(named):
        path = Path(text) if text.startswith("/") and "\0" not in text else None
        if path is not None and _is_plain(path):
            yield path
    program = Path(job.argv[0])
    if program.is_absolute():
        yield from (program.parent, Path(os.path.realpath(program)).parent)


def find_hidden(*, keep: Sequence[Path] = ()) -> Iterator[Path]:
    """Credentials of the user, but for those that are kept visible."""
    home = Path.home()
    for name in CREDENTIALS:
        if home / name not in keep:
            yield home / name


def _choose(environ: Mapping[str, str], keep: Sequence[str] | None) -> dict[str, str]:
    if keep is None:
        return dict(environ)
    return {name: value for name, value in environ.items() if any(fnmatchcase(name, kept) for kept in keep)}


def _is_plain(path: Path) -> bool:
    """Whether there is a file or a folder; a socket that a variable names is not lent by that."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(kind) or stat.S_ISREG(kind)
