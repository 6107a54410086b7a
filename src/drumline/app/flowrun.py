"""Begins a run that walks one flow: everything it depends on is pinned before anything is done."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from drumline.app.begin import Terms
from drumline.core.events import FlowPinned, RunStarted
from drumline.core.flow.model import Flow
from drumline.core.flow.values import render
from drumline.core.ids import Commit, RunId, Stream
from drumline.errors import InvalidInput
from drumline.ports.journal import Addition, Journal
from drumline.record import Record, asdict, field

VARIABLE = "LLM_AGENT_VAR_"
"""What the names of environment variables begin with that give a flow's variables their values."""


class Order(Record):
    """What a person asked for: which flow, where, with what, and on which terms."""

    run: RunId
    flow: Flow
    terms: Terms
    folder: Path
    place: str
    base: Commit
    prompt: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    worktree: bool = False


async def begin_flow_run(store: Journal, order: Order) -> None:
    """Record the beginning; nothing else has happened yet when this returns. `place` names the flow in lists."""
    flow = order.flow
    started = RunStarted(
        plan=order.place,
        plan_name=flow.name,
        plan_digest=flow.digest,
        branch=f"drumline/{name_branch(flow.name)}-{order.run}" if order.worktree else "",
        base=order.base,
        **asdict(order.terms),
    )
    pinned = FlowPinned(
        flow=flow.name,
        path=flow.path,
        digest=flow.digest,
        folder=str(order.folder),
        prompt=order.prompt,
        variables=order.variables,
        agent=order.terms.agent,
        model=order.model,
        worktree=order.worktree,
    )
    await store.append({Stream(order.run): Addition(events=[started, pinned], expected=0)})


def name_branch(name: str) -> str:
    """A flow's name as it can stand in the name of a branch."""
    return re.sub(r"[^\w-]+", "-", name, flags=re.ASCII).strip("-") or "flow"


def gather_variables(flow: Flow, given: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables by name: what was given as `name=value`, else the environment, else the flow's default.

    All of the environment's count, for a called flow may have further ones. InvalidInput names those without a value.
    """
    ambient = {name.removeprefix(VARIABLE).lower(): value for name, value in environ.items() if _is_variable(name)}
    typed = dict(_split(pair) for pair in given)
    known = {variable.name for variable in flow.variables}
    unknown = sorted(typed.keys() - known)
    if unknown and known:
        legal = ", ".join(sorted(known))
        raise InvalidInput(
            f"the flow has no variable {unknown[0]!r} (it has {legal})",
            hint=f"drumline flow validate {quote(flow.path)}",
        )
    values = dict(ambient) | typed
    for variable in flow.variables:
        if variable.name not in values:
            found = ambient.get(variable.name.lower())
            values[variable.name] = found if found is not None else _default(flow, variable.name)
    return values


def _default(flow: Flow, name: str) -> str:
    default = next(variable.default for variable in flow.variables if variable.name == name)
    if default is None:
        raise InvalidInput(
            f"the variable {name!r} has no value and no default",
            hint=f"drumline flow run {quote(flow.path)} --var {name}=…",
        )
    return render(default)


def _is_variable(name: str) -> bool:
    return name.startswith(VARIABLE) and len(name) > len(VARIABLE)


def _split(pair: str) -> tuple[str, str]:
    name, sign, value = pair.partition("=")
    if not sign or not name.strip():
        raise InvalidInput(f"{pair!r} is not a variable (legal: name=value)", hint="drumline flow run --help")
    return name.strip(), value
