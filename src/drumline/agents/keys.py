"""The variables in which an agent program looks for its API keys. The rule: they are named, never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

KEY = re.compile(r"(?:_|^)(?:API_KEY|AUTH_TOKEN|OAUTH_TOKEN|BEARER_TOKEN|ACCESS_TOKEN)(?:_|$)")


def list_keys(patterns: Sequence[str]) -> list[str]:
    """The variables that are set, may be seen by a program with these patterns, and hold a key by their name."""
    seen = (name for name, value in sorted(os.environ.items()) if value and KEY.search(name))
    return [name for name in seen if any(fnmatchcase(name, pattern) for pattern in patterns)]
