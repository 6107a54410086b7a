"""What a check was judged with, as digests: the files that judge, the environment, and what the check printed.

The rule: the same judge in the same environment has the same digests, in whichever workspace it is.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from drumline.core.judge import configures
from drumline.core.recipes import name_sources
from drumline.core.shellwords import find_scripts, split_command
from drumline.engine.reporters import PROGRAMS
from drumline.ports.processes import Job

SIZE = 16
"""Letters of a digest."""
SEEN = ("PATH", "LANG", "LC_ALL", "TZ", "VIRTUAL_ENV", "NODE_PATH", "CI")
"""Variables that decide which programs a check finds, and how they behave."""
MOST_BYTES = 4_000_000
CHUNK = 1_000_000


def digest_log(log: Path) -> str:
    """The digest of what a check printed; empty if there is nothing to read."""
    found = hashlib.sha256()
    with suppress(OSError), log.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            found.update(chunk)
        return found.hexdigest()[:SIZE]
    return ""


def digest_environment(job: Job, *, held: bool | None = None) -> str:
    """The digest of the machine and of what leads a check to its programs; whether it is `held`, its job tells else."""
    jailed = job.argv[0] != "bash" if held is None else held
    seen = {name: job.env.get(name, "" if name in job.unset else os.environ.get(name, "")) for name in SEEN}
    seen["PATH"] = os.pathsep.join(one for one in seen["PATH"].split(os.pathsep) if not one.endswith(f"/{PROGRAMS}"))
    told = [platform.system(), platform.release(), platform.machine(), "held" if jailed else "free"]
    return _digest([*told, *(f"{name}={value}" for name, value in seen.items())])


def digest_judge(folder: Path, command: str, tests: Iterable[str]) -> str:
    """The digest of the files that decide: those of its tests, its scripts and targets, the configuration of runners.

    `tests` are ids. Empty if no such file is known, so that the command alone decides.
    """
    told = []
    for path in sorted({*_list_judging(folder, command, tests)}):
        place = folder / path
        with suppress(OSError):
            if place.is_file() and place.stat().st_size <= MOST_BYTES:
                told.append(f"{path}\0{hashlib.sha256(place.read_bytes()).hexdigest()}")
    return _digest(told) if told else ""


def _list_judging(folder: Path, command: str, tests: Iterable[str]) -> Iterator[str]:
    for part in split_command(command):
        yield from (script for script in find_scripts(part.words) if _is_inside(script))
    yield from name_sources([command])
    folders = {""}
    for name in {test.partition("::")[0] for test in tests}:
        if path := find_test_file(folder, name):
            yield path
            folders |= {"" if str(above) == "." else str(above) for above in PurePosixPath(path).parents}
    for above in folders:
        with suppress(OSError):
            names = [entry.name for entry in (folder / above).iterdir()]
            yield from (str(PurePosixPath(above, name)) for name in names if configures(name))


def find_test_file(folder: Path, name: str) -> str:
    """The file that the id of a test begins with, by its path or as a module; empty if there is none."""
    parts = name.split(".")
    modules = ("/".join(parts[:end]) + ".py" for end in range(len(parts), 0, -1))
    return next((path for path in (name, *modules) if _is_inside(path) and (folder / path).is_file()), "")


def _is_inside(path: str) -> bool:
    return bool(path) and not path.startswith("/") and ".." not in PurePosixPath(path).parts


def _digest(told: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(told).encode("utf-8", "surrogateescape")).hexdigest()[:SIZE]
