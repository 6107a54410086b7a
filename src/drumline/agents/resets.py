"""When a quota is there again, read from what programs tell people. The rule: no time is better than a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

FURTHEST = 62 * 86400.0
"""Seconds: no quota resets further ahead, so a later time that was read is not that of a quota."""
RECENT = timedelta(minutes=15)
"""A time of day that was so shortly ago means just now, not tomorrow: programs leave the seconds out."""
SOON = 60.0
UNITS = (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0), ("w", 604800.0))
AMOUNT = re.compile(
    r"(\d+(?:\.\d+)?|\b(?:an?|one)(?=\s))\s*"
    r"(ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)(?![a-z])",
    re.IGNORECASE,
)
COMING = (
    r"\b(?:retry|retrying|again|resets?|available|renews?|back)\b[\s\w]{0,12}?\b(?:in|after)\b:?\s+"
    r"(?:(?:about|around|approximately|roughly|~)\s*)?"
    r"|\bwait\s+(?:for\s+)?"
    r"|(?:retry|reset)[-_]?(?:delay|after)\W{1,8}"
)
WAIT = re.compile(rf"(?:{COMING})((?:{AMOUNT.pattern}[\s,]*(?:and\s+)?)+)", re.IGNORECASE)
SECONDS = re.compile(
    r"(?:retry[-_ ]?after|resets?[-_]in)(?:[-_ ]?seconds)?\W{1,8}(\d{1,9}(?:\.\d+)?)(?![\d:-])", re.IGNORECASE
)
EPOCH = re.compile(r"(?:\||resets?[-_]?(?:at|time)?\W{1,8})(\d{10})(\d{3})?\b", re.IGNORECASE)
STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)")
DATE = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
ABROAD = r"(?:GMT|UTC)(?:[+-]\d{1,2}(?::\d\d)?)?|[PMCE][SD]T"
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WEEKDAY = "(?:" + "|".join(WEEKDAYS) + ")(?:[a-z]{0,3}day|rs?|s)?"
CLOCK = re.compile(
    r"(?:resets?|again|until|available)\s+(?:at\s+|on\s+)?"
    rf"(?:(?P<weekday>{WEEKDAY}|today|tomorrow),?\s+(?:at\s+)?)?"
    r"(?:(?P<month>[a-z]{3})[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{4}))?,?\s+(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)?\s*(?P<half>[ap])?\.?m?\.?"
    rf"(?:\s*\((?P<zone>[\w/+:-]+)\)|\s*\b(?P<abroad>{ABROAD})\b)?",
    re.IGNORECASE,
)
OFFSET = re.compile(r"(?:GMT|UTC)(?:(?P<sign>[+-])(?P<hours>\d{1,2})(?::(?P<minutes>\d\d))?)?", re.IGNORECASE)
AMERICA = {"P": -8, "M": -7, "C": -6, "E": -5}
"""Hours from Greenwich of what Node calls the zones of North America; for all others it tells the hours."""
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def find_reset(text: str, *, now: float, zone: tzinfo | None = None) -> float | None:
    """The time that the text names, in seconds since the epoch; times of day are meant in `zone`, here by default.

    Times that are over, and those too far away to be meant, are none.
    """
    return next((moment for moment in _find_moments(text, now, zone) if 0 < moment - now <= FURTHEST), None)


def _find_moments(text: str, now: float, zone: tzinfo | None) -> Iterator[float]:
    if told := EPOCH.search(text):
        yield float(told[1])
    for told in STAMP.finditer(text):
        yield from _read_stamp(told[0])
    if told := DATE.search(text):
        yield from _read_date(told[0])
    if told := WAIT.search(text):
        yield now + sum(_read_amount(amount) * _find_unit(unit) for amount, unit in AMOUNT.findall(told[1]))
    if told := SECONDS.search(text):
        yield now + float(told[1])
    if told := CLOCK.search(text):
        yield from _read_clock(told, now, zone)


def _read_amount(word: str) -> float:
    """A number, or the words `a`, `an` and `one`."""
    return float(word) if word[0].isdigit() else 1.0


def _find_unit(word: str) -> float:
    word = word.lower()
    short = "ms" if word.startswith("mil") or word == "ms" else word[0]
    return dict(UNITS)[short]


def _read_stamp(text: str) -> Iterator[float]:
    try:
        yield datetime.fromisoformat(text.replace(" ", "T")).timestamp()
    except (ValueError, OverflowError):
        return


def _read_date(text: str) -> Iterator[float]:
    try:
        yield parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return


def _read_clock(told: re.Match[str], now: float, zone: tzinfo | None) -> Iterator[float]:
    """The moment a time of day means: on its date if one is told, else the next time the clock shows it."""
    if not (told["minute"] or told["half"]):
        return  # a bare number is not a time
    try:
        place = _find_zone(told["zone"] or told["abroad"]) if told["zone"] or told["abroad"] else zone
        here = datetime.fromtimestamp(now, tz=UTC).astimezone(place)
        moment = _set_clock(told, here)
    except (ValueError, OverflowError, OSError, ZoneInfoNotFoundError):
        return
    if timedelta() <= here - moment < RECENT:
        yield now + SOON
    elif moment > here or told["year"]:
        yield moment.timestamp()
    elif told["weekday"] and not told["month"]:
        yield from _repeat_day(told["weekday"], moment)
    else:
        yield (moment.replace(year=here.year + 1) if told["month"] else moment + timedelta(days=1)).timestamp()


def _repeat_day(word: str, moment: datetime) -> Iterator[float]:
    """A day of the week comes again; what was today is over."""
    if word.lower() != "today":
        yield (moment + timedelta(days=7)).timestamp()


def _set_clock(told: re.Match[str], here: datetime) -> datetime:
    """The time told, today or on its day of this year unless another is told."""
    hour = int(told["hour"]) % 12 + 12 * (told["half"].lower() == "p") if told["half"] else int(told["hour"])
    moment = here.replace(hour=hour, minute=int(told["minute"] or 0), second=0, microsecond=0)
    if not told["month"]:
        return moment + timedelta(days=_count_days(told["weekday"], here))
    month = MONTHS.index(told["month"].lower()) + 1
    return moment.replace(year=int(told["year"] or here.year), month=month, day=int(told["day"]))


def _count_days(word: str | None, here: datetime) -> int:
    """How many days from now the day of a word is, such as `Mon`, `tuesday` or `tomorrow`."""
    if not word or word.lower() == "today":
        return 0
    if word.lower() == "tomorrow":
        return 1
    return (WEEKDAYS.index(word[:3].lower()) - here.weekday()) % 7


def _find_zone(name: str) -> tzinfo:
    """The zone of a name such as `Europe/Berlin`, `GMT-3` or `PDT`."""
    if told := OFFSET.fullmatch(name):
        away = timedelta(hours=int(told["hours"] or 0), minutes=int(told["minutes"] or 0))
        return timezone(-away if told["sign"] == "-" else away)
    if len(name) == 3 and name[0].upper() in AMERICA and name[1:].upper() in ("ST", "DT"):
        return timezone(timedelta(hours=AMERICA[name[0].upper()] + (name[1].upper() == "D")))
    return ZoneInfo(name)
