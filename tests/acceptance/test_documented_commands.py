"""Every command that the README and the pages name exists, with the options and arguments that it is named with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import drumline
from drumline.cli.main import cli

TOP = Path(drumline.__file__).parents[2]
PAGES = [TOP / "README.md", *(page for page in sorted((TOP / "docs").rglob("*.md")) if "adr" not in page.parts)]
LINE = re.compile(r"^(?: {4}|\$ )?(?:[A-Z_]+=\S+ )*(drumline\b.*)$")
SPAN = re.compile(r"`(drumline [a-z][^`]*)`")
ENDS = ("|", ">", ">>", "<&", ";", "&&", "||", "\\")


def list_commands(page: str) -> Iterator[tuple[int, str]]:
    """The commands on lines of their own and in spans of code, with their lines."""
    for number, line in enumerate(page.splitlines(), 1):
        typed = LINE.match(line)
        if typed and (line[0] in " $" or " — " not in line):
            yield number, typed[1]
        yield from ((number, span) for span in SPAN.findall(line))


def split(command: str) -> list[str]:
    """The words after `drumline`, up to where a shell would end the command."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|<>;&")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    lexer.escape = ""
    words: list[str] = []
    for word in list(lexer)[1:]:
        if word in ENDS:
            break
        words.append(word)
    return words


def parse(words: list[str]) -> None:
    """Read a command as the program does, without running it; what does not exist is a usage error."""
    command: click.Command = cli
    parent: click.Context | None = None
    while isinstance(command, click.Group):
        if all(word.startswith("-") for word in words):
            return
        parent = command.make_context(command.name, words, parent=parent)
        _, found, words = command.resolve_command(parent, [*parent._protected_args, *parent.args])
        assert found is not None
        command = found
    if words:  # without any, the page speaks of the command
        command.make_context(command.name, words, parent=parent)


def pages() -> list[Path]:
    """The pages that name a command."""
    return [page for page in PAGES if any(list_commands(page.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(TOP).as_posix())
def test_every_command_of_a_page_can_be_typed(page: Path) -> None:
    refused = []
    for number, command in list_commands(page.read_text(encoding="utf-8")):
        try:
            parse(split(command))
        except (click.UsageError, ValueError) as error:
            refused.append(f"{page.name}:{number}: {command}: {error}")

    assert refused == []


@pytest.mark.parametrize("command", ["drumline statsu", "drumline run --fast", "drumline logs step-1 --tail many"])
def test_a_command_that_does_not_exist_is_found(command: str) -> None:
    with pytest.raises(click.UsageError):
        parse(split(command))
