"""How a person is told to log in: the command goes into the words of the failure, and is found there again.

The rule: only a plain command is found, as what an agent says may look like one of ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from drumline.core.taxonomy import RULES, Failure

COMMAND = r"[a-z]+(?: [a-z]+){0,3}"
PLACE = r"(?:node '[^']*': |[\w./-]+#\d+: )*"
CLASS = rf"(?:{re.escape(RULES[Failure.AUTH].means)}|{Failure.AUTH.value})"
TOLD = re.compile(rf"{PLACE}{CLASS}: log in with `({COMMAND})`; it said: ")


def ask_login(command: str, said: str) -> str:
    """The message of a failure that ends once a person has typed the command."""
    return f"log in with `{command}`; it said: {said}"


def blame_keys(variables: Sequence[str], said: str) -> str:
    """The message of a failure that ends once a person has put another key into a variable."""
    return f"the API key in {' or '.join(variables)} was refused: set another one; it said: {said}"


def find_login(reason: str) -> str:
    """The command that the reason of a step or a flow begins with, or nothing."""
    found = TOLD.match(reason)
    return found[1] if found else ""
