"""What differs between the configuration that a run has pinned and the present one."""

from __future__ import annotations

from tests.unit.builders import Scene, step_of

from drumline.app.pins import Present, repin
from drumline.core.kinds import CONFIGURED, ENVIRONMENT, PLAN
from drumline.core.plan import Check
from drumline.core.vocabulary import CheckKind
from drumline.record import replace
from drumline.settings import Settings

TYPED, OWN, PLANNED = (
    Check(command=source, source=source, kind=CheckKind.TEST) for source in (ENVIRONMENT, CONFIGURED, PLAN)
)


def test_commands_for_kinds_do_not_differ_while_each_source_names_the_same() -> None:
    run = Scene(steps=[step_of("a")]).run()
    run.started = replace(run.begun, kinds=(TYPED, OWN, PLANNED))
    other = replace(OWN, command="another")

    same, changed = (
        repin(run, Present(settings=Settings(kinds=(kind,)), agent="", profiles={}, commands={}), by="me")
        for kind in (OWN, other)
    )

    assert "kinds" not in same[0].changed
    assert changed[0].kinds == (TYPED, other, PLANNED)
    assert "kinds" in changed[0].changed
