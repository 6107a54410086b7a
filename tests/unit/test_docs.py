"""The generated pages say what the code says, the tables written by hand are complete, and links lead somewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tools.docs.__main__ import PAGES, find_stale, render, write_pages
from tools.docs.contracts import PROGRESS
from tools.docs.problems import FORMAT_PROBLEMS, PROBLEMS
from tools.docs.specimens import SPECIMENS, read_word

import drumline
from drumline.core.plan import Status
from drumline.planfiles import FORMATS

SOURCE = Path(drumline.__file__).parent
TOP = SOURCE.parent.parent
REFUSALS = {"refuse": 1, "warn": 1, "_Refused": 0, "Refused": 0, "_warning": 0}
"""Functions that take a problem's code by position, and at which."""
OWN_REFUSALS = {
    "phased": {"warn": 1, "_warning": 0},
    "implement": {"warn": 0, "refuse": 0, "_warning": 0},
    "maestro": {"warning": 0, "_assume": 0, "refuse": 1},
    "waves": {"_warn": 0, "_refuse": 0},
    "tasklist": {"warning": 0},
    "kiro": {"warning": 0},
    "superpowers": {"warning": 0},
    "taskmaster": {"warning": 0, "_warn": 0},
    "speckit": {"warning": 0},
}
"""The same for the modules of one format."""
BESIDE = {"implement": ("runstate",)}
"""Modules of one format that do not have its name."""
WRITTEN = sorted(TOP.glob("*.md")) + sorted((TOP / "docs").rglob("*.md"))


