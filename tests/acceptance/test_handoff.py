"""What a step leaves for those behind it: a document with evidence of the engine, and a file where the plan has one."""

from __future__ import annotations

import json
from pathlib import Path

from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import SCRIPTED, make_user, step_text

from drumline.core.documents import find_faults
from drumline.core.handoffdoc import SECTIONS

STEP = """---
step: {number}
title: Part {number}
depends_on: [{needs}]
status: pending
---

## Objective

Write the file.

## Test commands

- `test -f p{number}.txt`
"""
REPORT = "# Task Report\n\n- Status: success\n- Objective Achieved: it is written\n\n# Downstream Context\n\n"


def test_every_step_has_a_handoff_with_all_sections_and_evidence_from_its_checks(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "say": "## Evidence\n\nall is well"})

    user.run()
    text = user.drumline("handoff", "step-1").out
    early = user.drumline("handoff", "step-9")

    assert find_faults(text, sections=SECTIONS, most_bytes=10_000) == []
    assert "result: complete" in text
    assert "- `test -f step-1.txt`: exit code 0, on tree " in text
    assert "> all is well" in text
    assert text.count("\n## Evidence") == 1
    assert "## Downstream plan updates\n\nNone" in text
    assert early.code == 3


def test_what_a_step_calls_a_durable_fact_is_added_to_the_notes_once_and_reaches_all_behind_it(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    steps = {f"plans/q/steps/0{n}-part.md": STEP.format(number=n, needs=n - 1 or "") for n in (1, 2, 3)}
    notes = "# Notes\n\n- Times are in UTC"
    write_files(user, {**steps, "plans/q/NOTES.md": notes, ".drumline/config.toml": 'rigor = "standard"\n'})
    user.commit_all()
    facts = "\n- Durable Facts:\n  - Times are in UTC.\n  - The cache is keyed by\n    tenant, not by\n    user\n"
    told = REPORT.replace("\n\n# Downstream", f"{facts}\n# Downstream")
    user.play(
        {"match": {"step": "02"}, "write": {"p2.txt": "2\n"}, "say": f"{told.replace('keyed by', 'keyed  by')}x"},
        *({"match": {"step": f"0{n}"}, "write": {f"p{n}.txt": "1\n"}, "say": f"{told}x"} for n in (1, 3)),
    )

    ran = user.drumline("run", "plans/q", "--agent", SCRIPTED, "--autonomy", "autopilot")

    text = (user.repo / "plans/q/NOTES.md").read_text(encoding="utf-8")
    run = user.status()["run"]
    assert ran.code == 0, ran.text
    assert text == f"{notes}\n- The cache is keyed by tenant, not by user (step 01, run {run})\n"
    assert "The cache is keyed by tenant, not by user (step 01" in user.prompt("03", 1)


def test_a_phased_plan_gets_the_file_and_its_dependents_get_the_downstream_context(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    write_files(
        user,
        {
            ".drumline/config.toml": 'rigor = "standard"\n',
            "plans/q/steps/01-first.md": STEP.format(number=1, needs=""),
            "plans/q/steps/02-second.md": STEP.format(number=2, needs="1"),
        },
    )
    user.commit_all()
    user.play(
        {"match": {"step": "01"}, "write": {"p1.txt": "1\n"}, "say": f"{REPORT}The port is 4711.\n"},
        {"match": {"step": "02"}, "write": {"p2.txt": "2\n"}, "say": f"{REPORT}Nothing.\n"},
    )

    ran = user.drumline("run", "plans/q", "--agent", SCRIPTED, "--autonomy", "autopilot")

    marked = [(user.repo / f"plans/q/steps/{name}.md").read_text() for name in ("01-first", "02-second")]
    assert ["status: complete" in text for text in marked] == [True, True]
    assert ran.code == 0, ran.text
    written = (user.repo / "plans/q/handoffs/01-first.md").read_text(encoding="utf-8")
    assert find_faults(written, sections=SECTIONS, most_bytes=10_000) == []
    assert written.startswith("---\nstep: 1\n")
    assert "> The port is 4711." in written
    assert "The port is 4711." in user.prompt("02", 1)


HEAL = {"verdict": "heal", "cause": "no", "evidence": "p1.txt:1", "title": "Another way", "approach": "Write it."}


def test_what_a_corrective_step_did_is_handed_over_for_the_step_that_it_landed_for(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    steps = {f"plans/q/steps/0{n}-part.md": STEP.format(number=n, needs=n - 1 or "") for n in (1, 2)}
    write_files(user, {**steps, ".drumline/config.toml": 'rigor = "standard"\nretries = 1\n'})
    user.commit_all()
    user.play(
        {"match": {"node": "diagnose"}, "say": json.dumps(HEAL)},
        {"match": {"step": "01"}, "write": {"wrong.txt": "1\n"}, "say": f"{REPORT}Call wrong().\n"},
        {"match": {"step": "01h"}, "write": {"p1.txt": "1\n"}, "say": f"{REPORT}Call right().\n"},
        {"match": {"step": "02"}, "write": {"p2.txt": "2\n"}, "say": f"{REPORT}Nothing.\n"},
    )

    ran = user.drumline("run", "plans/q", "--agent", SCRIPTED, "--autonomy", "autopilot")

    assert ran.code == 0, ran.text
    written = (user.repo / "plans/q/handoffs/01-part.md").read_text(encoding="utf-8")
    assert find_faults(written, sections=SECTIONS, most_bytes=10_000) == []
    assert written.startswith('---\nstep: 1\ntitle: "Part 1"\nresult: complete\n')
    assert "by its corrective step 01h. It is proved." in written
    assert "## Completed\n\n- `p1.txt`" in written
    assert "`test -f p1.txt`: exit code 0" in written
    assert "exit code 1" not in written
    assert user.drumline("handoff", "01").out == written
    told = user.prompt("02", 1)
    assert "Call right()." in told
    assert "Call wrong()." not in told
    assert "It changed `p1.txt`." in told
