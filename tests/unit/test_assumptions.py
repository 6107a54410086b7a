"""What a step takes for granted: only what its text says is there, and the tree does not have, counts as missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from drumline.core.assumptions import Told, TreeFacts, Wanted, assumptions, list_missing, list_wanted
from drumline.core.handoffs import Handoff
from drumline.core.ids import StepId
from drumline.core.plan import Check, Step

CONTEXT = (
    "## Context\n\nThe loader in `src/load.py`:\n\n```python\ndef load(path):\n    ...\n    return read(path)\n```\n"
)


def told(text: str, *commands: str, files: Sequence[str] = (), handoffs: Sequence[Handoff] = ()) -> Told:
    checks = tuple(Check(command=command) for command in commands)
    return Told(step=Step(id=StepId("s"), title="S", files=tuple(files), checks=checks), text=text, handoffs=handoffs)


def left(words: str) -> Handoff:
    return Handoff(step=StepId("a"), title="A", words=words, claimed=True)


def facts(*paths: str, symbols: Sequence[str] = (), texts: Mapping[str, str] | None = None) -> TreeFacts:
    return TreeFacts(paths=paths, symbols=symbols, texts=texts or {})


@pytest.mark.parametrize(
    ("step", "missing"),
    [
        (told("Modify `src/a.py`."), ("`src/a.py` is not there; the step works with it",)),
        (told("Change `load_all()` so that it is fast."), ("the symbol `load_all` is not there; the step changes it",)),
        (
            told("Use `load_all()` of `src/a.py`."),
            (
                "`src/a.py` is not there; the step works with it",
                "the symbol `load_all` is not there; the step works with it in `src/a.py`",
            ),
        ),
        (
            told("## Context\n\n`load_all()` in `src/a.py` reads it.\n"),
            (
                "`src/a.py` is not there; the step works with it",
                "the symbol `load_all` is not there; the step works with it in `src/a.py`",
            ),
        ),
        (told("## Context\n\n- `src/a.py`: the parser\n"), ("`src/a.py` is not there; the step works with it",)),
        (told("x", "bash tools/check.sh"), ("`bash tools/check.sh` executes `tools/check.sh`, which is not there",)),
        (
            told("x", handoffs=[left("Created `src/a.py`.")]),
            ("a (A) says that it made `src/a.py`, which is not there",),
        ),
        (told("x", handoffs=[left("Added `make_it()`.")]), ("a (A) says that it made `make_it`, which is not there",)),
        (
            told("x", handoffs=[left("---\nstep: 1\nresult: partial\n---\n## Summary\n")]),
            ("the handoff of a (A) says that its result is partial",),
        ),
    ],
)
def test_what_the_text_says_is_there_is_missed(step: Told, missing: tuple[str, ...]) -> None:
    assert assumptions(step, facts("README.md")) == missing


@pytest.mark.parametrize(
    "step",
    [
        told("Create `src/a.py` and add `load_all()`."),
        told("As `src/a.py` shows, all is well with `load_all()`."),
        told("Use `json.loads_all()` of a library."),
        told("Add `load_all()` in `src/a.py`, then use `load_all()` of `src/a.py`."),
        told("It is `load_all()` in `src/a.py` that is slow."),
        told("Use `load_all()` from `library`."),
        told("## Context\n\nCreate `src/a.py`.\n"),
        told("Write `tools/check.sh`.", "bash tools/check.sh"),
        told("x", "bash tools/check.sh", files=["tools/check.sh"]),
        told("x", "pytest tests/test_new.py", "test -f x.txt", "./configure", "$HOME/bin/x.sh"),
        told("x", handoffs=[left("See `src/a.py`; `load_all()` is as before.")]),
    ],
)
def test_what_is_made_or_merely_mentioned_is_not_looked_for(step: Told) -> None:
    assert assumptions(step, facts("README.md")) == ()


def test_what_is_there_is_not_missed() -> None:
    step = told(
        f"Modify `src/a.py` and change `load_all()`.\n\n{CONTEXT}",
        "bash tools/check.sh",
        handoffs=[left("Created `src/b.py` with `make_it()`.")],
    )
    paths = ("src/a.py", "src/b.py", "src/load.py", "tools/check.sh")
    text = "def load(path):\n    path = clean(path)\n    return read(path)\n"

    found = assumptions(step, facts(*paths, symbols=("load_all", "make_it"), texts={"src/load.py": text}))

    assert found == ()


def test_a_snippet_that_the_file_does_not_have_any_more_is_named_by_its_line() -> None:
    changed = facts("src/load.py", texts={"src/load.py": "def load(path):\n    return parse(path)\n"})

    assert assumptions(told(CONTEXT), changed) == (
        "`src/load.py` is not as the step shows it: it does not have the line `return read(path)`",
    )
    assert assumptions(told(CONTEXT.replace("```python", "```bash")), changed) == ()


@pytest.mark.parametrize(
    "title", ["# src/load.py", "// src/load.py:3-9", "/* File: src/load.py */", "<!-- src/load.py -->"]
)
def test_a_snippet_may_name_its_file_in_its_first_line(title: str) -> None:
    step = told(f"## Context\n\nThe loader:\n\n```python\n{title}\ndef load(path):\n    return read(path)\n```\n")
    there = facts("src/load.py", texts={"src/load.py": "def load(path):\n    return read(path)\n"})
    changed = facts("src/load.py", texts={"src/load.py": "def load(path):\n"})

    assert list_wanted(step).files == ("src/load.py",)
    assert assumptions(step, there) == ()
    assert assumptions(step, changed) == (
        "`src/load.py` is not as the step shows it: it does not have the line `return read(path)`",
    )
    assert assumptions(step, facts("README.md")) == ("`src/load.py` is not there; the step works with it",)


def test_a_snippet_elsewhere_than_in_the_context_is_what_is_to_be_written() -> None:
    step = told("## Tasks\n\n```python\n# src/load.py\ndef load(path):\n    return read(path)\n```\n")

    assert list_wanted(step) == Wanted()


@pytest.mark.parametrize(
    ("command", "manifest", "text", "missing"),
    [
        ("make unit", "Makefile", "test:\n\tpytest\n", ("`make unit`: Makefile has no `unit`",)),
        ("make test", "Makefile", "test:\n\tpytest\n", ()),
        ("make unit", "Makefile", "include more.mk\n", ()),
        ("npm run lint", "package.json", '{"scripts": {"test": "x"}}', ("`npm run lint`: package.json has no `lint`",)),
        ("npm run lint", "package.json", '{"scripts": {"lint": "x"}}', ()),
        ("npm run lint", "package.json", "broken", ()),
    ],
)
def test_targets_and_scripts_are_looked_up_in_their_file(
    command: str, manifest: str, text: str, missing: tuple[str, ...]
) -> None:
    tree = facts(manifest, texts={manifest: text})

    assert list_wanted(told("x", command)).files == (manifest,)
    assert assumptions(told("x", command), tree) == missing
    assert assumptions(told(f"Change {manifest}.", command), tree) == ()


def test_a_step_that_names_nothing_needs_no_look_at_the_tree() -> None:
    assert list_wanted(told("Write the file.", "test -f x.txt")) == Wanted()


def test_what_is_missing_is_told_as_a_section_of_the_prompt() -> None:
    assert list_missing([]) == ""
    assert list_missing(["a", "b"]) == "## What the step takes for granted and was not found\n\n- a\n- b\n\n"
    assert list_missing([str(n) for n in range(23)]).endswith("- 19\n- and 3 more\n\n")
