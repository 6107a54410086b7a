"""Folders that a jailed command can write to while nothing of it stays: an overlay of the kernel's over each.

The rule: it is tried, not looked for. Bubblewrap can make overlays from version 0.11 on; here `unshare` and `mount` do
it before bubblewrap starts, in a namespace that goes with the command, so that older ones can have them, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from drumline.isolation.transcripts import OWN
from drumline.record import Record

TRIAL = 10.0
MOUNTS = Path("/proc/self/mountinfo")
UPPER, WORK, SHOWN = "upper", "work", "shown"
UNFIT = frozenset(",:\\\n")
"""What the options of a mount cannot say in a path."""
# Else a disk that is busy is waited for when the command has ended; what is lost then was to be lost.
OPTIONS = "volatile,lowerdir=$1,upperdir=$2/upper,workdir=$2/work"
SCRIPT = (
    'while [ "$1" != -- ]; do mount -t overlay drumline -o "{options}" "$2/shown" || exit 125; shift 2; done; '
    'shift; exec "$@"'
)


class Way(Record):
    """How overlays are made here: words before the command, and words for bubblewrap."""

    words: tuple[str, ...]
    options: str
    users: tuple[str, ...] = ()

    def lead(self, layers: Mapping[Path, Path], argv: Sequence[str]) -> list[str]:
        """The command behind what makes the layers, each for a folder and with a place of its own."""
        pairs = [str(word) for folder, place in layers.items() for word in (folder, place)]
        script = SCRIPT.replace("{options}", self.options)
        return [*self.words, "sh", "-c", script, "sh", *pairs, "--", *argv]


WAYS = (
    Way(words=("unshare", "--mount"), options=OPTIONS),
    Way(
        words=("unshare", "--user", "--map-root-user", "--mount"),
        options=f"userxattr,{OPTIONS}",
        users=("--uid", str(os.geteuid()), "--gid", str(os.getegid())),
    ),
)


def make_layers(folders: Iterable[Path], inside: Path, *, apart: Iterable[Path] = ()) -> dict[Path, Path]:
    """A place below `inside` for the layer of each folder; what is `apart`, or mounted in a folder, gets its own."""
    tops = sorted({Path(os.path.realpath(folder)) for folder in folders})
    tops = [one for one in tops if not any(other in one.parents for other in tops)]
    inner = tuple(f"{str(top).rstrip('/')}/" for top in tops)
    below = [Path(one) for one in _list_mounts() if one.startswith(inner)]
    wanted = dict.fromkeys([*tops, *(Path(os.path.realpath(folder)) for folder in apart), *below])
    layers: dict[Path, Path] = {}
    for number, folder in enumerate(one for one in wanted if _can_be_layered(one)):
        place = inside / str(number)
        for name in (UPPER, WORK, SHOWN):
            (place / name).mkdir(mode=OWN, parents=True)
        layers[folder] = place
    return layers


def _can_be_layered(folder: Path) -> bool:
    return UNFIT.isdisjoint(str(folder)) and folder.parent != folder and folder.is_dir()


@lru_cache(maxsize=1)
def find_way(jail: tuple[str, ...]) -> Way | None:
    """The first way that works before these words of a jail, tried once per process; None if none does.

    It is tried with a folder for temporary files, which is where layers are kept.
    """
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return None
    return next((way for way in WAYS if _works(way, jail)), None)


def _works(way: Way, jail: Sequence[str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="drumline-layer-") as name:
        folder = Path(os.path.realpath(name))
        lower = folder / "lower"
        (lower / "inner").mkdir(parents=True)
        layers = make_layers([lower], folder / "layers")
        shown = next(iter(layers.values())) / SHOWN
        # A folder in place of another needs more than a file does: not every file system below can say so.
        command = ["sh", "-c", 'cd "$1" && rmdir inner && mkdir inner && echo a > b', "sh", str(shown)]
        argv = way.lead(layers, [*jail, "--bind", str(shown), str(shown), *way.users, "--", *command])
        try:
            tried = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=TRIAL, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        works = tried.returncode == 0 and not (lower / "b").exists()
        for left in folder.glob(f"layers/*/{WORK}/{WORK}"):
            left.chmod(OWN)  # the kernel leaves it so that nobody may enter it
    return works


def _list_mounts() -> list[str]:
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    return [fields[4] for fields in (line.split(" ") for line in lines) if len(fields) > 4]
