"""What of a changed login comes back to the user's file: tokens that are there already, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from drumline.isolation.tokens import LONGEST, refresh

CLAUDE = {"claudeAiOauth": {"accessToken": "a1", "refreshToken": "r1", "expiresAt": 1, "scopes": ["user"]}}


@pytest.mark.parametrize(
    ("own", "found", "expected"),
    [
        pytest.param(
            CLAUDE,
            {"claudeAiOauth": {"accessToken": "a2", "refreshToken": "r2", "expiresAt": 2, "scopes": ["all"]}},
            {"claudeAiOauth": {"accessToken": "a2", "refreshToken": "r2", "expiresAt": 2, "scopes": ["user"]}},
            id="tokens are renewed, the rest stays",
        ),
        pytest.param(
            {"tokens": {"access_token": "a1"}, "OPENAI_API_KEY": "k1"},
            {"tokens": {"access_token": "a2", "id_token": "i2"}, "OPENAI_API_KEY": "k2", "last_refresh": "now"},
            {"tokens": {"access_token": "a2", "id_token": "i2"}, "OPENAI_API_KEY": "k1"},
            id="one that belongs beside another is added, keys stay",
        ),
        pytest.param(
            {"anthropic": {"type": "oauth", "access": "a1"}},
            {"anthropic": {"type": "wellknown", "access": "a2"}, "https://evil": {"type": "wellknown", "token": "x"}},
            {"anthropic": {"type": "oauth", "access": "a2"}},
            id="no entry is added, and none changes its kind",
        ),
        pytest.param({"hooks": {}}, {"hooks": {"access": "x"}}, {"hooks": {}}, id="not where there was no token"),
        pytest.param(
            {"access": "a1", "expires": 1},
            {"access": {"x": 1}, "expires": "soon"},
            {"access": "a1", "expires": 1},
            id="no other type",
        ),
        pytest.param({"access": "a1"}, {"access": ""}, {"access": "a1"}, id="a login that failed ends nobody else's"),
        pytest.param({"access": "a1"}, {"access": "a\n2"}, {"access": "a1"}, id="nothing but printable characters"),
        pytest.param({"access": "a1"}, {"access": "x" * (LONGEST + 1)}, {"access": "a1"}, id="nothing without end"),
        pytest.param({"expires": 1}, {"expires": True}, {"expires": 1}, id="no truth values"),
        pytest.param({"expires": 1}, {"expires": float("nan")}, {"expires": 1}, id="nothing that is not JSON"),
        pytest.param({"expires": 1}, {"expires": float("inf")}, {"expires": 1}, id="nothing infinite"),
        pytest.param({"expires": 1}, {"expires": 10**400}, {"expires": 1}, id="nothing out of reach"),
        pytest.param(
            [{"token": {"accessToken": "a1"}}],
            [{"token": {"accessToken": "a2"}}],
            [{"token": {"accessToken": "a2"}}],
            id="in lists",
        ),
        pytest.param([{"access": "a1"}], [{"access": "a2"}, {}], [{"access": "a1"}], id="not in another list"),
        pytest.param({"access": "a1"}, ["access"], {"access": "a1"}, id="not from something else"),
    ],
)
def test_only_tokens_come_back(own: Any, found: Any, expected: Any) -> None:
    assert refresh(own, found) == expected
