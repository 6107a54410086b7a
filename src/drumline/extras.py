"""Packages that are installed only where they are wanted: the extras of Drumline.

The rule: whatever needs one of them asks here first, and who lacks it reads the exact command that installs it.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from drumline.errors import InvalidInput

MODELS = "models"
MCP = "mcp"
LIBRARY = "pydantic_ai"
MODULES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "anthropic": (LIBRARY, "anthropic"),
        "openai": (LIBRARY, "openai"),
        "google": (LIBRARY, "google.genai"),
        MCP: (LIBRARY, "mcp", "fastmcp"),
        MODELS: (LIBRARY,),
    }
)
"""What must be importable where an extra is installed. A provider without an extra of its own is part of `models`."""


def require_provider(provider: str) -> None:
    """Refuse to ask a provider of models whose library is missing; InvalidInput hints at the command that adds it."""
    extra = provider if provider in MODULES else MODELS
    _require(extra, f"the models of {provider!r} need" if provider else "asking a model needs")


def require_servers(names: str) -> None:
    """Refuse to connect a model with MCP servers where their client is missing."""
    _require(MCP, f"the MCP server {names!r} needs")


def find_missing(extra: str) -> tuple[str, ...]:
    """The modules of an extra that are not installed."""
    return tuple(module for module in MODULES[extra] if not _is_there(module))


def name_install(
    extra: str, *, prefix: str = sys.prefix, python: str = sys.executable, has_pip: bool = True, source: str = ""
) -> str:
    """The command that adds an extra to the Drumline that lives in `prefix`, in the words of what installed it.

    What installs into an environment of its own has to be told the `source` again, if that is not an index.
    """
    wanted = f"'drumline[{extra}]'"
    again = shlex.quote(f"drumline[{extra}] @ {source}") if source else wanted
    places = Path(prefix).parts
    if "pipx" in places:
        return f"pipx install --force {again}"
    if "uv" in places and "tools" in places:
        return f"uv tool install --force {again}"
    if "uv" in places:  # neither a tool nor anybody's environment: made for one command, in the cache
        return f"uvx --from {again} drumline"
    return f"{python} -m pip install {wanted}" if has_pip else f"uv pip install --python {python} {wanted}"


def find_source() -> str:
    """The folder, archive or repository that Drumline was installed from, as a URL; empty if it was an index."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = json.loads(distribution("drumline").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return ""
    vcs = found.get("vcs_info", {}).get("vcs", "")
    return f"{vcs}+{found['url']}" if vcs else str(found.get("url", ""))


def _require(extra: str, who: str) -> None:
    missing = find_missing(extra)
    if missing:
        message = f"{who} the package {missing[0].replace('_', '-')!r}, which is not installed"
        raise InvalidInput(message, hint=name_install(extra, has_pip=_is_there("pip"), source=find_source()))


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:  # a package above it is missing
        return False
