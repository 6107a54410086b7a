"""A flow with the flows that it calls, checked as one: it reports a mistake in a called flow before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from shlex import quote

from drumline.core.flow.inspection import Surroundings
from drumline.core.flow.model import AgentNode, Flow
from drumline.core.plan import Problem, Severity
from drumline.errors import InvalidFlow
from drumline.flowfiles import FlowReading, check_flow
from drumline.flowfiles.library import find_flow
from drumline.record import Record

LEFT_OUT = ("rag_not_run", "unknown_tool", "unknown_mcp_server")
"""Warnings about what a run goes on without."""


class FlowCheck(Record):
    """Checks flows in the repository at `top`. `describe` tells what a flow in a folder can rely on.

    `agents` are names that lead to an agent, whatever flows there are.
    """

    top: Path
    describe: Callable[[Path], Surroundings]
    agents: Collection[str] = ()

    def check(self, path: Path) -> FlowReading:
        """One flow by itself."""
        return check_flow(path, around=self.describe(path.parent))

    def check_called(self, flow: Flow | None) -> Iterator[FlowReading]:
        """The flows that a flow calls, and those that they call; each file once."""
        waiting = [flow] if flow is not None else []
        seen = {Path(one.path).resolve() for one in waiting}
        for one in waiting:  # grows while it is walked
            for path in self._list_calls(one):
                if path not in seen:
                    seen.add(path)
                    reading = self.check(_shorten(path))
                    waiting += [reading.draft] if reading.draft is not None else []
                    yield reading

    def _list_calls(self, flow: Flow) -> Iterator[Path]:
        for name in dict.fromkeys(node.agent for node in flow.nodes.values() if isinstance(node, AgentNode)):
            found = None
            if name not in self.agents:
                found = find_flow(name, around=Path(flow.path).parent, top=self.top)
            if found is not None:
                yield found.resolve()


def refuse_broken(readings: Iterable[FlowReading]) -> None:
    """InvalidFlow with the problems of the first called flow that cannot be run."""
    for reading in readings:
        lenient = reading.draft is not None and not reading.draft.settings.validate_before_run
        if reading.errors and not lenient:
            where = reading.errors[0].path
            message = f"{where}: the flow is called and cannot be run"
            raise InvalidFlow(message, reading.problems, hint=f"drumline flow validate {quote(where)}")


def list_left_out(readings: Iterable[FlowReading]) -> Sequence[Problem]:
    """What flows name and a run goes on without."""
    problems = (problem for reading in readings for problem in reading.problems)
    return [one for one in problems if one.code in LEFT_OUT and one.severity is Severity.WARNING]


def _shorten(path: Path) -> Path:
    """A path as a person would type it from here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
