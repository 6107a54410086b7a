"""Runs one command in a jail, as the user whom this process has, and prints how it ended. For tests, as a program.

It reads a JSON object from stdin: `argv`, `folder` (its `work` is the workspace), `bounds` for `Bounds` and `Grant`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from tests.supervision import supervise

from drumline.agents.jail import find_jail, tighten
from drumline.ports.jail import Bounds
from drumline.ports.processes import HARMLESS, Job
from drumline.profiles import Grant


def run_trial(argv: Sequence[str], folder: Path, bounds: Mapping[str, Any]) -> Mapping[str, Any]:
    """How the command ended, with what it printed."""
    jail = find_jail()
    if jail is None:
        return {"skip": "bubblewrap does not work here for this user"}
    log = folder / "trial.log"
    job = Job(argv=argv, cwd=folder / "work", log=log, keep=HARMLESS, timeout=60)
    held = Bounds(
        writable=[folder / "work", *map(Path, bounds.get("writable", ()))],
        sealed=[*map(Path, bounds.get("sealed", ()))],
        places={Path(place): Path(source) for place, source in bounds.get("places", {}).items()},
        readable=[*map(Path, bounds.get("readable", ()))],
    )
    jail = tighten(jail, Grant(hide=tuple(bounds.get("hide", ())), network=bounds.get("network", True))) or jail
    ended = anyio.run(supervise(folder).run, jail.wrap(job, held))
    return {"code": ended.exit_code, "output": ended.output, "message": ended.message}


if __name__ == "__main__":
    request = json.load(sys.stdin)
    print(json.dumps(run_trial(request["argv"], Path(request["folder"]), request["bounds"])))
