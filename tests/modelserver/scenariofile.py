"""Scenarios written in YAML, for use without Python. All problems of a file are told at once.

- name: hello
  when: HELLO            # in prompts that contain this; any prompt without it
  turns:
    - text: I begin.
      calls:
        - write: {path: hello.txt, content: "hello\\n"}
        - run: cat hello.txt
        - read: hello.txt
        - use: {tool: mcp__tracker__close, arguments: {id: 7}}
    - refuse: {status: 429, retry_after: 1, times: 1}     # or cut: {times: 1}, or hang: {seconds: 5}
      filler: 100000     # that many characters after the text
      usage: {sent: 300, received: 40, cached: 200}
      pause: 0.5
    - answer: {verdict: ok}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from tests.modelserver.conversation import Usage, as_list, as_map
from tests.modelserver.scenario import (
    Answer,
    Cut,
    Fault,
    Hang,
    Intent,
    Read,
    Refuse,
    Run,
    Scenario,
    Turn,
    Use,
    Write,
)

from drumline.core.flow.model import Json
from drumline.errors import InvalidInput

Record = TypeVar("Record")

INTENTS: Mapping[str, tuple[Callable[..., Intent], str]] = {
    "write": (Write, ""),
    "read": (Read, "path"),
    "run": (Run, "command"),
    "use": (Use, "tool"),
}
FAULTS: Mapping[str, Callable[..., Fault]] = {"refuse": Refuse, "cut": Cut, "hang": Hang}
TURN_KEYS = frozenset({"text", "filler", "calls", "answer", "pause", "usage", *FAULTS})


def read_scenarios(text: str) -> tuple[Scenario, ...]:
    """The scenarios in a YAML text."""
    import yaml

    try:
        listed = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInput(f"the scenarios are not YAML: {error}") from error
    problems: list[str] = []
    found = tuple(_read_scenario(as_map(item), f"scenario {n}", problems) for n, item in enumerate(as_list(listed), 1))
    if not found:
        problems.append("a list of scenarios was expected, each with turns")
    if problems:
        raise InvalidInput("the scenarios cannot be played:\n" + "\n".join(f"  {problem}" for problem in problems))
    return found


def _read_scenario(fields: Mapping[str, Json], place: str, problems: list[str]) -> Scenario:
    _refuse_unknown(fields, {"name", "when", "turns"}, place, problems)
    listed = as_list(fields.get("turns"))
    turns = tuple(_read_turn(as_map(item), f"{place}, turn {n}", problems) for n, item in enumerate(listed, 1))
    if not turns:
        problems.append(f"{place}: it has no turns")
    return Scenario(name=str(fields.get("name", "")), when=str(fields.get("when", "")), turns=turns)


def _read_turn(fields: Mapping[str, Json], place: str, problems: list[str]) -> Turn:
    _refuse_unknown(fields, TURN_KEYS, place, problems)
    faults = [_build(kind, as_map(fields[name]), place, problems) for name, kind in FAULTS.items() if name in fields]
    calls = [_read_call(as_map(item), place, problems) for item in as_list(fields.get("calls"))]
    values: dict[str, object] = {
        "text": str(fields.get("text", "")) + "x" * int(_read_number(fields, "filler", place, problems)),
        "calls": tuple(call for call in calls if call is not None),
        "answer": Answer(value=fields["answer"]) if "answer" in fields else None,
        "fault": next(iter(faults), None),
        "pause": _read_number(fields, "pause", place, problems),
        "usage": _build(Usage, as_map(fields.get("usage")), place, problems) or Usage(),
    }
    return _build(Turn, values, place, problems) or Turn()


def _read_call(fields: Mapping[str, Json], place: str, problems: list[str]) -> Intent | None:
    if len(fields) != 1 or not INTENTS.keys() >= fields.keys():
        problems.append(f"{place}: a call is one of {', '.join(INTENTS)}, not {dict(fields)!r}")
        return None
    [(name, given)] = fields.items()
    kind, short = INTENTS[name]
    values = {short: given} if short and isinstance(given, str) else as_map(given)
    return _build(kind, values, f"{place}, {name}", problems)


def _read_number(fields: Mapping[str, Json], name: str, place: str, problems: list[str]) -> float:
    given = fields.get(name, 0)
    if isinstance(given, (int, float)) and given >= 0:
        return given
    problems.append(f"{place}: {name} is a number from 0 on, not {given!r}")
    return 0


def _build(kind: Callable[..., Record], values: Mapping[str, object], place: str, problems: list[str]) -> Record | None:
    try:
        return kind(**values)
    except TypeError as error:
        problems.append(f"{place}: {str(error).replace('.__init__()', '')}")
        return None


def _refuse_unknown(
    fields: Mapping[str, Json], known: frozenset[str] | set[str], place: str, problems: list[str]
) -> None:
    if unknown := sorted(fields.keys() - known):
        problems.append(f"{place}: nothing is called {', '.join(unknown)} (there are {', '.join(sorted(known))})")
