"""When a quota is there again, from the words that each program has for it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from drumline.agents.resets import find_reset
from drumline.agents.verdicts import explain_end, explain_failure
from drumline.ports.processes import Ended

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC).timestamp()
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
COPILOT = "Sorry, you've hit a rate limit that restricts the number of requests you can make. Please try again in"
GEMINI = "You exceeded your current quota, please check your plan and billing details. Please retry in 34.074824224s."


def find(text: str) -> float | None:
    """The seconds until the time that a text names, as if it were noon in Greenwich."""
    found = find_reset(text, now=NOW, zone=UTC)
    return None if found is None else found - NOW


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Claude AI usage limit reached|1794837600", 1794837600 - NOW),
        ("You've hit your limit · resets 3pm (UTC)", 3 * HOUR),
        ("resets at 11:30am (UTC)", 23.5 * HOUR),
        ("5-hour limit reached ∙ resets 3pm (America/New_York)", 8 * HOUR),
        ("resets 3pm (Europe/Berlin)", 2 * HOUR),
        ("resets Nov 17, 9am (UTC)", 21 * HOUR),
        ("resets Jan 2, 12am (UTC)", datetime(2027, 1, 2, tzinfo=UTC).timestamp() - NOW),
    ],
)
def test_claude_is_understood(text: str, seconds: float) -> None:
    assert find(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 20s.", 20),
        ("Rate limit reached: Limit 30000, Used 28578, Requested 4439. Please try again in 6.034s. Visit us.", 6.034),
        ("You've hit your usage limit. Upgrade to Pro or try again in 5 days 22 hours 11\nminutes.", 5.924306 * DAY),
        ("You've hit your usage limit. Try again in 2h 30m.", 2.5 * HOUR),
        ("You've hit your usage limit. Upgrade to Plus, or try again at Nov 20th, 2026 3:04 PM.", 4 * DAY + 11040),
        ("You've hit your usage limit. Purchase more credits or try again at 3:04 PM.", 11040),
        ('{"type":"usage_limit_reached","plan_type":"plus","resets_at":1794837600}', 1794837600 - NOW),
        ('{"type":"usage_limit_reached","resets_in_seconds":13872}', 13872),
        ('"X-Codex-Primary-Reset-After-Seconds":"13873","X-Codex-Primary-Reset-At":"1794837600"', 1794837600 - NOW),
    ],
)
def test_codex_is_understood(text: str, seconds: float) -> None:
    assert find(text) == pytest.approx(seconds, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (GEMINI, 34.074824224),
        (r"{\"@type\": \"type.googleapis.com/google.rpc.RetryInfo\", \"retryDelay\": \"34s\"}", 34),
        ("You have exhausted your capacity on this model. Your quota will reset after 3h20m15s.", 12015),
        ("Usage limit reached for gemini-3-flash-preview. Access resets at 10:57 PM GMT-3.", 13 * HOUR + 57 * MINUTE),
        ("Access resets at 5:57\u202fAM PST.", HOUR + 57 * MINUTE),
        ("Access resets at 6:30 PM GMT+5:30.", HOUR),
        ('"quotaResetTimeStamp": "2026-11-16T12:10:00Z"', 600),
    ],
)
def test_gemini_is_understood(text: str, seconds: float) -> None:
    assert find(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5 hour usage limit reached. It will reset in 3 hours 20 minutes.", 3 * HOUR + 20 * MINUTE),
        ("Free usage exceeded, subscribe to Go [retrying in 6h16m - attempt #1]", 6 * HOUR + 16 * MINUTE),
        ('{"retry-after":"73801"}', 73801),
        ("X-RateLimit-Reset: 1794837600000", 1794837600 - NOW),
        ("Retry-After: Mon, 16 Nov 2026 13:00:00 GMT", HOUR),
    ],
)
def test_opencode_and_its_providers_are_understood(text: str, seconds: float) -> None:
    assert find(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (f"{COPILOT} 58 hours. Please review our Terms of Service.", 58 * HOUR),
        (f"{COPILOT} 15 hours 23 minutes. Please review", 15 * HOUR + 23 * MINUTE),
        ("Sorry, your request was rate-limited. Please wait 587 hours 33 minutes before trying again.", 587.55 * HOUR),
        ("Ran into this error: Rate limit exceeded: Retry after 1h30m", 1.5 * HOUR),
        ("Rate limit exceeded (retry_after_seconds: 12)", 12),
        ("Qwen OAuth quota exceeded: it will be available again after 2 days", 2 * DAY),
        ("Please retry in 250ms", 0.25),
    ],
)
def test_copilot_goose_and_qwen_are_understood(text: str, seconds: float) -> None:
    assert find(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("resets Tue 9am (UTC)", 21 * HOUR),
        ("resets Mon 3pm (UTC)", 3 * HOUR),
        ("resets Mon 9am (UTC)", 7 * DAY - 3 * HOUR),
        ("resets on Wednesday at 9:30am (UTC)", DAY + 21.5 * HOUR),
        ("Your limit resets Sunday, 12am (UTC)", 5 * DAY + 12 * HOUR),
        ("resets Thurs 9am (UTC)", 69 * HOUR),
        ("resets Tue, Nov 17, 9am (UTC)", 21 * HOUR),
        ("resets tomorrow at 9am", 21 * HOUR),
        ("try again tomorrow at 13:00", 25 * HOUR),
        ("resets today at 3pm", 3 * HOUR),
        ("resets today at 9am", None),
        ("resets tomorrow", None),
        ("resets Mon 9", None),
    ],
)
def test_days_by_their_names_are_understood(text: str, seconds: float | None) -> None:
    assert find(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("try again in about 2 hours", 2 * HOUR),
        ("resets in approximately 1 hour 30 minutes", 1.5 * HOUR),
        ("available again in ~45 min", 45 * MINUTE),
        ("Please try again in an hour.", HOUR),
        ("retry in a minute", MINUTE),
        ("resets in one day", DAY),
        ("try again in a few minutes", None),
        ("try again in a moment", None),
    ],
)
def test_rough_and_spelled_out_amounts_are_understood(text: str, seconds: float | None) -> None:
    assert find(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    "text",
    [
        "resets soon",
        "limit 30 of 30 used",
        "wait for limits to reset (every 5h and every week.)",
        "Please retry after a brief wait.",
        "Failed to get a response; retried 5 times (total retry wait time: 92.785 seconds)",
        "the request timed out after 60 s",
        "8000000 tokens per minute",
        "You've hit your usage limit. Try again at 10 de jul. de 2026, 11:52.",
        "Your limit will reset at 2026-11-16 20:30:24",
    ],
)
def test_what_names_no_time_or_not_in_which_zone_gives_none(text: str) -> None:
    assert find(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "try again at 99:99",
        "resets Feb 31, 9am (UTC)",
        "resets 3pm (Nowhere/Land)",
        "resets 3pm (America)",
        "try again in 99999 days",
        "try again at Nov 20th, 2099 3:04 PM.",
        "until 9999-99-99T99:99:99Z",
        '"resets_at": 9999999999',
        "Claude AI usage limit reached|1500000000",
        "until 2026-11-16T11:00:00Z",
        "try again at Nov 15th, 2026 3:04 PM.",
        "try again in 0s",
    ],
)
def test_times_that_are_absurd_or_over_are_none(text: str) -> None:
    assert find(text) is None


def test_a_time_of_day_that_has_just_been_is_not_tomorrow() -> None:
    assert find("Access resets at 11:59 AM UTC.") == pytest.approx(MINUTE)
    assert find("Access resets at 12:00 PM UTC.") == pytest.approx(MINUTE)
    assert find("Access resets at 11:30 AM UTC.") == pytest.approx(23.5 * HOUR)


def test_the_first_time_that_is_still_to_come_counts() -> None:
    assert find("at 2026-11-16T11:59:00Z: limited until 2026-11-16T12:30:00Z") == pytest.approx(30 * MINUTE)


def test_who_is_told_when_to_come_back_has_no_bill_to_pay() -> None:
    told = explain_failure(GEMINI, status=429)
    bare = explain_failure(GEMINI.partition("Please retry")[0], status=429)

    assert (told.failure, bare.failure) == ("quota", "billing")
    assert told.resets_at == pytest.approx(time.time() + 34, abs=30)
    assert bare.resets_at is None


def test_only_a_quota_has_a_time_from_which_it_is_there_again() -> None:
    assert explain_failure("server error, try again in 20s", status=500).resets_at is None


def test_a_program_that_names_the_time_on_its_way_out_is_heard() -> None:
    later = datetime.now(tz=UTC) + timedelta(hours=2)

    outcome = explain_end(
        Ended(exit_code=1, seconds=1.0, errors=f"usage limit reached|{int(later.timestamp())}"), "a result"
    )

    assert (outcome.failure, outcome.resets_at) == ("quota", int(later.timestamp()))
