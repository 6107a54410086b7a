"""Values of a flow file, each read by the shape its table asks for. What is wrong is kept, and an empty value taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache

from drumline.core.flow.fields import CASE_FIELDS, SETTINGS_FIELDS, VARIABLE_FIELDS, FieldRule, Shape
from drumline.core.flow.model import REDUCERS, Case, FlowSettings, NodeId, Variable
from drumline.core.plan import Problem, Severity
from drumline.flowfiles.tree import Item, plain


class Findings:
    """The problems of one file, in the order they are met."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: list[Problem] = []

    def error(self, line: int, *, code: str, message: str) -> None:
        """Keep something that stops a run."""
        self.problems.append(Problem(code=code, message=message, where=f"{self.path}:{line}"))

    def warn(self, line: int, *, code: str, message: str) -> None:
        """Keep something to think about."""
        where = f"{self.path}:{line}"
        self.problems.append(Problem(code=code, message=message, where=where, severity=Severity.WARNING))


class _Misfit(Exception):
    """A value is not of its shape."""

    def __init__(self, line: int, wanted: str, value: object) -> None:
        super().__init__(wanted)
        self.line = line
        self.wanted = wanted
        self.value = value


def read_fields(item: Item, rules: Sequence[FieldRule], found: Findings, *, of: str) -> dict[str, object]:
    """The values of a mapping's known keys by their names in the model. `of` says whose keys they are."""
    pairs = item.value
    if not isinstance(pairs, dict):
        message = f"{of} must be a mapping, not {_shown(pairs)}; write `key: value` lines"
        found.error(item.line, code="bad_value", message=message)
        return {rule.key: EMPTY[rule.shape] for rule in rules if rule.required}
    values: dict[str, object] = {}
    for rule in rules:
        got = pairs.get(rule.name)
        if got is not None and got.value is not None:
            values[rule.key] = _read(got, rule, found, of=of)
        elif rule.required:
            values[rule.key] = EMPTY[rule.shape]
            message = f"{of} lacks `{rule.name}`; add {rule.shape.value}: {rule.about}"
            found.error(item.line, code="missing_field", message=message)
    return {key: value for key, value in values.items() if value is not None}


def warn_of_misspellings(item: Item, known: Sequence[str], found: Findings, *, of: str) -> None:
    """Unknown keys are ignored, as the format wants it; but one that looks like a known key is told."""
    pairs = item.value if isinstance(item.value, dict) else {}
    for key, value in pairs.items():
        meant = "" if key in known else closest(key, tuple(name for name in known if name not in pairs))
        if meant:
            message = f"{of} has the unknown key {key!r}, which is ignored; did you mean {meant!r}?"
            found.warn(value.line, code="misspelt_key", message=message)


@lru_cache(maxsize=1024)
def closest(word: str, known: tuple[str, ...]) -> str:
    """The known word that another one looks like; "" if none does."""
    return next(iter(get_close_matches(word, known, n=1, cutoff=0.8)), "")


def _read(item: Item, rule: FieldRule, found: Findings, *, of: str) -> object:
    try:
        value = _READERS[rule.shape](item, found, f"`{rule.name}` of {of}")
        if rule.choices and value not in rule.choices:
            raise _Misfit(item.line, f"one of {', '.join(rule.choices)}", value)
    except _Misfit as misfit:
        message = f"`{rule.name}` of {of} must be {misfit.wanted}, not {_shown(misfit.value)}; {_advise(misfit)}"
        found.error(misfit.line, code="bad_value", message=message)
        return EMPTY[rule.shape] if rule.required else None
    return value


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    text = repr(value)
    return {"True": "true", "False": "false"}.get(text, text if len(text) <= 60 else text[:59] + "…")


def _advise(misfit: _Misfit) -> str:
    if "text" in misfit.wanted and isinstance(misfit.value, int | float):
        return "put it in quotes"
    if misfit.wanted == Shape.TEXTS.value and isinstance(misfit.value, str):
        return f"write [{_shown(misfit.value)}]"
    return "change it" if misfit.value is not None else "fill it in, or remove the key"


def _text(item: Item, _found: Findings, _of: str) -> str:
    if not isinstance(item.value, str):
        raise _Misfit(item.line, Shape.TEXT.value, item.value)
    return item.value


def _texts(item: Item, found: Findings, of: str) -> tuple[str, ...]:
    if not isinstance(item.value, list):
        raise _Misfit(item.line, Shape.TEXTS.value, item.value)
    return tuple(_text(part, found, of) for part in item.value)


def _flag(item: Item, _found: Findings, _of: str) -> bool:
    if not isinstance(item.value, bool):
        raise _Misfit(item.line, Shape.FLAG.value, item.value)
    return item.value


