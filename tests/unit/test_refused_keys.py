"""A refused API key is told with the variable it came from, and never shown."""

from __future__ import annotations

import pytest

from drumline.agents.cli import list_keys
from drumline.core.login import blame_keys
from drumline.core.taxonomy import Failure
from drumline.models.faults import blame


def test_the_variables_with_keys_that_a_program_sees_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "")

    assert list_keys(("ANTHROPIC_*", "DISABLE_*")) == ["ANTHROPIC_API_KEY"]


def test_the_message_names_the_variable() -> None:
    told = blame_keys(["ANTHROPIC_API_KEY"], "401 invalid x-api-key")

    assert told == "the API key in ANTHROPIC_API_KEY was refused: set another one; it said: 401 invalid x-api-key"


def test_the_key_of_a_models_provider_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    told = blame(Failure.AUTH, "the provider refused the API key", model="openai-chat:gpt")

    assert told.startswith("the API key in OPENAI_API_KEY was refused")
    assert blame(Failure.TRANSIENT, "busy", model="openai-chat:gpt") == "busy"
