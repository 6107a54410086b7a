"""Who has to log in is told what to type, wherever it is asked for: first the login, then what goes on."""

from __future__ import annotations

import pytest
from tests.unit.builders import Scene, finish, record, step_of
from tests.unit.flowscenes import begin_main, history_of, seen

from drumline.core import events as ev
from drumline.core.flow.events import FlowEnded
from drumline.core.ids import FLOW, StepId
from drumline.core.login import ask_login
from drumline.core.vocabulary import RunEnd, StepEnd, WalkEnd
from drumline.views.progress import Progress
from drumline.views.summary import summary, summary_lines
from drumline.views.why import why

TOLD = ask_login("claude auth login", "Not logged in")
REASON = f"the agent is not logged in: {TOLD}"
LOGIN = "claude auth login"
CASES = [
    (REASON, LOGIN, "claude auth login && drumline retry step-1"),
    (REASON, "", "drumline retry step-1"),
    ("the agent is not logged in: 401", "", "drumline retry step-1"),
]


@pytest.mark.parametrize(("reason", "login", "hint"), CASES)
def test_a_step_is_tried_again_after_the_login_that_it_names_and_not_by_its_words(
    reason: str, login: str, hint: str
) -> None:
    blocked = finish("step-1", "blocked", reason=reason, login=login)
    scene = Scene(steps=[step_of("step-1")], events=[blocked])

    told = Progress(after=2).feed(record(scene.history()), scene.run())

    assert why(scene.snapshot(), StepId("step-1")).hint == hint
    assert told[-1].text == f"step-1 blocked: {reason} → {hint}"


def test_the_summary_names_the_login_once() -> None:
    stuck = [finish(name, "blocked", reason=REASON, login=LOGIN) for name in ("step-1", "step-2")]
    over = ev.RunEnded(state=RunEnd.BLOCKED)
    scene = Scene(steps=[step_of("step-1"), step_of("step-2")], events=[*stuck, over], live=[])

    found = summary(scene.snapshot())

    assert found.next == ("drumline status r1", "drumline logs step-1", CASES[0][2])


@pytest.mark.parametrize(
    ("failure", "login", "hint"),
    [
        (f"auth: {TOLD}", LOGIN, "claude auth login && drumline flow run "),
        (f"auth: {TOLD}", "", "drumline logs --run r1"),
        ("crash: oops", "", "drumline logs --run r1"),
    ],
)
def test_a_flow_is_begun_again_after_the_login(failure: str, login: str, hint: str) -> None:
    reason = f"node 'plan': {failure}"
    finished = ev.StepFinished(step=FLOW, state=StepEnd.FAILED, reason=reason, login=login)
    said = [finished, ev.RunEnded(state=RunEnd.FAILED, reason=reason, step=FLOW)]
    history = history_of(begin_main(), FlowEnded(status=WalkEnd.FAILED, reason=reason), said=said)
    snapshot = seen(history, live=False)

    lines = summary_lines(summary(snapshot))

    assert lines[3].startswith(f"  {hint}")
    assert why(snapshot).hint.startswith(hint)
