"""Secrets of the environment, kept out of what is written down. The rule: a key's value never leaves this process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

NAMES = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS)(?:_|$)", re.IGNORECASE)
SHORTEST = 8
"""Shorter values are words that a text may hold by chance."""
HIDDEN = "[secret]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Secrets:
    """Values that must not be written down, longest first, so that a part never uncovers the whole."""

    values: tuple[str, ...] = ()

    def hide(self, text: str) -> str:
        """The text without them."""
        for value in self.values:
            text = text.replace(value, HIDDEN)
        return text


def find_secrets(environ: Mapping[str, str], *others: Iterable[str]) -> Secrets:
    """The values of variables that are named like secrets, and `others`."""
    named = (value for name, value in environ.items() if NAMES.search(name))
    found = {value for value in (*named, *(value for more in others for value in more)) if len(value) >= SHORTEST}
    return Secrets(values=tuple(sorted(found, key=lambda value: (-len(value), value))))


def blank_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The API keys of an environment, emptied: a command that a model asked for has no use for them."""
    return {name: "" for name in environ if name.upper().endswith("_API_KEY")}
