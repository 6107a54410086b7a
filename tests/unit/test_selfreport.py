"""What agents say against their own work is heard where it is a field; prose, code and quotations are not."""

from __future__ import annotations

import json

import pytest

from drumline.core.selfreport import BLOCKED, FAILED, MOST_TEXT, find_denial

TASK_REPORT = """\
I implemented the endpoint.

# Task Report

- **Status**: {status}
- **Objective Achieved**: The login endpoint exists.
- **Files Created**: src/login.py
- **Files Modified**: none
- **Decisions Made**: sessions are cookies
- **Validation**: {validation}
- **Validation Output**: 12 passed, 2 failed
- **Errors**: none
- **Scope Deviations**: none

{blockers}# Downstream Context

- **Key Interfaces Introduced**: none
"""

STEP_REPORT = """\
Status: {status}
Step: step-3
Final frontmatter status: ready
Files changed: src/a.py
Automated Verification: 1/2 passed
- [x] make lint
- [ ] make test
Reason: the database of the tests cannot be reached
Suggested action: start it and retry
"""


def report(status: str = "success", validation: str = "pass", blockers: str = "") -> str:
    return TASK_REPORT.format(status=status, validation=validation, blockers=f"{blockers}\n\n" if blockers else "")


AGAINST = {
    "an object in code after words": (
        'I stopped.\n\n```json\n{"status": "blocked", "blocker": "no key"}\n```\n',
        BLOCKED,
        "no key",
    ),
    "an object": ('{"status": "blocked", "summary": "s", "blocker": "Which port?"}', BLOCKED, "Which port?"),
    "an object after prose": ('I could not.\n\n{"status":"failed","error":"tests"}', FAILED, "tests"),
    "an object over lines": (
        'Done so far.\n{\n  "status": "blocked",\n  "phase": "test",\n  "error": "no key"\n}\n',
        BLOCKED,
        "no key",
    ),
    "a fenced object and nothing else": ('```json\n{"status": "blocked", "error": "no key"}\n```', BLOCKED, "no key"),
    "an object without words": ('{"status": "blocked"}', BLOCKED, "blocked"),
    "a result": ('{"result": "partial", "summary": "half of it"}', FAILED, "half of it"),
    "a task report that failed": (report("failure"), FAILED, "Status**: failure"),
    "a task report that is partial": (report("partial (2 of 3 files)"), FAILED, "partial"),
    "a task report with a picture": (report("❌ Failure"), FAILED, "Failure"),
    "a validation that failed": (report(validation="fail"), FAILED, "Validation**: fail"),
    "a validation that failed with a remark": (report(validation="failed — 2 tests"), FAILED, "2 tests"),
    "a step report that is blocked": (STEP_REPORT.format(status="blocked"), BLOCKED, "cannot be reached"),
    "a step report that failed": (STEP_REPORT.format(status="failed"), FAILED, "cannot be reached"),
    "a step report after prose": (
        "I looked into it.\n\n" + STEP_REPORT.format(status="blocked"),
        BLOCKED,
        "cannot be reached",
    ),
    "an envelope": ("## Result\n\n**Status:** failure\n**Summary:** no compiler\n", FAILED, "no compiler"),
    "a status at the end": ("I tried everything.\n\n**Status:** blocked", BLOCKED, "blocked"),
    "a table": ("## Task Report\n\n| Field | Value |\n|---|---|\n| Status | failure |\n", FAILED, "failure"),
    "the frontmatter of a handoff": (
        "---\nstep: 3\ntitle: x\nresult: blocked\n---\n\n## Summary\nx\n",
        BLOCKED,
        "blocked",
    ),
    "the last status counts": ("## Status\nStatus: success\n\nStatus: failed\n", FAILED, "failed"),
    "a blocker": (
        report(blockers="## Blockers\n\n- BLOCKER: Which port?\n  Context: 80 is taken\n  Required to proceed: a port"),
        BLOCKED,
        "Which port?",
    ),
    "a blocker in code": (report(blockers="## Blockers\n\n```\nE: no route to host\n```"), BLOCKED, "no route"),
    "blockers with headings": (
        report(blockers="## Blockers\n\n### 1. Missing key\n\nThe key of the registry is not set."),
        BLOCKED,
        "The key of the registry",
    ),
    "a blocker that begins with no": ("## Blockers\n\nNo API key is configured.\n", BLOCKED, "No API key"),
    "a blocker that begins with there is": ("## Blockers\n\nThere is no API key.\n", BLOCKED, "There is no API key"),
    "a blocker that begins with none": ("## Blockers\n\nNone of the credentials work.\n", BLOCKED, "None of the"),
    "a blocker although it succeeded": (report(blockers="## Blockers\n\n1. The port is taken"), BLOCKED, "The port"),
    "a field of blockers": ("## Summary\n\n- **Blockers:** the registry is down\n", BLOCKED, "registry is down"),
    "a sentinel": ("STEP_BLOCKED\nStep: 2\nReason: no handoff of step 1\n", BLOCKED, "no handoff of step 1"),
    "a sentinel at the end": ("The tests still fail.\n\nCODER_FAILED\n", FAILED, "CODER_FAILED"),
    "a sentinel in bold": ("**STEP_FAILED**\n\nwhy", FAILED, "why"),
    "a rejection": ("CODER_REJECTED\nThe plan is wrong.", BLOCKED, "The plan is wrong."),
    "a report in a block of code": (
        f"Here it is:\n\n```markdown\n{report('failure')}```\n",
        FAILED,
        "Status**: failure",
    ),
    "a report in code with code in it": (
        "```\n# Task Report\n\n- Status: success\n\n```\n2 failed\n```\n\n- Validation: fail\n```\n",
        FAILED,
        "Validation: fail",
    ),
    "blockers in a report in a block of code": (
        f"```markdown\n{report(blockers='## Blockers' + chr(10) * 2 + '- Which port?')}```\n\nBye.",
        BLOCKED,
        "Which port?",
    ),
    "a report with a numbered heading": ("## 1. Task Report\n\n- Status: failure\n", FAILED, "failure"),
    "blockers below a numbered heading": ("## 3. Blockers\n\n- Which port?\n", BLOCKED, "Which port?"),
    "blockers below a bold line": ("**Blockers**\n\n- Which port?\n", BLOCKED, "Which port?"),
    "open blockers": ("## Open Blockers\n\n- Which port?\n", BLOCKED, "Which port?"),
    "blockers below their field": (
        "# Task Report\n\n- Status: success\n- **Blockers**:\n  - BLOCKER: Which port?\n- Errors: none\n",
        BLOCKED,
        "Which port?",
    ),
    "the result of a validation": (
        report().replace("Validation**", "Validation Result**", 1).replace("pass", "fail", 1),
        FAILED,
        "fail",
    ),
    "a status with its reason": ("# Task Report\n\n- Status: blocked by the missing key\n", BLOCKED, "missing key"),
    "a status below a heading": ("# Task Report\n\n## Status\n\n**Failure**\n\n## Errors\n\nnone\n", FAILED, "Failure"),
    "a validation below a heading": ("# Task Report\n\n- Status: success\n\n## Validation\n\nfail\n", FAILED, "fail"),
    "a status in a heading": ("## Status: blocked\n\nNo key of the registry.\n", BLOCKED, "Status: blocked"),
    "a status in quotation marks": ('---\nstep: 2\nresult: "blocked"\n---\n\n## Summary\nx\n', BLOCKED, "blocked"),
    "a blocker in a box": ("## Blockers\n\n- [ ] Which port?\n", BLOCKED, "Which port?"),
    "blockers that were not resolved": ("## Blockers\n\nDid not resolve blockers of the build.\n", BLOCKED, "resolve"),
    "half a success": (report("partial success"), FAILED, "partial success"),
    "a status of several words": ('{"status": "needs_context", "question": "Which port?"}', BLOCKED, "Which port?"),
    "a conflict of files": (
        "# Task Report\n\n- Status: partial\n\n## File Conflict\n\n- src/a.py, with phase 2\n",
        BLOCKED,
        "src/a.py, with phase 2",
    ),
    "a conflict of files among errors": (
        "# Task Report\n\n- Status: failure\n- Errors: file_conflict: src/a.py\n".replace("failure", "success"),
        BLOCKED,
        "src/a.py",
    ),
    "an error that is a conflict of files": (
        '{"status": "failed", "errors": [{"type": "file_conflict"}], "message": "src/a.py"}',
        BLOCKED,
        "src/a.py",
    ),
    "a blocker of an object that is done": ('{"status": "done", "blocker": "no database"}', BLOCKED, "no database"),
    "an object in indented code": (
        'I stopped:\n\n  ```json\n  {\n    "status": "blocked",\n    "blocker": "no key"\n  }\n  ```\n',
        BLOCKED,
        "no key",
    ),
    "a sentinel with its reason": ("CODER_FAILED: the build is broken\n", FAILED, "the build is broken"),
    "a sentinel as a heading": ("## STEP_FAILED\n\nThe build is broken.\n", FAILED, "The build is broken."),
    "a sentinel and nothing else in code": ("```\nCODER_REJECTED\nPlan: p\n```", BLOCKED, "CODER_REJECTED"),
    "the last sentinel counts": ("STEP_COMPLETE\n\nNo, wait:\n\nSTEP_FAILED\n", FAILED, "STEP_FAILED"),
}


