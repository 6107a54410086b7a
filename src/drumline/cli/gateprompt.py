"""Asks a gate at the terminal, and stops asking once it has been settled elsewhere.

The rule: nothing is read before a whole line was typed, so that a look at the store fits in between at any time.
"""

from __future__ import annotations

import select
import sys
import termios
from collections.abc import Callable
from typing import Literal

import click

from drumline.cli.output import break_line, say
from drumline.core import gates
from drumline.core.events import GateOpened
from drumline.core.gates import check_reply
from drumline.core.vocabulary import STUCK, GateKind
from drumline.errors import InvalidInput
from drumline.record import Record
from drumline.views.cells import flatten, split_lines
from drumline.views.gates import split_question

POLL = 0.25
"""Seconds between two looks while somebody thinks."""


class Reply(Record):
    """What came of a question: a text was typed, it is left for later, or it is settled without this terminal."""

    kind: Literal["typed", "later", "settled"]
    text: str = ""


WANTED = "What should change"
"""What is asked for where an answer needs words."""
TICKS = {"y": True, "yes": True, "good": True, "n": False, "no": False}
LATER, SETTLED = Reply(kind="later"), Reply(kind="settled")


class Ticks:
    """The items of a gate, ticked one by one: `y` and `n` are about the next item, any other word about all of them."""

    def __init__(self, opened: GateOpened) -> None:
        self._items = opened.items
        self._good: list[bool] = []

    @property
    def left(self) -> int:
        """How many items nobody has judged yet."""
        return len(self._items) - len(self._good)

    @property
    def prompt(self) -> str:
        """What is asked next."""
        if not self.left:
            return "Answer: "
        item, number = self._items[len(self._good)], len(self._good) + 1
        return f"{number} of {len(self._items)}, {flatten(item.step)}: {flatten(item.text).rstrip('.')}. Good? (y/n): "

    @property
    def answer(self) -> str:
        """The answer that the ticks come to, once all items have one; empty before."""
        if self.left or not self._items:
            return ""
        bad = [str(number) for number, good in enumerate(self._good, 1) if not good]
        return f"{gates.NOT_GOOD}:{','.join(bad)}" if bad else gates.CONTINUE

    def take(self, text: str) -> bool:
        """Whether the text is about the next item."""
        good = TICKS.get(text.strip().casefold())
        if good is None or not self.left:
            return False
        self._good.append(good)
        return True


def ask_gate(opened: GateOpened, is_open: Callable[[], bool]) -> Reply:
    """Ask until something legal is typed, Ctrl-D is pressed, or `is_open` says that there is nothing left to ask."""
    if not is_open():
        return SETTLED
    _show(opened)
    ticks = Ticks(opened)
    while True:
        try:
            text = _read_line(ticks.prompt, is_open)
            if text is None:
                return SETTLED
            if opened.options and text.strip().casefold() in ("", "later"):
                return LATER
            if ticks.take(text) and ticks.left:
                continue
            text = ticks.answer or text
            check_reply(opened, text)
        except EOFError:
            say("")
            return LATER
        except UnicodeDecodeError:
            say("that is not text in the encoding of this terminal")
        except InvalidInput as error:
            whole = f"or for all of them {', '.join(opened.options)}"
            one = f"{text!r} is not an answer: y or n for this item, {whole}"
            say(flatten(one if ticks.left and text not in opened.options else str(error)))
        else:
            return Reply(kind="typed", text=text)


def ask_comment(opened: GateOpened, text: str) -> str:
    """What belongs to an answer: a revision needs words, and whatever is not the first option may have some."""
    prompt = choose_comment(opened, text)
    if not prompt:
        return ""
    needed = prompt == WANTED
    return str(
        click.prompt(prompt, err=True) if needed else click.prompt(prompt, default="", show_default=False, err=True)
    )


def choose_comment(opened: GateOpened, text: str) -> str:
    """What a person is asked for beside an answer; empty if that is all."""
    word = text.strip().casefold()
    if opened.kind is GateKind.APPROVE:
        asks = word in (gates.REVISE, gates.REJECT)
    else:
        asks = not opened.free and (text != opened.options[0] or opened.kind in (GateKind.WAVE, *STUCK))
    if not asks:
        return ""
    return WANTED if gates.needs_words(opened, text) else "Comment (optional)"


def _show(opened: GateOpened) -> None:
    """The question; its words may be an agent's, so nothing of them may move the cursor."""
    say("")
    headline, _ = split_question(opened)
    for line in split_lines(opened.question):
        for part in break_line(line, sys.stderr).split("\n"):
            say(click.style(part, bold=True) if line and flatten(line) in headline else part)
    if opened.options:
        others = ", or anything else in your own words" if opened.free else ""
        say(f"  {', '.join(flatten(option) for option in opened.options)}{others}")
    say("  (nothing or Ctrl-D: later)" if opened.options else "  (Ctrl-D: later)")


def _read_line(prompt: str, is_open: Callable[[], bool]) -> str | None:
    """A typed line; None once the question is settled; EOFError for Ctrl-D."""
    click.echo(prompt, err=True, nl=False)
    # A terminal hands over whole lines: until Enter is pressed there is nothing to read, and nothing is lost.
    while not select.select([sys.stdin], [], [], POLL)[0]:
        if not is_open():
            # What was half typed was meant for this question, not for whoever reads next.
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
            say("")
            return None
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removesuffix("\n").removesuffix("\r")
