"""The command line as a person typed it, for hints that can be typed again. The rule: what was given is repeated."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from drumline.cli.output import say

if TYPE_CHECKING:
    from drumline.wiring import Project

MOST_WORD = 200
"""Letters of a word that is repeated; a longer one, and one of several lines, is named."""
_TYPED = "drumline.typed"


def keep_typed(context: click.Context, words: Sequence[str]) -> None:
    """Remember the words for the commands of this context."""
    context.meta[_TYPED] = tuple(words)


def retype(*added: str, without: str = "") -> str:
    """The command as it was typed, with words added to it, or without one of them."""
    typed: Sequence[str] = click.get_current_context().meta.get(_TYPED, ())
    return shlex.join(["drumline", *(_show(word) for word in typed if word != without)]) + _tail(added)


def name_plan(plan: str, format: str) -> str:
    """A plan and its format as they were typed."""
    return shlex.quote(plan) + (f" --format {shlex.quote(format)}" if format else "")


def choose_plan(project: Project) -> str:
    """The newest unfinished plan, which is named before anything is done with it."""
    plan = project.newest_plan()
    say(f"the newest unfinished plan is {plan}")
    return plan


def _show(word: str) -> str:
    return "TEXT" if len(word) > MOST_WORD or "\n" in word else word


def _tail(added: Sequence[str]) -> str:
    return "".join(f" {word}" for word in added)