@pytest.mark.parametrize(("message", "kind", "words"), AGAINST.values(), ids=AGAINST.keys())
def test_a_field_against_itself_is_heard_with_its_words(message: str, kind: str, words: str) -> None:
    found = find_denial(message)

    assert found is not None
    assert found.kind == kind
    assert words in found.text


NOTHING_AGAINST = {
    "nothing": "",
    "prose": "All done. The build failed at first and I was blocked by the network, but then it passed.",
    "success": report(),
    "completed": STEP_REPORT.format(status="completed"),
    "skipped": STEP_REPORT.format(status="skipped"),
    "an object that is done": '{"status": "done", "summary": "s", "filesChanged": [], "testsPassed": true}',
    "an object with another word": '{"status": "ok"}',
    "a status that is not a text": '{"status": 500}',
    "a list": '[{"status": "failed"}]',
    "half an object": '{"status": "failed"',
    "an object in the middle": '{"status": "failed"}\n\nThat is what the endpoint returned before; now it is 200.',
    "an example of an answer in code": 'The endpoint returns:\n\n```json\n{"status": "failed", "error": "x"}\n```\n',
    "a field in code": "Done.\n\n```\nStatus: failed\nStep: 3\n```\n",
    "a field in quotes": "The reviewer had said:\n\n> Status: failed\n> Reason: no tests\n\nNow there are tests.",
    "a span of code": "`Status: failed` is what the page shows when the job breaks.",
    "a sentence with a colon": "Status: failed jobs are retried now, and the page says so.",
    "a template": "## Task Report\n\nStatus: blocked | failed | success\n",
    "alternatives": "## Task Report\n\nStatus: success | partial | failure\n",
    "the status of another step": "## Review of step-2\n\nStatus: failed\n\n## Task Report\n\nStatus: success\n",
    "what the step before left": "# Previous handoff\n\n## Result\n\nStatus: blocked\n\n# Report\n\nStatus: success\n",
    "what a program printed": "The health page printed this before the fix:\n\nHealth\nStatus: failed\n\nNow it is up.",
    "test results": "## Test results\n\nStatus: failed\n\n## Summary\n\nAll of them pass now.\n",
    "the last status counts": "## Status\nStatus: failed\n\nStatus: success\n",
    "blockers in code": "Done. A report looks like this:\n\n```\n## Blockers\n- BLOCKER: x\n```\n",
    "sentinels in a list": "The ends are:\n\n- STEP_BLOCKED\n- STEP_FAILED\n- STEP_COMPLETE\n",
    "a sentinel in a sentence": "The script looks for STEP_FAILED in the output.",
    "a sentinel in code": "It prints\n\n```\nSTEP_FAILED\n```\n",
    "a sentence that begins with a sentinel": "One.\n\nSTEP_FAILED: the word that the script prints\n\nThree.\n",
    "an example of a report in code": "The docs show this now:\n\n```\n# Report\n\nStatus: failed\n```\n",
    "a report beside an example of one": f"```\n# Task Report\n\n- Status: failure\n```\n\n{report()}",
    "an object without a blocker": '{"status": "done", "blocker": "none"}',
    "another kind of a type": "## Summary\n\nType: file conflict detection\n",
    "blockers that are gone": "## Resolved Blockers\n\n- The port was taken.\n",
    "a quoted sentinel": "> STEP_FAILED\n\nwas the end of the run that I fixed.",
    "prose below a heading": "## Status\n\nFailed tests are green again.\n\nBlocked by nothing.\n",
    "a status below the heading of something else": "## Task 2\n\n### Validation\n\nfail\n\nNow it does not.\n",
    "a span with a sentinel": "`STEP_FAILED`",
    "a sentinel that was taken back": "STEP_FAILED\n\nAfter the fix:\n\nSTEP_COMPLETE\n",
    "a comment": "Done.\n<!--\nStatus: failed\nSTEP_FAILED\n-->\n",
    "an open fence": "Done:\n```\nSTEP_FAILED\nStatus: failed\n",
    "a validation that was skipped": report(validation="skipped"),
    "a warning": "## Result\n\n**Status:** warning\n",
}


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"status": "blocked", "class": "plan"}, True),
        ({"status": "impossible", "class": "Plan"}, True),
        ({"status": "blocked"}, False),
        ({"status": "blocked", "class": "environment"}, False),
        ({"status": "failed", "class": "plan"}, False),
    ],
)
def test_only_an_object_that_is_blocked_says_by_its_class_that_the_plan_is_wrong(
    fields: dict[str, str], wrong: bool
) -> None:
    found = find_denial(json.dumps({**fields, "blocker": "it is there already", "evidence": "src/a.py:3"}))

    assert found is not None
    assert (found.wrong, found.text) == (wrong, "it is there already\nsrc/a.py:3")


