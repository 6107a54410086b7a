"""Every limit and default that a page names is that of the code: change one, and the page that says otherwise is named.

Figures that were measured name the command that measures them (`make bench`, `make lies`) on their page.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import drumline
from drumline.core import corrections, lessons, mutants, reviewing, risk, routing, taxonomy
from drumline.core.vocabulary import GateKind
from drumline.engine import mutation
from drumline.engine.nodes import compare
from drumline.isolation import homecopy, tokens, watched
from drumline.planfiles import gitwork, preamble, source
from drumline.settings import resolve
from drumline.skills import document

TOP = Path(drumline.__file__).parents[2]
SETTINGS = resolve({}, {}, {}, {})
WORDS = {2: "twice", 3: "three times", 5: "five", 8: "eight", 10: "ten"}
MINUTE, HOUR = 60.0, 3600.0
APPROACH = (TOP / "src/drumline/flows/approach/graph.yaml").read_text(encoding="utf-8")

FIGURES = (
    ("explanation/checks.md", "| `format_timeout`, {:g} minutes |", SETTINGS.format_timeout / MINUTE),
    ("explanation/checks.md", "| `lint_timeout`, {:g} minutes |", SETTINGS.lint_timeout / MINUTE),
    ("explanation/checks.md", "| `build_timeout`, {:g} minutes |", SETTINGS.build_timeout / MINUTE),
    ("explanation/checks.md", "| `check_timeout`, {:g} minutes |", SETTINGS.check_timeout / MINUTE),
    ("explanation/durability.md", "the lease ({:g} s)", SETTINGS.lease),
    ("explanation/durability.md", "One git may take {:g} minutes (`git_timeout`)", SETTINGS.git_timeout / MINUTE),
    ("explanation/durability.md", "After {} kills in a row", {3: "three"}[taxonomy.MOST_KILLS]),
    ("explanation/durability.md", "changed within the last {} seconds", WORDS[int(gitwork.YOUNG)]),
    ("explanation/durability.md", "index changed within the last {:g} s", gitwork.SETTLED),
    ("explanation/homes.md", "a file over {} MB", homecopy.LARGE >> 20),
    ("explanation/homes.md", "files over {} MB", tokens.LIMIT >> 20),
    ("explanation/proof.md", "There are at most {} of a step", WORDS[mutants.MOST]),
    ("explanation/proof.md", "they take at most {} times as long as its checks", WORDS[mutation.MOST_TIMES]),
    ("reference/proof.md", "Of one ignored folder, {:,} files are compared", compare.MOST_READ),
    ("explanation/review.md", "it changes {} files or more", WORDS[risk.MANY_FILES]),
    ("explanation/review.md", "go back to the step's agent {}, without", WORDS[reviewing.MOST_REVIEWS]),
    ("how-to/agents.md", "silent for `agent_idle` ({:g} minutes)", SETTINGS.agent_idle / MINUTE),
    ("how-to/agents.md", "longer than `agent_timeout` ({})", {HOUR: "an hour"}[SETTINGS.agent_timeout]),
    ("how-to/agents.md", "waits {0[0]:g} s, then {0[1]:g} s, and tries again", taxonomy.WAITS),
    ("how-to/agents.md", "see beyond {:,} files of one such folder", watched.MOST_FILES),
    ("how-to/agents.md", "the shipped `orient` says {}", APPROACH.partition("turns: ")[2].partition("\n")[0]),
    ("how-to/agents-for-steps.md", "more than `quota_wait` away ({:g} minutes)", SETTINGS.quota_wait / MINUTE),
    ("how-to/agents-for-steps.md", "left alone for {} at least", {HOUR / 2: "half an hour"}[routing.LONG_TIMER]),
    ("how-to/agents-for-steps.md", "waited for {} times in vain", WORDS[routing.MOST_TIMERS]),
    ("how-to/agents-for-steps.md", "says nothing for `agent_idle` ({:g} minutes)", SETTINGS.agent_idle / MINUTE),
    (
        "how-to/change-how-a-step-is-done.md",
        "if its complexity is {} of 10",
        APPROACH.partition("when: complexity >= ")[2].partition(" ")[0] + " or more",
    ),
    ("how-to/change-how-a-step-is-done.md", "After {} of them", {2: "two"}[corrections.MOST_HEALS]),
    ("how-to/lessons.md", "put the same failure right {} and never failed", WORDS[lessons.ENOUGH]),
    ("how-to/lessons.md", "after {} days without use", lessons.UNUSED_DAYS),
    ("how-to/skills.md", "The file may have {} KiB", document.MAX_FILE >> 10),
    ("how-to/skills.md", "of the text, {} KiB are used", document.MAX_BODY >> 10),
    ("reference/plan-files.md", "at most {} MiB", source.MAX_BYTES >> 20),
    ("reference/plan-files.md", "and {:,} lines", source.MAX_LINES),
    ("reference/plan-files.md", "at most {:,} characters", preamble.BUDGET),
    ("reference/plan-files.md", "after `stale_claim` ({})", {HOUR: "one hour"}[SETTINGS.stale_claim]),
)


@pytest.mark.parametrize(("page", "text", "value"), FIGURES, ids=lambda value: str(value)[:60])
def test_a_figure_of_a_page_is_that_of_the_code(page: str, text: str, value: object) -> None:
    said = " ".join((TOP / "docs" / page).read_text(encoding="utf-8").split())

    assert text.format(value) in said


def test_a_page_names_every_kind_of_gate_of_plans_with_its_answers() -> None:
    table = (TOP / "docs" / "how-to.md").read_text(encoding="utf-8").partition("| gate | when it is asked |")[2]
    of_flows = {GateKind.APPROVAL, GateKind.INPUT}

    assert [kind.value for kind in GateKind if kind not in of_flows and f"`{kind}" not in table] == []
