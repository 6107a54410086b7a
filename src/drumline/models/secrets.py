"""Keys of the environment that a command has no use for. The rule: a key's value never leaves this process."""

from __future__ import annotations

from collections.abc import Mapping


def blank_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The API keys of an environment, emptied: a command that a model asked for has no use for them."""
    return {name: "" for name in environ if name.upper().endswith("_API_KEY")}
