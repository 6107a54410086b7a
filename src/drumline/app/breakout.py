"""Whether the jail of this machine holds: a program inside tries to break out, and it reports what came of it.

The rule: it is held exactly like an agent, by the same supervisor and the same jail.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType

import anyio

from drumline.agents import probe
from drumline.agents.jail import Jail
from drumline.core.ids import DriverId
from drumline.ports.jail import Bounds
from drumline.ports.processes import HARMLESS, Job
from drumline.processes.supervised import SupervisedProcesses
from drumline.record import Record, replace

PATIENCE = 30.0
ATTEMPTS: Mapping[str, str] = MappingProxyType(
    {
        "remount": "mount the root of the machine writable",
        "write": "write outside its workspace",
        "socket": "connect to a socket of another program",
        "abstract-socket": "connect to an abstract socket of another program",
        "signal": "signal a process outside",
        "hidden-file": "read a hidden file",
        "keys": "ask the kernel for the keys of the session",
        "namespace": "make a user namespace",
    }
)
"""What is tried, in the words of a person."""


class Attempt(Record):
    """One way out: what was tried, whether it was refused, and the word for that."""

    name: str
    tried: str
    held: bool
    answer: str


def try_breaking_out(jail: Jail) -> list[Attempt]:
    """Every way out that is tried; an answer that is missing counts as one that did not hold."""
    with tempfile.TemporaryDirectory(prefix="drumline-doctor-") as place, _set_up(Path(place).resolve()) as aims:
        answers = anyio.run(_probe, jail, Path(place).resolve(), aims)
    return [_describe(name, answers.get(name, probe.OPEN)) for name in ATTEMPTS]


def _describe(name: str, answer: str) -> Attempt:
    return Attempt(name=name, tried=ATTEMPTS[name], held=answer != probe.OPEN, answer=answer)


@contextmanager
def _set_up(folder: Path) -> Iterator[dict[str, str]]:
    """What a program in the jail aims at: a folder, a file, sockets, and this very process."""
    outside, work = folder / "outside", folder / "work"
    for made in (outside, work):
        made.mkdir()
    hidden = outside / "hidden"
    hidden.write_text("to be seen by nobody\n")
    abstract = f"drumline-{uuid.uuid4().hex}"
    plain = folder / "socket"
    with closing(socket.socket(socket.AF_UNIX)) as one, closing(socket.socket(socket.AF_UNIX)) as other:
        for server, name in ((one, str(plain)), (other, f"\0{abstract}")):
            server.bind(name)
            server.listen()
        yield {
            "folder": str(outside),
            "hidden": str(hidden),
            "socket": str(plain),
            "abstract": f"@{abstract}",
            "pid": str(os.getpid()),
        }


async def _probe(jail: Jail, folder: Path, aims: Mapping[str, str]) -> dict[str, str]:
    """What the program in the jail says; nothing if it could not be run."""
    job = Job(
        argv=[sys.executable, "-I", "-S", str(Path(probe.__file__)), json.dumps(dict(aims))],
        cwd=folder / "work",
        log=folder / "probe.log",
        printed=folder / "probe.json",
        keep=HARMLESS,
        timeout=PATIENCE,
    )
    # The folder outside is shown: what refuses to write there, or hides a file in it, is the jail and not its absence.
    bounds = Bounds(writable=[folder / "work"], readable=[folder / "outside"])
    wrapped = replace(jail, hide=(*jail.hide, aims["hidden"])).wrap(job, bounds)
    processes = SupervisedProcesses(folder / "driver", DriverId(f"doctor-{uuid.uuid4().hex[:8]}"))
    await processes.run(wrapped)
    try:
        said = json.loads((folder / "probe.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(answer) for name, answer in said.items()} if isinstance(said, dict) else {}
