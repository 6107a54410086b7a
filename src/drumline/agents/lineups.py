"""Which models the tiers mean for programs that work with any provider: those of the provider the user works with.

The rule: nothing is guessed. A model that the user has configured stays the standard one, and of a provider that is not
in the table, or that is asked at another address than its own, the program's own model is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from drumline.agents.reading import read_map
from drumline.core.flow.model import Json
from drumline.core.routing import TIERS, USUAL

LINEUPS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "anthropic": ("claude-haiku-4-5", "claude-sonnet-5", "claude-opus-5-5"),
        "openai": ("gpt-6-luna", "gpt-5.3-codex", "gpt-6-sol"),
        "google": ("gemini-3.5-flash-lite", "gemini-3.8-flash", "gemini-3.1-pro-preview"),
        "openrouter": ("anthropic/claude-haiku-4.5", "anthropic/claude-sonnet-5", "anthropic/claude-opus-5.5"),
        "opencode": ("claude-haiku-4-5", "claude-sonnet-5", "claude-opus-5-5"),
        "dashscope": ("qwen3.8-flash", "qwen3.7-plus", "qwen3.8-max"),
    }
)
"""A snapshot of what providers offer and programs know by now; a configuration replaces it without a new release."""


def line_up(provider: str, *, own: bool, prefix: str = "") -> dict[str, str]:
    """The models of a provider by tier, none if it is unknown; `own` says that the user has chosen a standard one."""
    models = dict(zip(TIERS, LINEUPS.get(provider, ()), strict=False))
    return {tier: f"{prefix}{model}" for tier, model in models.items() if not (own and tier == USUAL)}


def first_known(providers: Iterable[str]) -> str:
    """The first of these providers in the order of the table; empty if none is in it."""
    there = set(providers)
    return next((provider for provider in LINEUPS if provider in there), "")


def read_settings(path: Path) -> Mapping[str, Json] | None:
    """A program's file of settings in JSON: empty if there is none, None if it cannot be understood."""
    try:
        return read_map(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None