def _count(item: Item, _found: Findings, _of: str) -> int:
    if isinstance(item.value, bool) or not isinstance(item.value, int) or item.value < 0:
        raise _Misfit(item.line, Shape.COUNT.value, item.value)
    return item.value


def _number(item: Item, _found: Findings, _of: str) -> float:
    if isinstance(item.value, bool) or not isinstance(item.value, int | float):
        raise _Misfit(item.line, Shape.NUMBER.value, item.value)
    return float(item.value)


def _seconds(item: Item, found: Findings, of: str) -> float:
    if _number(item, found, of) <= 0:
        raise _Misfit(item.line, Shape.SECONDS.value, item.value)
    return _number(item, found, of)


def _node(item: Item, _found: Findings, _of: str) -> NodeId:
    if not isinstance(item.value, str) or not item.value:
        raise _Misfit(item.line, f"{Shape.NODE.value} as a text", item.value)
    return NodeId(item.value)


def _nodes(item: Item, found: Findings, of: str) -> tuple[NodeId, ...]:
    if isinstance(item.value, list):
        return tuple(_node(part, found, of) for part in item.value)
    return (_node(item, found, of),)


def _mapping(item: Item, wanted: Shape) -> dict[str, Item]:
    if not isinstance(item.value, dict):
        raise _Misfit(item.line, wanted.value, item.value)
    return item.value


def _targets(item: Item, found: Findings, of: str) -> Mapping[str, NodeId]:
    return {key: _node(value, found, of) for key, value in _mapping(item, Shape.TARGETS).items()}


def _templates(item: Item, found: Findings, of: str) -> Mapping[str, str]:
    return {key: _text(value, found, of) for key, value in _mapping(item, Shape.TEMPLATES).items()}


def _values(item: Item, _found: Findings, _of: str) -> object:
    _mapping(item, Shape.VALUES)
    return plain(item)


def _any(item: Item, _found: Findings, _of: str) -> object:
    return plain(item)


def _reducers(item: Item, _found: Findings, _of: str) -> Mapping[str, str]:
    read: dict[str, str] = {}
    for key, value in _mapping(item, Shape.REDUCERS).items():
        if not isinstance(value.value, str) or value.value not in REDUCERS:
            raise _Misfit(value.line, f"a reducer for {key!r} ({', '.join(REDUCERS)})", value.value)
        read[key] = value.value
    return read


def _settings(item: Item, found: Findings, _of: str) -> FlowSettings:
    warn_of_misspellings(item, [rule.name for rule in SETTINGS_FIELDS], found, of="`settings`")
    make: Callable[..., FlowSettings] = FlowSettings
    return make(**read_fields(item, SETTINGS_FIELDS, found, of="`settings`"))


def _variables(item: Item, found: Findings, of: str) -> tuple[Variable, ...]:
    if not isinstance(item.value, list):
        raise _Misfit(item.line, Shape.VARIABLES.value, item.value)
    make: Callable[..., Variable] = Variable
    return tuple(make(**read_fields(part, VARIABLE_FIELDS, found, of=f"a variable in {of}")) for part in item.value)


def _cases(item: Item, found: Findings, of: str) -> tuple[Case, ...]:
    if not isinstance(item.value, list):
        raise _Misfit(item.line, Shape.CASES.value, item.value)
    make: Callable[..., Case] = Case
    return tuple(make(**read_fields(part, CASE_FIELDS, found, of=f"a case in {of}")) for part in item.value)


def _pass_on(item: Item, _found: Findings, _of: str) -> object:
    return item


EMPTY: Mapping[Shape, object] = {
    **dict.fromkeys(Shape, None),
    Shape.TEXT: "",
    Shape.TEXTS: (),
    Shape.NODE: NodeId(""),
    Shape.TARGETS: {},
    Shape.VALUES: {},
    Shape.CASES: (),
}
"""What stands in for a required value that cannot be read, so that the rest of the flow can still be looked at."""

_READERS: Mapping[Shape, Callable[[Item, Findings, str], object]] = {
    Shape.TEXT: _text,
    Shape.TEXTS: _texts,
    Shape.FLAG: _flag,
    Shape.COUNT: _count,
    Shape.NUMBER: _number,
    Shape.SECONDS: _seconds,
    Shape.NODE: _node,
    Shape.NODES: _nodes,
    Shape.TARGETS: _targets,
    Shape.TEMPLATES: _templates,
    Shape.VALUES: _values,
    Shape.ANY: _any,
    Shape.CASES: _cases,
    Shape.VARIABLES: _variables,
    Shape.REDUCERS: _reducers,
    Shape.SETTINGS: _settings,
    Shape.NODE_MAP: _pass_on,
}