def test_prose_about_a_wrong_plan_is_a_blocker_and_no_more() -> None:
    found = find_denial("## Blockers\n\nThe plan is wrong. Class: plan\n")

    assert found is not None
    assert not found.wrong


@pytest.mark.parametrize("message", NOTHING_AGAINST.values(), ids=NOTHING_AGAINST.keys())
def test_prose_code_quotations_and_reports_about_others_are_not_heard(message: str) -> None:
    assert find_denial(message) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "None",
        "None.",
        "- None",
        "*None*",
        "none",
        "N/A",
        "n/a",
        "NA",
        "–",
        "—",
        "-",
        "No blockers",
        "No blockers.",
        "no blockers encountered",
        "No open blockers remain.",
        "No blocking issues",
        "No remaining blockers at this time",
        "None identified.",
        "None at this time",
        "None - all tests pass",
        "Nothing.",
        "Not applicable",
        "BLOCKER: none",
        "- BLOCKER: none",
        "- [x] the registry was down",
        "All blockers resolved.",
        "<!-- none -->",
        "There are no blockers.",
        "There were no open blockers",
        "I have no blockers at this time.",
        "Currently no blockers",
        "✅ None",
        "None were encountered.",
        "Nothing is blocking.",
        "Not blocked.",
        "No file conflicts",
        "*(none)*",
        "- [ ] None",
        "0",
        "All clear",
        "No unresolved blockers",
        "No significant technical blockers.",
        "I did not encounter any blockers.",
        "Didn't run into blockers",
    ],
)
def test_a_section_that_says_that_there_are_none_names_none(content: str) -> None:
    assert find_denial(report(blockers=f"## Blockers\n\n{content}")) is None


@pytest.mark.parametrize(
    "heading", ["# Blockers", "### Blockers:", "## 🚧 Blockers", "## **Blockers**", "## Blockers ##"]
)
def test_the_heading_is_known_however_it_is_written(heading: str) -> None:
    assert find_denial(f"{heading}\n\nThe port is taken.\n") is not None
    assert find_denial(f"{heading}\n\nNone\n") is None


def test_long_messages_are_read_and_cut() -> None:
    found = find_denial("x\n" * 50_000 + "## Blockers\n\n" + "y" * 10_000)

    assert found is not None
    assert len(found.text) == MOST_TEXT


@pytest.mark.parametrize(
    "message", ["{" * 5_000, "{\n" * 5_000 + "}", "#" * 10_000, "`" * 10_000, "* " * 10_000 + "Status:"]
)
def test_nonsense_is_no_word_against_anybody(message: str) -> None:
    assert find_denial(message) is None
