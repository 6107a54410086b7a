"""Whole runs on the pure core alone: random plans, outcomes, deaths and answers keep what the product promises."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.unit.builders import BASE, COMMIT, RUN, run_started, step_of
from tests.unit.stepping import advance

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core import gates
from drumline.core.acceptance import list_doubts
from drumline.core.decide import decide
from drumline.core.ids import Commit, DriverId, StepId, Tree
from drumline.core.mutants import Mutation, Survivor
from drumline.core.needs import satisfied, settled
from drumline.core.orders import orders_for
from drumline.core.plan import Marks, Status, Step
from drumline.core.proof import Colour, Compared
from drumline.core.routing import has_other, list_workers
from drumline.core.runfold import fold_run
from drumline.core.schedule import Surroundings, obstacle
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.steprules import recover
from drumline.core.stepstate import StepState
from drumline.core.taxonomy import Failure
from drumline.core.vocabulary import DropCause, Mutants
from drumline.record import replace

MOST_MOVES = 4_000
FAILURES = (*[""] * 14, *(failure.value for failure in Failure))
DRIVER = DriverId("d")


@dataclass(kw_only=True)
class Simulation:
    """One run: dice decide what agents, checks, landings and people do; the core decides everything else."""

    steps: list[Step]
    started: ev.RunStarted
    dice: random.Random
    slots: int = 2
    run: RunState = field(default_factory=lambda: RunState(id=RUN))
    states: dict[StepId, StepState] = field(default_factory=dict)
    claimed: dict[StepId, list[ev.Event]] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    landings: list[StepId] = field(default_factory=list)
    most_claims: int = 0
    now: float = 0.0

    def play(self) -> RunState:
        """Move until the run ends; a run that does not is a failure."""
        pinned = ev.PlanPinned(format="dag", title="", steps=tuple(self.steps), digests={})
        fold_run(self.run, [self.started, pinned])
        for _ in range(MOST_MOVES):
            if self.run.ended is not None:
                return self.run
            self._move()
        raise AssertionError("the run does not end")

    def around(self) -> Surroundings:
        """Nobody else marks anything in the files."""
        marks = {step.id: self.run.marks.get(step.id, Marks()) for step in self.steps}
        return Surroundings(
            claimed=frozenset(self.claimed), marks=marks, now=self.now, stale_after=1.0, claim_times={}, patience=50.0
        )

    def _move(self) -> None:
        self._check_that_nothing_stalls()
        if self.claimed and self.dice.random() < 0.7:
            self._drive(self.dice.choice(sorted(self.claimed)))
        elif self.run.parked or self.dice.random() < 0.1:
            self._answer_one()
        else:
            self._decide()
        self.now += self.dice.random()

    def _decide(self) -> None:
        around, before = self.around(), repr(self.run)
        found = decide(self.run, around, slots=self.slots - len(self.claimed))
        again = decide(self.run, around, slots=self.slots - len(self.claimed))
        assert found == again
        assert found
        assert repr(self.run) == before  # nothing is noted in the state
        self.told += [repr(command) for command in found]
        for command in found:
            self._carry_out(command)

    def _carry_out(self, command: cmd.Command) -> None:
        match command:
            case cmd.ClaimStep(step=step):
                self._claim(step)
            case cmd.Ask(opens=opens):
                fold_run(self.run, [opens])
            case cmd.Close():
                fold_run(self.run, [ev.StepFinished(step=command.step, state=command.state, reason=command.reason)])
            case cmd.ParkRun(gates=named, until=until):
                assert named or until
                fold_run(self.run, [ev.RunParked(gates=named, until=until)])
            case cmd.EndRun(state=state, reason=reason):
                assert not self.claimed
                fold_run(self.run, [ev.RunEnded(state=state, reason=reason)])
            case _:
                assert isinstance(command, cmd.Wait)
                assert self.claimed or command.until is not None
                self.now = max(self.now, command.until or 0.0)

    def _claim(self, step: StepId) -> None:
        definition = self.run.plan.by_id[step]
        proceeds = self.run.answer(gates.proceed_id(step)) == "yes"
        assert proceeds or all(need in self.landings for need in definition.needs)
        assert step not in self.claimed
        state = self.states.setdefault(step, StepState())
        fold_step(state, [*recover(state, DRIVER), ev.StepClaimed(driver=DRIVER, token=1)])
        mark = Marks(status=Status.CLAIMED)
        mirrored = ev.PlanMirrored(step=step, marks=mark, path="", digest="")
        fold_run(self.run, [mirrored, ev.StepStarted(step=step, round=self.run.rounds.get(step, 0))])
        self.claimed[step] = []
        self.most_claims = max(self.most_claims, len(self.claimed))

    def _drive(self, step: StepId) -> None:
        """Record the outcome of an open intent, or let its driver die, or take the next decision."""
        if self.dice.random() < 0.1:
            del self.claimed[step]  # its driver died; whoever claims the step next closes what is open as lost
            return
        state, outcome = self.states[step], self.claimed[step]
        if outcome:
            self.landings += [step for event in outcome if isinstance(event, ev.StepLanded)]
            fold_step(state, outcome)
            if any(isinstance(event, ev.AttemptEnded) for event in outcome):
                fold_run(self.run, [ev.UsageCounted(step=step, agent=a, usage=u) for a, u in state.spent.items()])
            self.claimed[step] = []
            return
        for ticket in self.run.queue.tickets:  # as who waits for it does
            if ticket.step not in self.claimed:
                fold_run(self.run, [ev.CandidateDropped(step=ticket.step, cause=DropCause.LOST)])
        command = advance(orders_for(self.run, self.run.plan.by_id[step]), state, self.run)
        self.told.append(f"{step}: {command!r}")
        self._begin(step, command)

    def _begin(self, step: StepId, command: cmd.Command) -> None:
        state = self.states[step]
        leaves = isinstance(command, cmd.Attempt | cmd.Park | cmd.Defer | cmd.Restart)
        if leaves and self.run.queue.find(step) is not None:
            fold_run(self.run, [ev.CandidateDropped(step=step, cause=DropCause.RED)])
        match command:
            case cmd.Park(opens=opens):
                del self.claimed[step]
                fold_step(state, [ev.StepReleased(reason="gate")])
                fold_run(self.run, [opens] if opens else [])
            case cmd.Defer(until=until):
                assert not self._is_any_able(step)
                del self.claimed[step]
                fold_step(state, [ev.StepReleased(reason="quota", until=until)])
                fold_run(self.run, [ev.StepDeferred(step=step, until=until, reason=command.reason)])
            case cmd.Finish():
                del self.claimed[step]
                fold_step(state, [ev.StepReleased(reason=command.state)])
                fold_run(self.run, [ev.StepFinished(step=step, state=command.state, reason=command.reason)])
            case cmd.Restart(round=number):
                fold_step(state, [ev.StepRestarted(round=number)])
            case cmd.Rebase():
                self._rebase(step, command)
            case cmd.TakeTicket(head=head):
                fold_run(self.run, [ev.TicketTaken(step=step, head=head)])
            case cmd.DropTicket(step=other, cause=cause):
                fold_run(self.run, [ev.CandidateDropped(step=other, cause=cause)])
            case cmd.ProveCandidate(commands=commands):
                mine = self.run.queue.find(step)
                assert mine is not None
                assert mine.commit is not None
                fold_run(self.run, [ev.CandidateProved(step=step, commit=mine.commit, commands=commands)])
            case cmd.AwaitTurn(step=other):
                assert other != step
                assert other in self.claimed
            case _:
                intent, outcome = self._act(state, command)
                fold_step(state, [intent])
                self.claimed[step] = [outcome]

    def _rebase(self, step: StepId, command: cmd.Rebase) -> None:
        state, tree, onto = self.states[step], self._tree(), command.onto
        conflicts = ("a.py",) if self.dice.random() < 0.3 and onto != state.base else ()
        dropped = ev.CandidateDropped(step=step, cause=DropCause.CONFLICT, on=onto if command.ahead else None)
        if onto == state.base:
            tree = state.tree or tree
        if onto != state.base and not (conflicts and command.ahead):
            fold_step(state, [ev.WorkRebased(base=onto, ready=Tree("t"), tree=tree, conflicts=conflicts)])
        formed = ev.CandidateFormed(step=step, commit=Commit(f"c {tree}"), tree=tree, on=onto, head=command.head)
        fold_run(self.run, [replace(dropped, head=command.head) if conflicts else formed])

    def _act(self, state: StepState, command: cmd.Command) -> tuple[ev.Event, ev.Event]:
        tree = state.tree or Tree("t")
        match command:
            case cmd.Prepare():
                broken = self.dice.random() < 0.05
                ready = ev.WorkspaceFailed(reason="no space") if broken else ev.WorkspaceReady(tree=Tree("t"))
                return ev.WorkspaceAssigned(path="w", base=BASE), ready
            case cmd.Attempt(attempt=number):
                assert command.budget is None or command.budget > 0
                started = ev.AttemptStarted(
                    node=command.node,
                    attempt=number,
                    tree=tree,
                    agent=command.agent,
                    session=command.session,
                    budget=command.budget,
                )
                return started, self._attempted(command)
            case cmd.RunCheck(number=n, check=check):
                code = self.dice.choice((*[0] * 12, 1, 1, 1, None))
                started_check = ev.CheckStarted(check=n, command=check.command, tree=tree)
                ended = ev.CheckEnded(
                    check=n,
                    command=check.command,
                    tree=tree,
                    tree_after=tree,
                    exit_code=code,
                    failure="tool" if code is None else "",
                    altered=("a.py",) if self.dice.random() < 0.3 else (),
                )
                return started_check, ended
            case cmd.Compare(against=against, checks=numbers):
                found = [Compared(check=n, command="", colour=self.dice.choice([*Colour])) for n in numbers]
                compared = ev.ComparisonEnded(against=against, tree=Tree("t"), found=tuple(found))
                return ev.ComparisonStarted(against=against), compared
            case cmd.Mutate():
                survivor = Survivor(path="a.py", line=1, before="+", after="-")
                tried = Mutation(tried=1, survivors=(survivor,) if self.dice.random() < 0.5 else ())
                return ev.MutantsStarted(tree=tree), ev.MutantsEnded(found=tried)
            case _:
                assert isinstance(command, cmd.Land)
                assert (state.mutants is None) == (self.started.mutants is not Mutants.GATE)
                proofs = [verdict.ended for verdict in state.verdicts.values()]
                assert {(p.exit_code, p.tree, p.tree_after) for p in proofs} == {(0, tree, tree)}
                assert len(proofs) == 2
                return ev.LandingStarted(commit=COMMIT, tree=tree, head=BASE), self._landing(tree)

    def _attempted(self, command: cmd.Attempt) -> ev.AttemptEnded:
        failure = self.dice.choice(FAILURES)
        resets = failure == Failure.QUOTA.value and self.dice.random() < 0.5
        return ev.AttemptEnded(
            node=command.node,
            attempt=command.attempt,
            tree=self._tree(),
            failure=failure,
            resets_at=self.now + self.dice.randrange(1, 100) if resets else None,
            question="Which?" if not failure and self.dice.random() < 0.1 else "",
            session=self.dice.choice(("", "s")),
            usage={"cost_usd": 0.1} if self.dice.random() < 0.5 else {},
        )

    def _is_any_able(self, step: StepId) -> bool:
        state = self.states[step]
        return has_other(list_workers(self.run, self.run.plan.by_id[step]), state)

    def _landing(self, tree: Tree) -> ev.Event:
        if self.dice.random() < 0.1:
            return ev.LandingRefused(reason="checked out")
        if self.dice.random() < 0.2:
            return ev.LandingRefused(reason="others have landed", behind=COMMIT)
        return ev.StepLanded(commit=COMMIT, tree=tree)

    def _tree(self) -> Tree:
        return Tree(f"t{self.dice.randrange(1_000_000)}")

    def _answer_one(self) -> None:
        if self.run.open_gates:
            opened = self.dice.choice(self.run.open_gates).opened
            choice = self.dice.choice(opened.options or ("this",))
            fold_run(self.run, [ev.GateAnswered(gate=opened.gate, choice=choice, comment="so")])
        elif self.run.parked:
            self.now = max(self.now, self.run.parked_until or 0.0)
            fold_run(self.run, [ev.RunResumed(driver=DRIVER)])

    def _check_that_nothing_stalls(self) -> None:
        """Every unsettled step has an owner, an obstacle, or may be claimed: there is no fourth case."""
        around = self.around()
        for step in self.run.selected():
            if settled(self.run, step.id) or step.id in self.claimed:
                continue
            blocker = obstacle(self.run, step, around)
            assert blocker is None or blocker.text
            if blocker is not None and blocker.kind == "needs":
                assert all(not satisfied(self.run, need) for need in blocker.steps)


@st.composite
def simulations(draw: st.DrawFn) -> Callable[[], Simulation]:
    """A maker of one and the same simulation, to be played as often as wanted."""
    size = draw(st.integers(1, 7))
    steps = []
    for number in range(size):
        needs = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        manual = ["look"] if draw(st.booleans()) else []
        step = step_of(f"s{number}", *(f"s{n}" for n in sorted(needs)), checks=2, manual=manual)
        files = ("same.py",) if draw(st.integers(0, 3)) == 0 else ()
        steps.append(replace(step, files=files, alone=draw(st.integers(0, 7)) == 0))
    names = [step.id for step in steps]
    selection = draw(st.none() | st.sets(st.sampled_from(names), min_size=1).map(sorted))
    started = run_started(
        mode=draw(st.sampled_from(["parallel", "sequential"])),
        autonomy=draw(st.sampled_from(["autopilot", "critical", "verbose"])),
        selection=selection,
        named=selection is not None,
    )
    others = draw(st.sampled_from([(), ("x",), ("x", "y")]))
    started = replace(started, mutants=draw(st.sampled_from([*Mutants])))
    started = replace(started, fallback=others, budget=draw(st.sampled_from([None, 0.25, 5.0])))
    seed, slots = draw(st.integers(0, 2**32)), draw(st.integers(1, 4))
    return lambda: Simulation(steps=steps, started=started, dice=random.Random(seed), slots=slots)


@settings(max_examples=some(200), deadline=None)
@given(make=simulations())
def test_every_run_ends_and_says_the_truth(make: Callable[[], Simulation]) -> None:
    simulation = make()

    run = simulation.play()

    assert run.ended is not None
    assert len(simulation.landings) == len(set(simulation.landings))
    assert {s for s, f in run.finished.items() if f.state == "done"} == set(simulation.landings)
    chosen = [step.id for step in run.selected()]
    assert (run.ended.state == "done") == (set(chosen) <= set(simulation.landings)) or _was_stopped(run)
    assert run.ended.state != "done" or not list_doubts(run)
    assert simulation.most_claims <= (1 if run.mode == "sequential" else simulation.slots)


@settings(max_examples=some(30), deadline=None)
@given(make=simulations())
def test_the_same_events_give_the_same_commands(make: Callable[[], Simulation]) -> None:
    one, other = make(), make()

    one.play()
    other.play()

    assert one.told == other.told
    assert one.run == other.run


def _was_stopped(run: RunState) -> bool:
    """Whether a person ended it: at a wave, or because the result was not accepted."""
    said = [(gate.opened.kind, gate.answer.choice) for gate in run.gates.values() if gate.answer is not None]
    return ("wave", "stop") in said or ("accept", "no") in said
