"""Which model a tier means. The rule: what is configured wins, else the first provider whose key is in the environment.

The names are a snapshot of what the providers offer; a configuration replaces them without a new release.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drumline.core.routing import TIERS
from drumline.errors import InvalidInput
from drumline.extras import require_provider
from drumline.record import Record


class Provider(Record):
    """A provider with defaults: one of the variables in `keys` holds its API key."""

    name: str
    keys: tuple[str, ...]
    models: tuple[str, str, str]


PROVIDERS = (
    Provider(
        name="anthropic",
        keys=("ANTHROPIC_API_KEY",),
        models=("claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"),
    ),
    Provider(name="openai", keys=("OPENAI_API_KEY",), models=("gpt-6-luna", "gpt-6.1-terra", "gpt-6.1-sol")),
    Provider(
        name="google",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        models=("gemini-3.5-flash-lite", "gemini-3.8-flash", "gemini-4-argon"),
    ),
)
ALIASES: Mapping[str, str] = MappingProxyType({"claude": "anthropic", "gemini": "google", "vertexai": "google-cloud"})
"""What the graph format that we adopt calls a provider, and what it is called here."""
KEYS = tuple(key for provider in PROVIDERS for key in provider.keys)


def find_default(tier: str, environ: Mapping[str, str]) -> str:
    """The default model of a tier as `provider:model`; empty if there is no API key."""
    for provider in PROVIDERS:
        if any(environ.get(key) for key in provider.keys):
            return f"{provider.name}:{provider.models[TIERS.index(tier)]}"
    return ""


def spell(model: str) -> str:
    """`provider:model` with the provider's name as it is called here."""
    provider, colon, name = model.partition(":")
    return f"{ALIASES.get(provider, provider)}{colon}{name}"


def check_provider(name: str) -> None:
    """Refuse a provider that is unknown, or whose library is missing; without a name, that any library is missing.

    The library that knows all providers is slow to load: the usual ones do without.
    """
    usual = [provider.name for provider in PROVIDERS]
    spelled = ALIASES.get(name, name)
    if not spelled or spelled in usual:
        require_provider(spelled)
        return
    require_provider(spelled)
    from pydantic_ai.providers import infer_provider_class

    try:
        infer_provider_class(spelled)
    except ValueError as error:
        message = f"unknown provider {name!r} (use one of {', '.join(usual)}, or another that pydantic-ai knows)"
        raise InvalidInput(message, hint="drumline agents") from error
    except ImportError:
        return  # known, but its own library is missing; whoever asks it says so
