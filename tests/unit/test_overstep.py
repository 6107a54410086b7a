"""Work that changes files of other steps: its agent hears of it once, then a person decides; nothing of it lands."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.unit.builders import TREE, TREE_2, Scene, attempt, prepared, run_started, step_of
from tests.unit.stepping import advance

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.commands import Attempt, Command, Finish, Park, RunCheck, Undo
from drumline.core.ids import Commit, GateId, StepId
from drumline.core.landing import find_refusal
from drumline.core.orders import orders_for
from drumline.core.overstep import compare_change, list_culprits
from drumline.core.plan import Step
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.strays import Foreign, Strayed
from drumline.core.vocabulary import Ownership, StepEnd
from drumline.record import replace

OWN = replace(step_of("a"), files=("src/a.py",))
OTHER = replace(step_of("b"), files=("src/b.py", "lib/"))
STRAYED = Strayed(foreign=(Foreign(path="src/b.py", owner=StepId("b")),))
TOLD = "the work changes files of other steps: src/b.py (b)"
GATE = gates.ownership(OWN, 2, told=TOLD, paths=("src/b.py",))


def run_of(
    *events: ev.Event,
    steps: Sequence[Step] = (OWN, OTHER),
    ownership: Ownership = Ownership.FOREIGN,
    shared: tuple[str, ...] = (),
    autonomy: str = "critical",
) -> RunState:
    started = replace(run_started(autonomy=autonomy), ownership=ownership, shared=shared)
    return Scene(steps=list(steps), started=started, events=events).run()


def ended(number: int, strayed: Strayed = STRAYED) -> ev.AttemptEnded:
    return ev.AttemptEnded(node="implement", attempt=number, tree=TREE_2, strayed=strayed)


FIRST = [*prepared(), attempt(1), ended(1)]
SECOND = [*FIRST, replace(attempt(2), oversteps=True, complaint="put them back"), ended(2)]


def next_of(run: RunState, events: list[ev.Event]) -> Command:
    return advance(orders_for(run, run.plan.by_id[OWN.id]), fold_step(StepState(), events), run)


def answered(choice: str) -> list[ev.Event]:
    return [GATE, ev.GateAnswered(gate=GATE.gate, choice=choice)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (["src/a.py"], Strayed()),
        (["src/a.py", "src/b.py"], STRAYED),
        (["lib/deep/x.py"], Strayed(foreign=(Foreign(path="lib/deep/x.py", owner=StepId("b")),))),
        (["uv.lock", "web/package-lock.json", "tests/__snapshots__/x.snap"], Strayed()),
        (["README.md"], Strayed(unowned=("README.md",), total=1)),
    ],
)
def test_what_is_changed_is_compared_with_what_every_step_owns(changed: list[str], expected: Strayed) -> None:
    assert compare_change(run_of(), OWN, "", changed) == expected


@pytest.mark.parametrize("entry", ["new/mod.py", "./new/deep/mod.py", "new/**", "new/*.py", "new/"])
def test_a_file_or_link_where_a_folder_of_another_step_is_to_be_is_a_change_of_its_files(entry: str) -> None:
    run = run_of(steps=(OWN, replace(OTHER, files=(entry,))))

    found = compare_change(run, OWN, "", ["new"])

    assert found.foreign == (Foreign(path="new", owner=OTHER.id),)
    assert not compare_change(run, OWN, "", ["newer", "ne"]).foreign


def test_with_strict_nothing_outside_the_own_files_lands_and_with_warn_everything_does() -> None:
    changed = ["README.md", "src/b.py"]

    strict = compare_change(run_of(ownership=Ownership.STRICT), OWN, "", changed)
    warned = compare_change(run_of(ownership=Ownership.WARN), OWN, "", changed)

    assert strict.refused == ("src/b.py", "README.md")
    assert (warned.refused, warned.noted) == ((), STRAYED.foreign)


def test_a_list_that_is_harvested_from_prose_only_warns() -> None:
    run = run_of(steps=(OWN, replace(OTHER, binding=False)))

    found = compare_change(run, OWN, "", ["src/b.py"])

    assert (found.refused, found.noted) == ((), STRAYED.foreign)
    assert found.told == ("changes files that others own: src/b.py (b)",)


def test_what_the_setting_shared_names_belongs_to_all() -> None:
    assert compare_change(run_of(shared=("src/*.py",)), OWN, "", ["src/b.py"]) == Strayed()


def test_what_the_step_calls_out_of_scope_is_refused_although_nobody_owns_it() -> None:
    ruled = "## Out of scope\n\n- `docs/` and `config.toml`\n- the word `frob`\n"
    text = f"# A\n\nUse `docs/x.md`.\n\n{ruled}\n## Notes\n\n`src/z.py`\n"

    found = compare_change(run_of(), OWN, text, ["docs/x.md", "config.toml", "src/z.py"])

    assert (found.out_of_scope, found.unowned) == (("config.toml", "docs/x.md"), ("src/z.py",))


def test_files_of_a_step_that_is_done_belong_to_nobody_any_more() -> None:
    run = run_of(ev.StepStarted(step=OTHER.id), ev.StepFinished(step=OTHER.id, state=StepEnd.DONE))

    assert compare_change(run, OWN, "", ["src/b.py"]).refused == ()
    assert isinstance(next_of(run, SECOND), RunCheck)


def test_the_agent_hears_of_it_once_and_that_uses_up_no_fix() -> None:
    command = next_of(run_of(), FIRST)

    assert isinstance(command, Attempt)
    assert command.oversteps
    assert "src/b.py (b)" in command.complaint
    assert fold_step(StepState(), SECOND).fixes == 0


def test_then_a_person_is_asked_and_with_autopilot_the_step_is_blocked() -> None:
    blocked = next_of(run_of(autonomy="autopilot"), SECOND)

    assert next_of(run_of(), SECOND) == Park(gate=GateId("ownership-a"), opens=GATE)
    assert next_of(run_of(GATE), SECOND) == Park(gate=GATE.gate)
    assert isinstance(blocked, Finish)
    assert (blocked.state, blocked.reason, blocked.opens) == (StepEnd.BLOCKED, TOLD, GATE)


def test_a_person_allows_it_undoes_it_or_rejects_the_step() -> None:
    allowed, undone, rejected = (
        next_of(run_of(*answered(word)), SECOND) for word in (gates.ALLOW, gates.UNDO, "reject")
    )

    assert isinstance(allowed, RunCheck)
    assert undone == Undo(paths=("src/b.py",))
    assert isinstance(rejected, Finish)
    assert rejected.rejected


def test_what_was_allowed_stays_allowed_and_what_comes_later_is_asked_anew() -> None:
    run = run_of(*answered(gates.ALLOW))
    more = Strayed(foreign=(*STRAYED.foreign, Foreign(path="lib/x", owner=StepId("b"))))

    asked = next_of(run, [*SECOND[:-1], ended(2, more)])

    assert isinstance(asked, Park)
    assert asked.opens is not None
    assert (asked.opens.gate, asked.opens.paths) == ("ownership-a.2", ("lib/x",))


def test_landing_refuses_what_nobody_allowed_whatever_the_flow_says() -> None:
    run = run_of()
    state = fold_step(StepState(), SECOND)

    assert find_refusal(orders_for(run, OWN), state, run) == TOLD


def test_files_that_were_put_back_are_told() -> None:
    state = fold_step(StepState(), [*SECOND, ev.WorkChanged(tree=TREE, undone=("src/b.py",))])

    assert (state.tree, state.strayed) == (TREE, Strayed())
    assert state.notices[-1] == "put back as they were before the work: src/b.py"


def test_the_step_whose_files_were_changed_learns_who_did_it() -> None:
    landed = ev.StepFinished(step=OWN.id, state=StepEnd.DONE, commit=a_commit(), files=("src/a.py", "src/b.py"))
    run = run_of(ev.StepStarted(step=OWN.id), landed)

    asked, done = list_culprits(run_of(GATE), OTHER), list_culprits(run, OTHER)

    assert [(one.step, one.paths, one.gate) for one in asked] == [("a", ("src/b.py",), "ownership-a")]
    assert [(one.step, one.paths, one.commit) for one in done] == [("a", ("src/b.py",), a_commit())]


def test_shared_files_name_nobody_and_hide_nobody() -> None:
    victim = replace(OTHER, files=("src/b.py", "uv.lock", "gen/"))
    files = ("gen/x.txt", "src/b.py", "uv.lock")
    landed = ev.StepFinished(step=OWN.id, state=StepEnd.DONE, commit=a_commit(), files=files)
    harmless = replace(landed, files=("gen/x.txt", "uv.lock"))

    def name(finished: ev.StepFinished) -> list[tuple[str, ...]]:
        run = run_of(ev.StepStarted(step=OWN.id), finished, steps=(OWN, victim), shared=("gen/**",))
        return [one.paths for one in list_culprits(run, victim)]

    assert name(landed) == [("src/b.py",)]
    assert name(harmless) == []


def a_commit() -> Commit:
    return Commit("c" * 40)
