"""The fields of the chunk JSON as a table: the reader, the schema for editors and their messages all come from it."""

from __future__ import annotations

from enum import Enum

from drumline.record import Record


class Kind(Enum):
    """What a value must be."""

    TEXT = "a text"
    FLAG = "true or false"
    TEXTS = "a list of texts"
    WAVES = "a list of waves, each a list of chunks"

    def fits(self, value: object) -> bool:
        """Whether the value is of this kind, as far as it can be told without looking into it."""
        if self is Kind.TEXT:
            return isinstance(value, str)
        if self is Kind.FLAG:
            return isinstance(value, bool)
        if self is Kind.TEXTS:
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        return isinstance(value, list)


class FieldRule(Record):
    """One key: what it must be, whether it may be missing, and what it is for."""

    name: str
    kind: Kind
    about: str
    required: bool = False


PLAN_FIELDS = (
    FieldRule(name="description", kind=Kind.TEXT, about="What is to be built; its first line is the plan's title."),
    FieldRule(name="plan", kind=Kind.TEXT, about="The agreed plan as markdown; every chunk's prompt shows it."),
    FieldRule(name="testsRequired", kind=Kind.FLAG, about="Whether chunks that are not cosmetic must come with tests."),
    FieldRule(
        name="waves",
        kind=Kind.WAVES,
        about="Waves in order. The chunks of a wave may run at the same time; each needs all waves before.",
        required=True,
    ),
)

CHUNK_FIELDS = (
    FieldRule(name="id", kind=Kind.TEXT, about="A name that is unique in the plan and never changes.", required=True),
    FieldRule(name="scope", kind=Kind.TEXT, about="What is to be done.", required=True),
    FieldRule(name="files", kind=Kind.TEXTS, about="Paths and globs that the chunk owns; disjoint within a wave."),
    FieldRule(name="model", kind=Kind.TEXT, about="haiku, sonnet or opus: the tiers fast, standard and strong."),
    FieldRule(
        name="tests",
        kind=Kind.FLAG,
        about="Whether tests are part of the chunk: at least one has to be added or changed.",
    ),
    FieldRule(name="testScope", kind=Kind.TEXT, about="What those tests should cover."),
    FieldRule(name="opusReview", kind=Kind.FLAG, about="Whether a strong reviewer looks at it."),
    FieldRule(name="checks", kind=Kind.TEXTS, about="Commands that must succeed; read by Drumline only."),
    FieldRule(name="dependsOn", kind=Kind.TEXTS, about="Ids of the chunks it needs; replaces the rule of waves."),
)
