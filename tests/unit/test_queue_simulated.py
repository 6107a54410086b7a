"""Many steps that land through the queue at once, on the pure core alone: what lands passes, and it is fast."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from drumline.core import events as ev
from drumline.core.ids import Commit, StepId, Tree
from drumline.core.queue import (
    Conclude,
    Drop,
    Enter,
    Form,
    Judge,
    Judged,
    Line,
    Prove,
    Queue,
    Repeat,
    Stand,
    Take,
    Wait,
    choose_turn,
    fold_queue,
)
from drumline.core.vocabulary import DropCause
from drumline.record import replace

CHECK = 10
"""Ticks that the checks of a candidate take."""
BASE, OPENED = Commit("base"), Commit("opened")
"""Where all began, and what landed before one of them was ready."""
Content = frozenset[StepId]


@dataclass(kw_only=True)
class Simulation:
    """Steps that all are ready to land. `bad` ones always fail, `pairs` fail together, `clashes` conflict as texts."""

    steps: Sequence[StepId]
    dice: random.Random
    bad: frozenset[StepId] = frozenset()
    pairs: frozenset[Content] = frozenset()
    clashes: frozenset[Content] = frozenset()
    slots: int = 8
    deaths: float = 0.0
    queue: Queue = field(default_factory=Queue)
    contents: dict[Commit, Content] = field(default_factory=lambda: {BASE: frozenset(), OPENED: frozenset()})
    head: Commit = OPENED
    ticks: int = 0
    runs: int = 0
    concluded: dict[StepId, Content] = field(default_factory=dict)
    landed: list[StepId] = field(default_factory=list)
    waits: dict[StepId, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._say(ev.BranchMoved(step=StepId("opener"), old=BASE, new=OPENED, tree=Tree("")))
        self.stands = {step: Stand(step=step, base=BASE, tree=_tree({step})) for step in self.steps}
        self.dead: dict[StepId, int] = {}
        self.busy: dict[StepId, int] = {}

    def play(self) -> None:
        """Let everybody act until nobody is left."""
        while self.stands:
            self.ticks += 1
            assert self.ticks < 200 * CHECK * len(self.steps), "it does not come to an end"
            self.dead = {step: left - 1 for step, left in self.dead.items() if left > 1}
            for step in self.dice.sample(list(self.stands), len(self.stands)):
                self._move(step)

    def _move(self, step: StepId) -> None:
        if step in self.dead or self._is_busy(step):
            return
        if self.deaths and self.dice.random() < self.deaths:
            self.dead[step] = self.dice.randint(1, 3 * CHECK)
            return
        for _ in range(6):
            if not self._act(step):
                return

    def _is_busy(self, step: StepId) -> bool:
        if step not in self.busy:
            return False
        self.busy[step] -= 1
        if self.busy[step]:
            return True
        del self.busy[step]
        stand = self.stands[step]
        passed = self.passes(self._content(stand))
        self.stands[step] = replace(stand, judged=Judged.PASSED if passed else Judged.FAILED)
        return False

    def _content(self, stand: Stand) -> Content:
        return self.contents[stand.base] | {stand.step}

    def passes(self, content: Content) -> bool:
        """Whether the checks pass on these steps together."""
        return not content & self.bad and not any(pair <= content for pair in self.pairs)

    def _say(self, event: ev.Event) -> None:
        self.queue = fold_queue(self.queue, event)

    def _act(self, step: StepId) -> bool:
        """One turn; whether another one follows at once."""
        stand = self.stands[step]
        claimed = [name for name in self.stands if name not in self.dead]
        match choose_turn(Line(queue=self.queue, claimed=claimed), stand):
            case Take(head=head):
                self._say(ev.TicketTaken(step=step, head=head))
            case Form(on=on, head=head):
                self._form(stand, on, head)
            case Prove():
                mine = self.queue.find(step)
                assert mine is not None
                assert mine.commit is not None
                self._say(ev.CandidateProved(step=step, commit=mine.commit))
            case Drop(step=other, cause=cause):
                self._say(ev.CandidateDropped(step=other, cause=cause))
            case Judge():
                if len(self.busy) < self.slots:
                    self.busy[step] = CHECK
                    self.runs += 1
                return False
            case Enter():
                return self._land(stand)
            case Conclude():
                self.concluded[step] = self._content(stand)
                self._leave(step)
                return False
            case Wait() | Repeat():
                return False
        return True

    def _form(self, stand: Stand, on: Commit, head: Commit | None) -> None:
        step, content = stand.step, self.contents[on] | {stand.step}
        ahead = [ticket.step for ticket in self.queue.list_ahead(step)]
        conflicts = any(pair <= content and step in pair for pair in self.clashes)
        if conflicts and ahead:
            self._say(ev.CandidateDropped(step=step, cause=DropCause.CONFLICT, on=on))
            return
        moved = replace(stand, base=on, tree=_tree(content), joined=True, behind=None)
        if conflicts:
            self._say(ev.CandidateDropped(step=step, cause=DropCause.CONFLICT, head=head))
            self.stands[step] = replace(moved, judged=Judged.FAILED)
            return
        commit = Commit(f"{step}.{len(self.contents)}")
        self.contents[commit] = content
        self._say(ev.CandidateFormed(step=step, commit=commit, tree=moved.tree, on=on, head=head))
        self.stands[step] = replace(moved, judged=stand.judged if on == stand.base else Judged.OPEN)

    def _land(self, stand: Stand) -> bool:
        if stand.base != self.head:
            self.stands[stand.step] = replace(stand, behind=self.head)
            return True
        mine = self.queue.find(stand.step)
        commit = mine.commit if mine is not None and mine.commit is not None else Commit(f"{stand.step} alone")
        self.contents[commit] = self._content(stand)
        assert stand.judged is Judged.PASSED
        assert self.passes(self.contents[commit])
        self.head = commit
        self._say(ev.BranchMoved(step=stand.step, old=stand.base, new=commit, tree=stand.tree))
        self.landed.append(stand.step)
        self._leave(stand.step)
        return False

    def _leave(self, step: StepId) -> None:
        if self.queue.find(step) is not None:
            self._say(ev.CandidateDropped(step=step, cause=DropCause.RED))
        self.waits[step] = self.ticks
        del self.stands[step]


def _tree(content: frozenset[StepId] | set[StepId]) -> Tree:
    return Tree(" ".join(sorted(content)))


def names(count: int) -> list[StepId]:
    return [StepId(f"s{number:02d}") for number in range(count)]


def pick_pairs(dice: random.Random, steps: Sequence[StepId], count: int) -> frozenset[Content]:
    return frozenset(frozenset(dice.sample(list(steps), 2)) for _ in range(count))


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(n, marks=pytest.mark.long) for n in range(20, 500))])
def test_what_lands_passes_and_no_innocent_step_goes_back(seed: int) -> None:
    dice = random.Random(seed)
    steps = names(dice.randint(2, 40))
    play = Simulation(
        steps=steps,
        dice=dice,
        bad=frozenset(step for step in steps[1:] if dice.random() < 0.1),
        pairs=pick_pairs(dice, steps, dice.randint(0, 4)),
        clashes=pick_pairs(dice, steps, dice.randint(0, 4)),
        slots=dice.choice([1, 2, 8]),
        deaths=dice.choice([0.0, 0.02]),
    )

    play.play()

    landed = frozenset(play.landed)
    assert landed | play.concluded.keys() == {*steps}
    assert play.passes(landed)
    for step, content in play.concluded.items():
        others = content - {step}
        assert others <= landed
        assert not play.passes(content) or any(step in pair <= content for pair in play.clashes), (step, content)


@pytest.mark.parametrize(("bad", "least"), [(0, 3.0), (8, 2.0)])
def test_a_chain_is_faster_than_one_after_the_other(bad: int, least: float) -> None:
    steps, dice = names(80), random.Random(7)
    chain = Simulation(steps=steps, dice=dice, bad=frozenset(dice.sample(steps[1:], bad)))

    chain.play()

    assert len(steps) * CHECK / chain.ticks >= least
    assert len(chain.landed) >= len(steps) - bad
