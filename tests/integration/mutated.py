"""Documents as accidents make them: a good one with random cuts, copies, swaps and foreign pieces, by seed."""

from __future__ import annotations

import random

PIECES = (
    "---\n", "```\n", "~~~\n", "\n", "\r\n", "\r", "\t", "    ", "- [ ] ", "- [x] `a`\n", "> ", "## ", "# Phase 1: x\n",
    "## Phase 3: x\n", "### ", "|", "| a | b |\n", "|---|---|\n", "`", "``", "[", "]", "{", "}", ":", ": ", "&a ", "*a",
    "\ufeff", "\x00", "\x0b", "\u2028", "é", "\U0001f600", "status: done\n", "depends_on: [\n", "step: x\n", "id: \n",
    "<!--", "-->", "<pre>\n", "-->", " --> ", "& ", "\\", "'", '"', "!!python/object ", "result: complete\n", "0" * 40,
)  # fmt: skip


def mutate(document: str, seed: int) -> str:
    """The document after one to six accidents; the same seed gives the same."""
    chance = random.Random(seed)
    text = document
    for _ in range(chance.randint(1, 6)):
        text = _accident(text, chance)
    return text


def _accident(text: str, chance: random.Random) -> str:
    start = chance.randint(0, len(text))
    end = min(len(text), start + chance.choice((0, 1, 1, 3, 10, 40, 200)))
    match chance.randint(0, 5):
        case 0:
            return text[:start] + text[end:]
        case 1:
            return text[:end] + text[start:]
        case 2:
            lines = text.splitlines(keepends=True)
            chance.shuffle(lines)
            return "".join(lines)
        case 3:
            return text.replace("\n", chance.choice(("\r\n", "\r", "\n\n")))
        case _:
            return text[:start] + chance.choice(PIECES) + text[end if chance.random() < 0.5 else start :]
