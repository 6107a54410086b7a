"""Who has to log in is told what to type, wherever it is asked for: first the login, then what goes on."""

from __future__ import annotations

import pytest
from tests.unit.builders import Scene, finish, record, step_of
from tests.unit.flowscenes import begin_main, history_of, seen

from drumline.core import events as ev
from drumline.core.flow.events import FlowEnded
from drumline.core.ids import StepId
from drumline.core.login import ask_login
from drumline.views.progress import Progress
from drumline.views.summary import summary, summary_lines
from drumline.views.why import why

TOLD = ask_login("claude auth login", "Not logged in")
CASES = [
    (f"the agent is not logged in: {TOLD}", "claude auth login && drumline retry step-1"),
    ("the agent is not logged in: 401", "drumline retry step-1"),
]


@pytest.mark.parametrize(("reason", "hint"), CASES)
def test_a_step_is_tried_again_after_the_login(reason: str, hint: str) -> None:
    blocked = finish("step-1", "blocked", reason=reason)
    scene = Scene(steps=[step_of("step-1")], events=[blocked])

    told = Progress(after=2).feed(record(scene.history()), scene.run())

    assert why(scene.snapshot(), StepId("step-1")).hint == hint
    assert told[-1].text == f"step-1 blocked: {reason} → {hint}"


def test_the_summary_names_the_login_once() -> None:
    stuck = [finish(name, "blocked", reason=CASES[0][0]) for name in ("step-1", "step-2")]
    over = ev.RunEnded(state="blocked")
    scene = Scene(steps=[step_of("step-1"), step_of("step-2")], events=[*stuck, over], live=[])

    found = summary(scene.snapshot())

    assert found.next == ("drumline status r1", "drumline logs step-1", CASES[0][1])


@pytest.mark.parametrize(
    ("failure", "hint"),
    [(f"auth: {TOLD}", "claude auth login && drumline flow run "), ("crash: oops", "drumline logs --run r1")],
)
def test_a_flow_is_begun_again_after_the_login(failure: str, hint: str) -> None:
    reason = f"node 'plan': {failure}"
    said = [ev.RunEnded(state="failed", reason=reason)]
    history = history_of(begin_main(), FlowEnded(status="failed", reason=reason), said=said)
    snapshot = seen(history, live=False)

    lines = summary_lines(summary(snapshot))

    assert lines[3].startswith(f"  {hint}")
    assert why(snapshot).hint.startswith(hint)
