"""Permissions that an agent of this protocol (ACP) needs from a person. The rule: an answer is to its exact question.

A question is one line, whatever the agent called its tool: no title can pass for a second question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from drumline.agents.acp_updates import find_command, find_paths
from drumline.agents.reading import read_text
from drumline.core.blocked import Reply
from drumline.core.flow.model import Json
from drumline.core.plaintext import strip_controls

LONGEST = 2_000
"""Characters of a question that a person is asked; of a longer one nobody could tell what was allowed."""
YES = re.compile(r"(?:yes|y|allow|allowed|ok|okay)(?![\w'-])", re.IGNORECASE)


def describe(call: Mapping[str, Json]) -> str:
    """A call in a few words: the tool as the agent calls it, and what it is about."""
    title = read_text(call.get("title")) or read_text(call.get("kind")) or "a tool"
    about = find_command(call) or ", ".join(find_paths(call))
    return _flatten(f"{title} ({about})" if about and about not in title else title)


def write_question(call: Mapping[str, Json], reason: str) -> str:
    """What a person is asked about a call; the same call is asked about in the same words."""
    return _flatten(f"May it use {describe(call)}? ({reason}; answer yes or no)")


def find_answer(question: str, answers: Sequence[Reply]) -> bool | None:
    """Whether a person allowed it, by the last answer to exactly this question; None if nobody was asked yet.

    What begins with a yes allows it, any other answer does not. One answer holds for all that was asked together.
    """
    said = [reply.said for reply in answers if question in reply.permissions]
    return YES.match(said[-1].strip()) is not None if said else None


def _flatten(text: str) -> str:
    return " ".join(strip_controls(text).split())
