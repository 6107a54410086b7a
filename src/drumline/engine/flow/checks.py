"""Check nodes: the engine runs commands and judges by their exit codes. A command that cannot run has not passed."""

from __future__ import annotations

import time
from collections.abc import Mapping

from drumline.core.flow.model import CheckNode, Json
from drumline.core.flow.outcome import Outcome
from drumline.engine.flow.visit import Visit
from drumline.ports.processes import Ended, Job, Processes

MOST_OUTPUT = 8_000
NOT_FOUND = 127


async def run_checks(
    node: CheckNode, visit: Visit, processes: Processes, *, commands: Mapping[str, str] | None = None
) -> Outcome:
    """Run the checks in order; the first that does not pass ends it, and the others are reported as not run.

    A check is a command, or the name of one in `commands`.
    """
    results: list[Json] = []
    passed = True
    began = time.monotonic()
    for number, name in enumerate(node.checks, 1):
        command = (commands or {}).get(name, name)
        if not passed:
            results.append({"check": name, "command": command, "state": "not run", "exit_code": None, "output": ""})
            continue
        job = Job(
            argv=["bash", "-c", command],
            cwd=visit.folder,
            log=visit.log(f"check-{number}"),
            timeout=None if visit.timeout is None else max(0.1, visit.timeout - (time.monotonic() - began)),
        )
        ended = await processes.run(job)
        state = _judge(ended)
        passed = state == "passed"
        results.append({"check": name, **_describe(command, state, ended)})
    failed = next((result for result in results if isinstance(result, dict) and result["state"] != "passed"), None)
    said = {"passed": passed, "results": results, "failed": failed["check"] if failed else None}
    return Outcome(output={**said, "output": failed["output"] if failed else ""})


def _judge(ended: Ended) -> str:
    if (ended.exit_code is None and not ended.timed_out) or ended.exit_code == NOT_FOUND:
        return "not run"
    return "passed" if ended.exit_code == 0 and not ended.timed_out else "failed"


def _describe(command: str, state: str, ended: Ended) -> dict[str, Json]:
    output = ended.output or ended.message
    if ended.timed_out:
        output += "\n(stopped: it took too long)"
    return {
        "command": command,
        "state": state,
        "exit_code": 124 if ended.timed_out else ended.exit_code,
        "output": output[-MOST_OUTPUT:],
    }
