"""Modules that are imported when something is first asked of them.

The rule: a command pays for no library that it does not need; readers of plans bring two that take longer to import
than a run takes to be looked at.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Late:
    """Stands for a module; what was asked of it once is found at once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        found = getattr(import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found


def import_late(name: str) -> Any:
    """The module of this name, as `import` would give it; let TYPE_CHECKING import it for the types."""
    return _Late(name)
