"""Random plans through the real engine: whatever meets, the head of a run passes, and nobody's work is lost."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step

from drumline.core import events as ev
from drumline.core.ids import Commit, StepId, Stream
from drumline.core.plan import Step
from drumline.core.vocabulary import StepEnd
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.processes import Ended, Job

KINDS = ("disjoint", "overlapping", "semantic")
LIST = "list.txt"
"""The file that steps of overlapping plans all add a line to."""
MARKS = ("<<<<<<<", "=======", ">>>>>>>")


@dataclass(kw_only=True)
class Scene:
    """A random plan. `pairs` pass alone and fail together unless somebody has joined them; `stubborn` ones never do.

    `listed` are the steps that all change the same lines of one file.
    """

    kind: str
    steps: list[Step]
    pairs: set[tuple[str, str]] = field(default_factory=set)
    stubborn: set[str] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)
    jobs: int = 4

    @classmethod
    def of(cls, kind: str, seed: int, *, least: int, most: int) -> Scene:
        """The plan of a seed."""
        dice = random.Random(f"{kind} {seed}")
        names = [f"s{number}" for number in range(dice.randint(least, most))]
        needs = [dice.sample(names[:at], min(at, dice.choice([0, 0, 1, 2]))) for at in range(len(names))]
        steps = [step(name, *needed) for name, needed in zip(names, needs, strict=True)]
        dice.shuffle(steps)
        scene = cls(kind=kind, steps=steps, jobs=dice.choice([2, 4, 8]))
        if kind == "overlapping":
            scene.listed = {*dice.sample(names, len(names) // 3)}
        if kind == "semantic":
            scene.pairs = {tuple(sorted(dice.sample(names, 2))) for _ in range(len(names) // 3)}  # type: ignore[misc]  # two of them
            scene.stubborn = {name for name in names if dice.random() < 0.05}
        return scene

    def find_fault(self, files: Mapping[str, str]) -> str:
        """What is wrong with a tree; empty if it passes."""
        there = {name.removesuffix(".txt") for name in files if name.startswith("s")}
        wrong = [name for name in there if "+" not in name and files[f"{name}.txt"] != f"{name}\n"]
        apart = [pair for pair in self.pairs if {*pair} <= there and f"{'+'.join(pair)}.txt" not in files]
        listed = files.get(LIST, "").split()
        missing = [name for name in there & self.listed if name not in listed]
        marked = [name for name, text in files.items() if any(mark in text for mark in MARKS)]
        return " ".join(map(str, (*wrong, *apart, *missing, *marked)))


def read_folder(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir() if file.is_file()}


class MixedAgent(WritingAgent):
    """Writes its file and its line; asked again, it joins what does not fit, and resolves conflicts."""

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self._scene = scene

    async def work(self, assignment: Assignment) -> Outcome:
        place, name = assignment.workspace, assignment.step
        if name in self._scene.listed:
            lines = (place / LIST).read_text().split("\n") if (place / LIST).exists() else []
            kept = [line for line in lines if line and not line.startswith(MARKS)]
            (place / LIST).write_text("".join(f"{line}\n" for line in dict.fromkeys((*kept, name))))
        if assignment.attempt > 1 and name not in self._scene.stubborn:
            for one, other in self._scene.pairs:
                if (place / f"{other if one == name else one}.txt").exists() and name in (one, other):
                    (place / f"{one}+{other}.txt").write_text("joined\n")
        return await WritingAgent.work(self, assignment)


def build(scene: Scene, folder: Path, *, mode: str = "parallel", make: type[Harness] = Harness) -> Harness:
    """A run of the plan that nobody has begun to drive."""

    def check(job: Job) -> Ended:
        fault = scene.find_fault(read_folder(job.cwd))
        return Ended(exit_code=1 if fault else 0, seconds=0.0, output=fault)

    plan, jobs = small_plan(*scene.steps), scene.jobs if mode == "parallel" else 1
    return make(
        folder=folder, plan=plan, agent=MixedAgent(scene), jobs=jobs, mode=mode, script=check, configured=("whole",)
    )


def play(scene: Scene, folder: Path, *, mode: str = "parallel", make: type[Harness] = Harness) -> Harness:
    """Drive a plan to its end."""
    harness = build(scene, folder, mode=mode, make=make)
    harness.drive()
    return harness


def assert_sound(scene: Scene, harness: Harness) -> None:
    """The head passes, every landed step is on it under its name once, and only what failed is missing."""
    recorded = [entry.event for entry in harness.store.read(Stream(RUN))]
    known = {one.id for one in scene.steps}
    finished = {event.step: event for event in recorded if isinstance(event, ev.StepFinished) and event.step in known}
    ended = [event for event in recorded if isinstance(event, ev.RunEnded)][-1]
    head = anyio.run(harness.workspaces.head)
    log = harness.workspaces.log()
    landed = {step for step, event in finished.items() if event.state is StepEnd.DONE}
    assert scene.find_fault(harness.workspaces.files(head)) == ""
    assert sorted(name for _, name in log) == sorted(landed)
    assert {commit for commit, _ in log} == {Commit(str(finished[step].commit)) for step in landed}
    assert ended.state == ("done" if landed == known else "blocked")
    # What did not land is kept under the name of its step.
    assert {step for step in finished if step not in landed} <= {step for step, _ in harness.workspaces.kept}
    if not scene.stubborn and not scene.listed:  # those that meet again and again may use up their budget
        assert ended.state == "done", {step: event.reason for step, event in finished.items() if step not in landed}


@pytest.mark.parametrize("kind", KINDS)
def test_a_random_plan_ends_with_a_head_that_passes(kind: str, tmp_path: Path) -> None:
    scene = Scene.of(kind, 0, least=10, most=12)

    assert_sound(scene, play(scene, tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(50))
def test_random_plans_of_all_kinds_end_with_heads_that_pass(seed: int, tmp_path: Path) -> None:
    scene = Scene.of(KINDS[seed % 3], seed, least=10, most=60)

    assert_sound(scene, play(scene, tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 11))
def test_with_disjoint_files_the_tree_is_that_of_one_step_after_the_other(seed: int, tmp_path: Path) -> None:
    scene = Scene.of("disjoint", seed, least=10, most=60)
    side, after = play(scene, tmp_path / "side"), play(scene, tmp_path / "after", mode="sequential")

    heads = [anyio.run(one.workspaces.head) for one in (side, after)]

    trees = [anyio.run(one.workspaces.find_tree, head) for one, head in zip((side, after), heads, strict=True)]
    assert trees[0] == trees[1]
    assert StepId("s0") in {name for _, name in side.workspaces.log()}
