"""What a setting may be: one parser for each kind of value. The rule: what is not legal raises ValueError."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from drumline.core.subject import PLACES
from drumline.core.validation import normal_path


def parse_duration(value: object) -> float:
    """Seconds, from a number or from text such as `90`, `90s`, `15m` or `1h`."""
    seconds = value
    if isinstance(value, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", value.strip(), re.ASCII)
        seconds = float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]] if found else None
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not (0 < seconds < math.inf):
        raise ValueError(f"not legal: {value!r}")
    return float(seconds)


def parse_money(value: object) -> float | None:
    """Dollars above zero; None for an empty text."""
    if value == "":
        return None
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value.strip(), re.ASCII):
        value = float(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not (0 < value < math.inf):
        raise ValueError(f"not legal: {value!r}")
    return float(value)


def parse_text(value: object) -> str:
    """Any text without a null byte."""
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"not legal: {value!r}")
    return value


def parse_subject(value: object) -> str:
    """A line with a place for the title, and no other places than the known ones."""
    text = parse_text(value)
    places = re.findall(r"{(\w*)}", text)
    if text and ("\n" in text or "title" not in places or any(place not in PLACES for place in places)):
        raise ValueError(f"not legal: {value!r}")
    return text


def choose(*choices: str) -> Callable[[object], str]:
    """A parser that accepts these words."""

    def parse(value: object) -> str:
        if value not in choices:
            raise ValueError(f"not legal: {value!r}")
        return str(value)

    return parse


def count_from(least: int) -> Callable[[object], int]:
    """A parser that accepts whole numbers from `least` on."""

    def parse(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value.strip(), re.ASCII):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"not legal: {value!r}")
        return value

    return parse


def parse_commands(value: object) -> tuple[str, ...]:
    """A list from a file or a flag, or one command per line from a variable."""
    lines = value.splitlines() if isinstance(value, str) else value
    if not isinstance(lines, Sequence):
        raise ValueError(f"not legal: {value!r}")
    return tuple(text for line in lines if (text := parse_text(line).strip()))


def parse_provided(value: object) -> tuple[str, ...]:
    """Paths inside the repository, and commands that begin with a dollar sign and a space."""
    lines = parse_commands(value)
    found = tuple(line if line.startswith("$ ") else normal_path(line) for line in lines)
    if any(path is None or path in ("", ".") or path.split("/")[0] == ".git" for path in found):
        raise ValueError(f"not legal: {value!r}")
    return tuple(path.rstrip("/") for path in found if path is not None)


def parse_globs(value: object) -> tuple[str, ...]:
    """Paths or globs inside the repository, as owned files have them."""
    found = tuple(normal_path(line) for line in parse_commands(value))
    if None in found:
        raise ValueError(f"not legal: {value!r}")
    return tuple(path for path in found if path is not None)
