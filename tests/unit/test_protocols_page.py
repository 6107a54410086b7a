"""The page about the protocols of other tools: every test that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parents[2]
PAGE = TOP / "docs" / "explanation" / "protocols.md"
SHOWN = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
PLANS = ("Native plans", "Phased plans", "implement.md", "maestro", "waves", "Flow graphs")


def list_rows() -> list[str]:
    """What stands in the second column."""
    rows = [line.split(" | ", 1)[1].rstrip(" |") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [row for row in rows if row != "test"]


def test_every_test_that_the_page_names_is_there() -> None:
    files: dict[str, str] = {}
    for file in (TOP / "tests").rglob("test_*.py"):
        files[file.name] = files.get(file.name, "") + file.read_text(encoding="utf-8")

    named = [SHOWN.fullmatch(row) for row in list_rows()]

    missing = [one[0] for one in named if one and f"def {one[2]}(" not in files.get(one[1], "")]
    assert missing == []
    assert len([one for one in named if one]) > 150


def test_every_test_of_a_whole_protocol_is_on_the_page_and_no_behaviour_is_there_twice() -> None:
    whole = [
        f"`{file.name}::{name}`"
        for file in sorted((TOP / "tests" / "acceptance").glob("test_seed_*.py"))
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "| test |" not in line]

    assert [test for test in whole if test not in PAGE.read_text()] == []
    assert len({row.split(" | ")[0] for row in rows}) == len(rows)


def test_every_row_names_a_test_or_says_what_differs() -> None:
    unclear = [row for row in list_rows() if not SHOWN.fullmatch(row) and not re.match(r"Differs: \S", row)]

    assert unclear == []
    headings = [line[3:] for line in PAGE.read_text().splitlines() if line.startswith("## ")]
    assert [any(heading.startswith(plan) for heading in headings) for plan in PLANS] == [True] * len(PLANS)
