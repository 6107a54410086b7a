"""A made-up run for pictures and examples, folded from events like every other run."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.ids import Commit, DriverId, RunId, StepId, Stream, Tree
from drumline.core.plan import Check, Marks, Plan, Reading, Status, Step
from drumline.core.proof import Level, Reason
from drumline.core.recorded import Recorded
from drumline.core.runfold import fold_run
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import Mode, StepEnd
from drumline.views.snapshot import Snapshot

RUN = RunId("260314-091500-k7m")
DRIVER = DriverId("d-4711-1f2e")
STARTED = 1_773_479_700.0
NOW = STARTED + 95
PATH = "plans/tally"
TITLE = "Tally: a word counter"
BASE, TREE, TREE_AFTER = Commit("5d41402abc4b2a76b9719d911017c592aaaaaaaa"), Tree("a" * 40), Tree("b" * 40)
COMMITS = tuple(Commit(start.ljust(40, "0")) for start in ("9e5adc6c0", "be2b1e554", "b124114c9"))
USED = {"input": 11_600.0, "output": 900.0, "cost_usd": 0.05, "attempts": 1.0}
TABLE: tuple[tuple[str, tuple[int, ...], str], ...] = (
    ("Package", (), 'python3 -c "import tally"'),
    ("Split a text into words", (1,), "python3 -m unittest tests.test_words"),
    ("Read a file or standard input", (1,), "python3 -m unittest tests.test_source"),
    ("Count the words", (2,), "python3 -m unittest tests.test_count"),
    ("Command line", (3, 4), "python3 -m unittest tests.test_table"),
    ("Say how to use it", (1,), 'grep -q "python3 -m tally" README.md'),
)


def sample_steps() -> tuple[Step, ...]:
    """The steps of the plan, in its order."""
    return tuple(
        Step(
            id=StepId(f"step-{number}"),
            title=title,
            needs=tuple(StepId(f"step-{need}") for need in needs),
            checks=(Check(command=command),),
            path=f"{PATH}/step-{number}.md",
        )
        for number, (title, needs, command) in enumerate(TABLE, start=1)
    )


def sample_reading() -> Reading:
    """The plan as `validate` reads it before anything has run."""
    plan = Plan(name="tally", path=PATH, title=TITLE, steps=sample_steps()[:2])
    return Reading(plan=plan, marks={}, digests={})


def sample_snapshot() -> Snapshot:
    """Three steps done, one of them not proved; one being fixed; one waiting; one put to a person."""
    work = _fixing()
    step = StepId("step-4")
    held = Marks(status=Status.CLAIMED)
    return Snapshot(
        run=_run(),
        steps={step: fold_step(StepState(), work)},
        around=Surroundings(
            claimed=frozenset({step}), marks={StepId("step-6"): held}, now=NOW, stale_after=3600.0, claim_times={}
        ),
        owners={step: DRIVER},
        live=[DRIVER],
        answers={},
        started_at=STARTED,
        last_at=NOW - 12,
        now=NOW,
        latest={step: _recorded(work, step)[-1]},
    )


def sample_history() -> list[Recorded]:
    """The run's stream and the stream of the step in work, in journal order."""
    own = _recorded(_history(), StepId(""))
    return [*own, *_recorded(_fixing(), StepId("step-4"), first=len(own) + 1)]


def _run() -> RunState:
    return fold_run(RunState(id=RUN), _history())


def _history() -> list[ev.Event]:
    steps = sample_steps()
    started = ev.RunStarted(
        plan=PATH,
        plan_name="tally",
        plan_digest="",
        branch=f"drumline/tally-{RUN}",
        base=BASE,
        agent="claude",
        mode=Mode.PARALLEL,
        autonomy="critical",
        retries=2,
    )
    pinned = ev.PlanPinned(format="dag", title=TITLE, steps=steps, digests={})
    opened = gates.claim(steps[5], Marks(status=Status.CLAIMED))
    begun = [ev.StepStarted(step=step.id) for step in steps[:4]]
    landed = zip(steps, COMMITS, strict=False)
    done = [_done(step, commit, proved=number != 3) for number, (step, commit) in enumerate(landed, 1)]
    used = ev.UsageCounted(step=steps[3].id, agent="claude", usage=USED)
    return [started, pinned, begun[0], done[0], opened, *begun[1:3], done[1], begun[3], used, done[2]]


def _done(step: Step, commit: Commit, *, proved: bool) -> ev.StepFinished:
    return ev.StepFinished(
        step=step.id,
        state=StepEnd.DONE,
        commit=commit,
        tree=TREE,
        proved=proved,
        level=Level.PROVED if proved else Level.KEPT,
        why=() if proved else (Reason.GREEN_BEFORE,),
        attempts=1,
        checks_passed=1,
        checks_total=1,
    )


def _fixing() -> list[ev.Event]:
    command = TABLE[3][2]
    return [
        ev.StepClaimed(driver=DRIVER, token=7),
        ev.WorkspaceAssigned(path="", base=BASE),
        ev.WorkspaceReady(tree=TREE),
        ev.AttemptStarted(node="implement", attempt=1, tree=TREE),
        ev.AttemptEnded(node="implement", attempt=1, tree=TREE_AFTER, seconds=21.0),
        ev.CheckStarted(check=0, command=command, tree=TREE_AFTER),
        ev.CheckEnded(
            check=0, command=command, tree=TREE_AFTER, tree_after=TREE_AFTER, exit_code=1, log="check-1-1.log"
        ),
        ev.AttemptStarted(node="implement", attempt=2, tree=TREE_AFTER),
    ]


def _recorded(events: Sequence[ev.Event], step: StepId, *, first: int = 1) -> list[Recorded]:
    stream = Stream(RUN, step)
    last = len(events)
    return [
        Recorded(seq=first + n, stream=stream, version=n + 1, at=NOW - 12 - (last - n - 1), event=event)
        for n, event in enumerate(events)
    ]
