"""Chunks of a JSON plan as steps. Every finding has its line; what can be read is read in spite of what cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Problem, Severity, Step
from drumline.core.routing import MODELS
from drumline.core.validation import normal_path
from drumline.planfiles.document import Parsed
from drumline.planfiles.jsonfile import JsonFile, Place, encodable
from drumline.planfiles.preamble import read_preamble
from drumline.planfiles.source import digest
from drumline.planfiles.waves_fields import CHUNK_FIELDS, PLAN_FIELDS, FieldRule
from drumline.record import Record


def read_chunks(source: JsonFile, path: str) -> Parsed:
    """The plan in this JSON value and everything that is wrong with it."""
    return _Reader(source, path).read()


class _Chunk(Record):
    """One chunk with its place in the file and the ids it needs."""

    value: Mapping[str, object]
    place: Place
    needs: tuple[StepId, ...]
    ordered: bool


class _Reader:
    """Turns the JSON value into steps, noting what does not fit and where."""

    def __init__(self, source: JsonFile, path: str) -> None:
        self._source = source
        self._path = path
        self._problems = list(source.problems)

    def read(self) -> Parsed:
        """The plan, as far as it could be read."""
        value = self._source.value
        if not isinstance(value, dict):
            self._refuse("bad_value", "the file must hold an object with 'waves'")
            return Parsed(problems=tuple(self._problems))
        self._check_fields(value, PLAN_FIELDS, ())
        chunks = list(self._chunks(value.get("waves")))
        steps = [self._step(chunk) for chunk in chunks]
        marks = {step.id: Marks() for step in steps}
        texts = _Texts(value, {_id(chunk.value): chunk for chunk in reversed(chunks)})
        title = encodable(_text(value, "description")).strip().partition("\n")[0]
        return Parsed(
            steps=tuple(steps),
            marks=marks,
            texts=texts,
            problems=tuple(self._problems),
            title=" ".join(title.split()),
            preamble=_tell_plan(value),
        )

    def _chunks(self, waves: object) -> Iterator[_Chunk]:
        if not isinstance(waves, list):
            return
        if not waves:
            self._refuse("no_waves", "'waves' is empty: there is nothing to do", "waves")
        before: tuple[StepId, ...] = ()
        for number, wave in enumerate(waves):
            if not isinstance(wave, list):
                self._refuse("bad_value", "a wave must be a list of chunks", "waves", number)
                continue
            if not wave:
                self._warn("empty_wave", "the wave has no chunks; it is passed over", "waves", number)
                continue
            found = list(self._wave(wave, number, before))
            yield from found
            before = _front(found, before)

    def _wave(self, wave: list[object], number: int, before: tuple[StepId, ...]) -> Iterator[_Chunk]:
        for index, value in enumerate(wave):
            place = ("waves", number, index)
            if not isinstance(value, dict):
                self._refuse("bad_value", "a chunk must be an object with 'id' and 'scope'", *place)
                continue
            self._check_fields(value, CHUNK_FIELDS, place)
            if _id(value):
                listed = tuple(StepId(encodable(need)) for need in _texts(value, "dependsOn"))
                ordered = "dependsOn" not in value
                yield _Chunk(value=value, place=place, needs=before if ordered else listed, ordered=ordered)

    def _check_fields(self, value: Mapping[str, object], fields: Sequence[FieldRule], place: Place) -> None:
        rules = {rule.name: rule for rule in fields}
        for name in value:
            if name not in rules:
                self._warn("unknown_key", f"the key {name[:80]!r} is not known here and is ignored", *place, name)
        for rule in fields:
            found = value.get(rule.name)
            if rule.name not in value and rule.required:
                self._refuse("missing_key", f"the key {rule.name!r} is missing: {rule.about}", *place)
            elif rule.name in value and not rule.kind.fits(found):
                self._refuse("bad_value", f"{rule.name!r} must be {rule.kind.value}", *place, rule.name)
            elif rule.required and isinstance(found, str) and not found.strip():
                self._refuse("bad_value", f"{rule.name!r} is empty", *place, rule.name)

    def _step(self, chunk: _Chunk) -> Step:
        value = chunk.value
        step_id = _id(value)
        scope = encodable(_text(value, "scope")).strip()
        canonical = json.dumps([value, chunk.needs], sort_keys=True)
        return Step(
            id=step_id,
            title=" ".join(scope.partition("\n")[0].split()) or step_id,
            needs=chunk.needs,
            ordered=chunk.ordered,
            files=tuple(normal_path(path) or path for path in map(encodable, _texts(value, "files"))),
            checks=tuple(
                Check(command=command) for command in map(encodable, _texts(value, "checks")) if command.strip()
            ),
            tier=self._tier(chunk),
            review="strong" if value.get("opusReview") is True else "",
            tests=self._has_tests(value),
            path=self._path,
            line=self._source.line(*chunk.place),
            text_digest=digest(canonical.encode()),
        )

    def _has_tests(self, value: Mapping[str, object]) -> bool:
        """Whether tests are part of a chunk: it says so, or says what they cover in a plan that requires them."""
        plan = self._source.value
        wanted = isinstance(plan, dict) and plan.get("testsRequired") is True
        required = wanted and bool(_text(value, "testScope").strip())
        return value.get("tests") is True or (required and value.get("tests") is not False)

    def _tier(self, chunk: _Chunk) -> str:
        model = chunk.value.get("model")
        if isinstance(model, str) and model.strip().casefold() in MODELS:
            return MODELS[model.strip().casefold()]
        if model is None or isinstance(model, str):
            said = f"the model {model[:80]!r} is not one of {', '.join(MODELS)}" if model else "names no model"
            self._warn("unknown_model", f"{said}; the tier 'standard' is used", *chunk.place, "model")
        return "standard"

    def _refuse(self, code: str, message: str, *place: str | int) -> None:
        self._problems.append(Problem(code=code, message=message, where=f"{self._path}:{self._source.line(*place)}"))

    def _warn(self, code: str, message: str, *place: str | int) -> None:
        where = f"{self._path}:{self._source.line(*place)}"
        self._problems.append(Problem(code=code, message=message, where=where, severity=Severity.WARNING))


def _front(wave: Sequence[_Chunk], before: tuple[StepId, ...]) -> tuple[StepId, ...]:
    """What the next wave waits for: this wave, and what of the waves before it no chunk of this one needs."""
    needed = {need for chunk in wave for need in chunk.needs}
    return (*(_id(chunk.value) for chunk in wave), *(step for step in before if step not in needed))


@dataclass(frozen=True, slots=True)
class _Texts(Mapping[StepId, str]):
    """What a chunk's prompt shows of it: its scope, its tests and the files it owns. Made when asked for."""

    plan: Mapping[str, object]
    chunks: Mapping[StepId, _Chunk] = field(default_factory=dict)

    def __getitem__(self, step: StepId) -> str:
        value = self.chunks[step].value
        files = "\n".join(f"- {path}" for path in _texts(value, "files"))
        checks = "\n".join(f"- `{command}`" for command in _texts(value, "checks"))
        parts = [
            f"# {step}: {_text(value, 'scope')}",
            f"## Files\n\n{files}" if files else "",
            f"## Checks\n\n{checks}" if checks else "",
            f"## Tests\n\n{_tests(self.plan, value)}" if _tests(self.plan, value) else "",
        ]
        return encodable("\n\n".join(part for part in parts if part) + "\n")

    def __iter__(self) -> Iterator[StepId]:
        return iter(self.chunks)

    def __len__(self) -> int:
        return len(self.chunks)


def _tell_plan(plan: Mapping[str, object]) -> str:
    """What the file says of the plan as a whole, as far as the budget of prompts goes."""
    said = [f"## {key.capitalize()}\n\n{_text(plan, key)}\n" for key in ("description", "plan") if _text(plan, key)]
    return read_preamble(encodable("\n".join(said)))


def _tests(plan: Mapping[str, object], chunk: Mapping[str, object]) -> str:
    said = _text(chunk, "testScope")
    if chunk.get("tests") is True:
        return f"Tests belong to this chunk. {said}".strip()
    return said if plan.get("testsRequired") is True else ""


def _id(value: Mapping[str, object]) -> StepId:
    return StepId(encodable(_text(value, "id")).strip())


def _text(value: Mapping[str, object], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _texts(value: Mapping[str, object], key: str) -> list[str]:
    found = value.get(key)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
