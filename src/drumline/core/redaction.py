"""Secrets kept out of what is written down: values of the environment by their names, and texts shaped like known keys.

The rule: what might be a secret counts as one. A text that lost a word is better than one that cannot be shared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from drumline.core.flow.model import Json
from drumline.patterns import compile_late
from drumline.record import Record, field

NAMES = compile_late(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS)S?(?:_(?!(?:FILE|PATH|DIR)$)|$)",
    re.IGNORECASE,
)
"""Names of variables that hold a secret. Those that say where one is hold none."""
SHORTEST = 8
"""Shorter values are words that a text may hold by chance."""
HIDDEN = "[secret]"
TAILS = {
    "sk-": r"[A-Za-z0-9_-]{16,}",
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{30,}"),
    "github_pat_": r"[A-Za-z0-9_]{40,}",
    "glpat-": r"[A-Za-z0-9_-]{20,}",
    **dict.fromkeys(("AKIA", "ASIA"), r"[A-Z0-9]{16}\b"),
    "AIza": r"[A-Za-z0-9_-]{35}",
    **dict.fromkeys(("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"), r"[A-Za-z0-9-]{10,}"),
    "npm_": r"[A-Za-z0-9]{36}\b",
    "hf_": r"[A-Za-z0-9]{30,}",
    # Bounded, or a text full of beginnings without an end would be read again from each of them.
    "eyJ": r"[A-Za-z0-9_-]{10,1000}+\.eyJ[A-Za-z0-9_-]{10,20000}+\.[A-Za-z0-9_-]{10,}",
}
"""How well-known keys begin, each at the beginning of a word, and how they go on."""
PRIVATE = "-----BEGIN "


def _compile_shapes() -> dict[str, re.Pattern[str]]:
    """A pattern for each beginning. It has that first, for which Python looks many times faster than for a `\\b`."""
    begun = {mark: f"{re.escape(mark)}(?<=\\b{re.escape(mark)})" for mark in TAILS}
    shapes = {mark: compile_late(begun[mark] + tail, re.ASCII) for mark, tail in TAILS.items()}
    key = r"[A-Z ]{0,40}PRIVATE KEY-----"
    return {**shapes, PRIVATE: compile_late(rf"{PRIVATE}{key}[\s\S]*?(?:-----END {key}|\Z)")}


SHAPES = _compile_shapes()


class Secrets(Record):
    """Values that must not be written down, longest first, so that a part never uncovers the whole."""

    values: tuple[str, ...] = ()

    def hide(self, text: str) -> str:
        """The text without them."""
        for value in self.values:
            text = text.replace(value, HIDDEN)
        return text


class Redaction(Record):
    """What must not be written down."""

    secrets: Secrets = field(default_factory=Secrets)

    def hide(self, text: str) -> str:
        """The text without secrets."""
        text = self.secrets.hide(text)
        for mark, shape in SHAPES.items():
            if mark in text:
                text = shape.sub(HIDDEN, text)
        return text

    def hide_end(self, text: str) -> str:
        """The end of a longer text without secrets, and without the rest of one that it may begin with."""
        for value in self.secrets.values:
            endings = (value[start:] for start in range(1, len(value) - SHORTEST + 1))
            if rest := next((rest for rest in endings if text.startswith(rest)), ""):
                return HIDDEN + self.hide(text[len(rest) :])
        return self.hide(text)

    def hide_value(self, value: Json) -> Json:
        """A value without secrets in any of its texts, names included."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, Mapping):
            return {self.hide(name): self.hide_value(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.hide_value(inner) for inner in value]
        return value

    def is_revealing(self, raw: bytes) -> bool:
        """Whether a file's content has a secret in it, in whatever encoding that keeps ASCII."""
        known = any(value.encode("utf-8", "surrogateescape") in raw for value in self.secrets.values)
        text = raw.decode("latin-1")
        return known or any(mark in text and shape.search(text) for mark, shape in SHAPES.items())


def find_secrets(environ: Mapping[str, str], *others: Iterable[str]) -> Secrets:
    """The values of variables that are named like secrets, and `others`, each also as JSON spells it."""
    named = (value for name, value in environ.items() if NAMES.search(name))
    given = {value for value in (*named, *(value for more in others for value in more)) if len(value) >= SHORTEST}
    found = given | {json.dumps(value)[1:-1] for value in given}
    found |= {json.dumps(value, ensure_ascii=False)[1:-1] for value in given}
    return Secrets(values=tuple(sorted(found, key=lambda value: (-len(value), value))))


def read_redaction(*environs: Mapping[str, str]) -> Redaction:
    """What these environments have of secrets."""
    found = (value for environ in environs for value in find_secrets(environ).values)
    return Redaction(secrets=find_secrets({}, found))
