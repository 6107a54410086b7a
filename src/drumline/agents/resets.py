"""When a quota is there again, read from what programs tell people. The rule: no time is better than a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

UNITS = (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0), ("w", 604800.0))
AMOUNT = re.compile(
    r"(\d+(?:\.\d+)?)\s*"
    r"(ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)(?![a-z])",
    re.IGNORECASE,
)
WAIT = re.compile(rf"\b(?:in|after):?\s+((?:{AMOUNT.pattern}[\s,]*(?:and\s+)?)+)", re.IGNORECASE)
EPOCH = re.compile(r"(?:\||resets?_?(?:at)?\W{1,4})(\d{10})(\d{3})?\b", re.IGNORECASE)
STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)")
CLOCK = re.compile(
    r"(?:resets?|again|until|available)\s+(?:at\s+|on\s+)?"
    r"(?:(?P<month>[a-z]{3})[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{4}))?,?\s+(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)?\s*(?P<half>[ap])?\.?m?\.?"
    r"(?:\s*\((?P<zone>[\w/+-]+)\))?",
    re.IGNORECASE,
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def find_reset(text: str, *, now: float, zone: tzinfo | None = None) -> float | None:
    """The time that the text names, in seconds since the epoch; times of day are meant in `zone`, here by default."""
    return next((moment for moment in _find_moments(text, now, zone) if moment > now), None)


def _find_moments(text: str, now: float, zone: tzinfo | None) -> Iterator[float]:
    if told := EPOCH.search(text):
        yield float(told[1])
    if told := STAMP.search(text):
        yield datetime.fromisoformat(told[0].replace(" ", "T")).timestamp()
    if told := WAIT.search(text):
        yield now + sum(float(amount) * _find_unit(unit) for amount, unit in AMOUNT.findall(told[1]))
    if told := CLOCK.search(text):
        yield from _read_clock(told, now, zone)


def _find_unit(word: str) -> float:
    word = word.lower()
    short = "ms" if word.startswith("mil") or word == "ms" else word[0]
    return dict(UNITS)[short]


def _read_clock(told: re.Match[str], now: float, zone: tzinfo | None) -> Iterator[float]:
    """The moment a time of day means: on its date if one is told, else the next time the clock shows it."""
    if not (told["minute"] or told["half"]):
        return  # a bare number is no time
    try:
        place = ZoneInfo(told["zone"]) if told["zone"] else zone
        here = datetime.fromtimestamp(now, tz=UTC).astimezone(place)
        hour = int(told["hour"]) % 12 + 12 * (told["half"].lower() == "p") if told["half"] else int(told["hour"])
        moment = here.replace(hour=hour, minute=int(told["minute"] or 0), second=0, microsecond=0)
        if told["month"]:
            month = MONTHS.index(told["month"].lower()) + 1
            moment = moment.replace(year=int(told["year"] or here.year), month=month, day=int(told["day"]))
            if moment <= here and not told["year"]:
                moment = moment.replace(year=here.year + 1)
        elif moment <= here:
            moment += timedelta(days=1)
    except (ValueError, ZoneInfoNotFoundError):
        return
    yield moment.timestamp()
