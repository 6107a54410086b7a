"""Which headings say that the boxes below them are not to be done now."""

from __future__ import annotations

import pytest

from drumline.planfiles.deferral import defers


@pytest.mark.parametrize(
    "heading",
    [
        "Deferred",
        "Deferred items",
        "Deferred to v2",
        "**Deferred**",
        "[Deferred] Metrics",
        "Deferred: dark mode",
        "Deferred / Out of scope",
        "Deferred until after launch",
        "Phase 4 (deferred)",
        "Postponed",
        "Out of scope",
        "🚫 Out-of-scope for now",
        "Explicitly out of scope",
        "Billing (out of scope)",
        "Not in scope",
        "Not doing",
        "Won't do",
        "Won’t fix",
        "Non-goals (v1)",
        "Future",
        "7. Future improvements",
        "Phase 5: Future enhancements",
        "Phase 6 — Future work",
        "Known limits & future work",
        "Later",
        "Dark mode (later)",
        "Someday / Maybe",
        "Icebox",
        "Ideas",
        "Wishlist",
        "Post-MVP enhancements",
        "On hold",
        "Cancelled",
        "~~Phase 3~~",
    ],
)
def test_a_heading_can_say_that_something_is_not_done_now(heading: str) -> None:
    assert defers(heading)


@pytest.mark.parametrize(
    "heading",
    [
        "",
        "Deferred rendering",
        "Cancelled orders",
        "Future-proofing",
        "Futures API",
        "Parking lot API",
        "Ideas board",
        "Search and ideas",
        "Dropped frames",
        "Later stages of the pipeline",
        "Not found pages",
        "In scope",
        "Backlog",
        "Next steps",
        "Roadmap",
        "Nice to have",
        "Optional enhancements",
        "Tests for User Story 1 (OPTIONAL - only if tests requested)",
        "Phase 2: Postgres",
    ],
)
def test_a_heading_that_only_sounds_like_it_defers_nothing(heading: str) -> None:
    assert not defers(heading)
