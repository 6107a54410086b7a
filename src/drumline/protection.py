"""Settings that protect a person from what a repository brings, and who may change them.

The rule: a repository's own file may ask for more protection than a person does, never for less.
"""

from __future__ import annotations

from collections.abc import Mapping

from drumline.configfiles import CONFIG

OFF, AUTO, REQUIRED, ASK = "off", "auto", "required", "ask"
PROTECTIVE: Mapping[str, tuple[str, ...]] = {"sandbox": (OFF, AUTO, REQUIRED), "trust": (OFF, AUTO, ASK)}
"""The settings with their values, the weakest first."""


def find_weaker(theirs: Mapping[str, object]) -> list[str]:
    """Problems: what a repository's file asks for that protects a person less than if it said nothing."""
    return [
        f"{CONFIG.as_posix()}: {key}: {theirs[key]!r} is not legal in a repository's file, which cannot make you less "
        f"safe (legal: {', '.join(values[values.index(AUTO) :])}; set DRUMLINE_{key.upper()} or your own config.toml)"
        for key, values in PROTECTIVE.items()
        if key in theirs and values.index(str(theirs[key])) < values.index(AUTO)
    ]


def choose_stronger(mine: Mapping[str, object], theirs: Mapping[str, object]) -> dict[str, object]:
    """Of a person's own file and the repository's, the value that protects more."""
    return {
        key: max((str(said[key]) for said in (mine, theirs) if key in said), key=values.index)
        for key, values in PROTECTIVE.items()
        if key in mine or key in theirs
    }
