"""How a person is told to log in, or to use another key. The words are for people: the command is data beside them."""

from __future__ import annotations

from collections.abc import Sequence


def ask_login(command: str, said: str) -> str:
    """The message of a failure that ends once a person has typed the command."""
    return f"log in with `{command}`; it said: {said}"


def blame_keys(variables: Sequence[str], said: str) -> str:
    """The message of a failure that ends once a person has put another key into a variable."""
    return f"the API key in {' or '.join(variables)} was refused: set another one; it said: {said}"