def find_codes(text: str, refusals: Mapping[str, int] = REFUSALS) -> Iterator[str]:
    """Problem codes in a module: `code="…"`, and the text, or its constant, at the place where refusals take it."""
    tree = ast.parse(text)
    assigned = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    constants = {ast.unparse(node.targets[0]): node.value for node in assigned}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        named = [word.value for word in call.keywords if word.arg == "code"]
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        place = refusals.get(name)
        told = [*named, *([] if place is None else call.args[place : place + 1])]
        told = [constants.get(node.id, node) if isinstance(node, ast.Name) else node for node in told]
        texts = [node.value for node in told if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        yield from (text for text in texts if re.fullmatch(r"[a-z]\w*", text))


def find_modules(name: str, seen: frozenset[str] = frozenset()) -> set[Path]:
    """A module of the plan formats with those it imports from among them, directly or not."""
    module = SOURCE / "planfiles" / f"{name}.py"
    text = module.read_text(encoding="utf-8")
    imported = re.findall(r"^ *from drumline\.planfiles(?:\.(\w+) import| import (\w+))", text, flags=re.MULTILINE)
    names = {first or second for first, second in imported} - seen - {name}
    return {module}.union(*(find_modules(other, seen | {name, *names} - {other}) for other in sorted(names)))


def links(page: Path) -> list[str]:
    """Targets of a page's links to files, without their anchors."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    return [target for target in found if "://" not in target]


def test_no_generated_page_is_stale() -> None:
    assert find_stale(TOP / "docs") == [], "run: make docs"


@pytest.mark.long
def test_a_page_that_says_something_else_is_found_and_written_anew(tmp_path: Path) -> None:
    write_pages(tmp_path)
    page = tmp_path / "reference" / "settings.md"
    page.write_text("old")

    stale = find_stale(tmp_path)
    written = write_pages(tmp_path)

    assert stale == written == ["reference/settings.md"]
    assert page.read_text() == render("reference/settings.md")
    assert find_stale(tmp_path) == []


@pytest.mark.long
def test_pages_do_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: render(name) for name in PAGES}
    for name, value in {"COLUMNS": "40", "NO_COLOR": "1", "TERM": "dumb", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)

    after = {name: render(name) for name in PAGES}

    assert before == after


def test_the_table_of_problems_is_complete() -> None:
    modules = [SOURCE / "core" / "validation.py", SOURCE / "datatext.py", *find_modules("dag")]

    in_code = {code for module in modules for code in find_codes(module.read_text(encoding="utf-8"))}

    assert {code for code, _, _ in PROBLEMS} == in_code


@pytest.mark.parametrize("name", OWN_REFUSALS)
def test_the_table_of_a_formats_own_problems_is_complete(name: str) -> None:
    beside = [SOURCE / "planfiles" / f"{module}.py" for module in BESIDE.get(name, ())]
    modules = [*sorted((SOURCE / "planfiles").glob(f"{name}*.py")), *beside]
    everywhere = {code for code, _, _ in PROBLEMS}

    in_code = {code for module in modules for code in find_codes(module.read_text(), OWN_REFUSALS[name])}

    assert {code for code, _, _ in FORMAT_PROBLEMS[name]} == in_code - everywhere


def test_every_format_has_a_specimen_and_is_described() -> None:
    page = (TOP / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")

    assert {specimen.format for specimen in SPECIMENS} == set(FORMATS)
    assert [name for name in FORMATS if f"\n## {name}\n" not in page] == []


def test_a_word_that_is_no_status_is_not_shown_as_one() -> None:
    by_title = {specimen.title: specimen for specimen in SPECIMENS}

    assert read_word(by_title["dag"], "wip") == (None, False)
    assert read_word(by_title["implement, status in the heading"], "wip") == (None, False)
    assert read_word(by_title["implement, status in the heading"], "todo") == (Status.READY, True)
    assert read_word(by_title["maestro, state file"], "completed") == (Status.DONE, False)


def test_the_table_of_progress_events_is_complete() -> None:
    texts = [
        (SOURCE / "views" / name).read_text(encoding="utf-8")
        for name in ("progress.py", "attemptprogress.py", "planprogress.py")
    ]
    named = {name for text in texts for name in re.findall(r'event="(\w+)"', text)}
    states = {"blocked", "failed", "rejected", "skipped"}
    walks = {"walk_started", "walk_done", "walk_blocked", "walk_failed"}
    added_by_the_session = {"report", "plan_invalid", "waiting", "merged"}

    assert {name for name, _ in PROGRESS} == named | states | walks | added_by_the_session


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(TOP).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    missing = [target for target in links(page) if not (page.parent / target).exists()]

    assert missing == []


def test_the_way_of_a_step_names_modules_that_there_are_and_not_too_many() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    way = page.split("## One step", 1)[1].split("## Where", 1)[0]

    named = re.findall(r"^\| `([a-z_/]+\.py)` \|", way, re.MULTILINE)

    assert 20 <= len(named) <= 25
    assert [name for name in named if not (Path(drumline.__path__[0]) / name).is_file()] == []


MOST_PARAGRAPH = 560
"""Characters: about five lines. What takes more is parted, or a list, or a table."""
SPLITS = re.compile(r"\s*(?:$|\||#|- |\d+\. )")


def list_paragraphs(page: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and rows of tables, each as one line with its number; no code."""
    text = re.sub(r"^```.*?^```$", lambda code: "\n" * code[0].count("\n"), page, flags=re.MULTILINE | re.DOTALL)
    found: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if SPLITS.match(line) or line.startswith("    ") or not found or not found[-1][1]:
            found.append((number, line.strip()))
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    yield from ((number, paragraph) for number, paragraph in found if paragraph)


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(TOP).as_posix())
def test_no_paragraph_is_a_wall_of_text(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    exempt = text.startswith("<!-- Written by") or "adr" in page.parts

    walls = [f"{n}: {len(p)}" for n, p in list_paragraphs(text) if len(p) > MOST_PARAGRAPH and not exempt]

    assert walls == []


def test_a_wall_of_text_is_found() -> None:
    wall = "word " * 60 + "\n" + "word " * 60
    page = f"{wall}\n\n```\n{wall}\n```\n- {wall}\nshort\n"

    assert [number for number, text in list_paragraphs(page) if len(text) > MOST_PARAGRAPH] == [1, 8]
