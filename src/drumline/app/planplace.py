"""Where a plan to begin with is written. The rule: a repository can be built afterwards as before."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

PLANS = "plans"
BESIDE_DOCS = "docs/plans"


def choose_folder(top: Path) -> str:
    """`plans`; `docs/plans` where setuptools would take a folder `plans` at the top for a package."""
    taken = (top / PLANS).exists() or not _discovers_packages(top)
    return PLANS if taken else BESIDE_DOCS


def _discovers_packages(top: Path) -> bool:
    """Whether setuptools looks for packages among the folders at the top, as nobody says what they are."""
    try:
        project = tomllib.loads((top / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    system, tool = project.get("build-system", {}), project.get("tool", {})
    if not isinstance(system, Mapping) or not isinstance(tool, Mapping):
        return False
    own = tool.get("setuptools", {})
    named = isinstance(own, Mapping) and bool({"packages", "py-modules"} & own.keys())
    backend = str(system.get("build-backend", "setuptools"))
    return backend.startswith("setuptools") and not named and not (top / "src").is_dir() and not _is_in_cfg(top)


def _is_in_cfg(top: Path) -> bool:
    try:
        text = (top / "setup.cfg").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return any(line.replace(" ", "").startswith(("packages=", "py_modules=")) for line in text.splitlines())
