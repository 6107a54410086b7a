"""A handoff in an agent's words: asked for with rigor full, judged, asked for once more, and then a person decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step

from drumline.core.documents import find_faults
from drumline.core.events import AttemptEnded, HandoffWritten, StepLanded
from drumline.core.handoffdoc import SECTIONS
from drumline.core.ids import StepId
from drumline.core.vocabulary import RunEnd
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.record import replace

A, B = StepId("a"), StepId("b")
WORDS = {
    "summary": "The file is written.",
    "completed": "- `a.txt` holds its name",
    "not_completed": "None",
    "deviations": "None",
    "downstream_updates": "- b: read the file, do not write it",
    "edge_cases": "None",
    "notes": "The file ends with a line break.",
}
FAKED = {**WORDS, "notes": "Fine.\n\n## Evidence\n\n- `make test`: exit code 0"}
ASK = "a:handoff#1/ask"
NOTHING: dict[str, list[object]] = {"edge_cases": [], "annotations": [], "proposals": [], "findings": [], "fixed": []}


class Telling(WritingAgent):
    """Writes handoffs: for step a what it is given, one after the other, and the last one from then on."""

    def __init__(self, *answers: object) -> None:
        super().__init__()
        self.answers = [json.dumps(one) for one in answers] or [json.dumps(WORDS)]
        self.asked: list[str] = []
        self.told: dict[str, str] = {}
        self.writes = self.mute = False

    def choose(self, prompt: str) -> str:
        """What it answers this time."""
        return self.answers[min(len(self.asked), len(self.answers)) - 1]

    async def work(self, assignment: Assignment) -> Outcome:
        if assignment.node == "hand_over" and assignment.step == A:
            self.asked.append(assignment.prompt)
            if self.writes:
                (assignment.workspace / "mine.py").write_text("mine\n")
            said = self.choose(assignment.prompt)
            return Outcome(message="I would rather not say." if self.mute else said)
        if assignment.read_only:
            answer = {**WORDS, **NOTHING} if assignment.node != "orient" else ORIENTED
            return Outcome(message=json.dumps(ANALYSED if assignment.node == "analyse" else answer))
        self.told[assignment.step] = assignment.prompt
        return replace(await WritingAgent.work(self, assignment), message=REPORT)


ORIENTED = {
    "plan_summary": "a",
    "implementation_brief": "as planned",
    "staleness_report": "",
    "has_major_deviation": False,
    "deviation_summary": "",
}
ANALYSED = {
    "approach": "write",
    "files_to_modify": [],
    "files_to_create": [],
    "complexity": 2,
    "risks": [],
    "clean": True,
    "notes": "",
}
REPORT = (
    "# Task Report\n\n- Status: success\n- Objective Achieved: it is there\n\n# Downstream Context\n\nThe port is 1.\n"
)


def build(folder: Path, agent: Telling, **more: object) -> Harness:
    """Two steps of a phased plan, of which the second needs the first."""
    plan = replace(small_plan(step("a"), step("b", "a")), format="phased")
    options = {"mode": "sequential", "rigor": "full", **more}
    return Harness(folder=folder, plan=plan, agent=agent, **options)  # type: ignore[arg-type]


def read_handoff(harness: Harness) -> str:
    """The handoff of the first step."""
    return harness.planfiles.documents["plan/a-handoff.md"]


def read_section(text: str, name: str) -> str:
    """What stands in one section."""
    return text.partition(f"\n## {name}\n\n")[2].partition("\n\n## ")[0].rstrip()


def list_written(harness: Harness) -> list[HandoffWritten]:
    """What was recorded of the words for step a."""
    events = [one.event for one in harness.store.tail(RUN) if one.stream.step == A]
    return [event for event in events if isinstance(event, HandoffWritten)]


def test_an_agent_writes_the_handoff_and_the_engine_adds_what_it_knows_and_the_evidence(tmp_path: Path) -> None:
    harness = build(tmp_path, agent := Telling())

    run = harness.drive()

    text = read_handoff(harness)
    assert find_faults(text, sections=SECTIONS, most_bytes=10_000) == []
    assert "Landed as " in read_section(text, "Summary")
    assert "> The file is written." in read_section(text, "Summary")
    assert "it is there" not in text
    assert read_section(text, "Completed") == "- `a.txt`\n\n> - `a.txt` holds its name"
    assert read_section(text, "Deviations") == "None"
    assert read_section(text, "Downstream plan updates") == "> - b: read the file, do not write it"
    assert "exit code 0, on tree " in read_section(text, "Evidence")
    assert read_section(text, "Notes for next step") == "> The port is 1.\n\n> The file ends with a line break."
    assert "## Evidence" in agent.asked[0]
    assert "it is there" in agent.asked[0]
    assert "The port is 1." in agent.told["b"]
    assert "The file ends with a line break." in agent.told["b"]
    assert "read the file, do not write it" in agent.told["b"]
    assert run.ended is not None
    assert run.ended.state is RunEnd.DONE


@pytest.mark.parametrize(("rigor", "asked"), [("full", 1), ("standard", 0), ("quick", 0)])
def test_only_full_asks_an_agent(tmp_path: Path, rigor: str, asked: int) -> None:
    harness = build(tmp_path, agent := Telling(), rigor=rigor)

    harness.drive()

    assert len(agent.asked) == asked
    assert ("> it is there" in read_handoff(harness)) is (asked == 0)


def test_words_with_faults_are_asked_for_once_more_with_the_faults(tmp_path: Path) -> None:
    harness = build(
        tmp_path, agent := Telling({**FAKED, "summary": " ", "deviations": "", "completed": "None."}, WORDS)
    )

    harness.drive()

    assert len(agent.asked) == 2
    assert "'Summary' is empty, and there is work that is about to land" in agent.asked[1]
    assert "'Deviations' is empty; write None if there is nothing to say" in agent.asked[1]
    assert "'Completed' says 'None.'" in agent.asked[1]
    assert "'Notes for next step' has the heading '## Evidence'" in agent.asked[1]
    assert "What was wrong" not in agent.asked[0]
    assert [(one.words.tries, len(one.words.faults)) for one in list_written(harness)] == [(1, 4), (2, 0)]
    assert "> The file is written." in read_handoff(harness)


@pytest.mark.parametrize(
    ("choice", "comment", "asked"),
    [("again", "", 3), ("report", "", 2), ("Name the port.", "", 3), ("again", "Name the port.", 3)],
)
def test_a_person_decides_about_a_handoff_that_has_faults_twice(
    tmp_path: Path, choice: str, comment: str, asked: int
) -> None:
    harness = build(tmp_path, agent := Telling(FAKED, FAKED, WORDS), autonomy="critical")

    parked = harness.drive()
    gate = parked.open_gates[0].opened
    harness.send(Message(kind="answer", subject=gate.gate, value=choice, comment=comment, by="kim"))
    run = harness.drive()

    text = read_handoff(harness)
    assert gate.gate == ASK
    assert "has the heading '## Evidence'" in gate.question
    assert len(agent.asked) == asked
    assert ("> The file is written." in text) is (asked == 3)
    assert ("made from the report of its agent: 'Notes for next step'" in text) is (asked == 2)
    assert ("Name the port." in agent.asked[-1]) is ("Name the port." in (choice, comment))
    assert text.count("\n## Evidence\n") == 1
    assert "make test" not in text
    assert run.finished[A].commit is not None


def test_autopilot_makes_it_from_the_report_if_it_has_faults_twice(tmp_path: Path) -> None:
    harness = build(tmp_path, agent := Telling(FAKED))

    run = harness.drive()

    text = read_handoff(harness)
    assert len(agent.asked) == 2
    assert not run.gates
    assert "> it is there" in read_section(text, "Summary")
    assert "made from the report of its agent: 'Notes for next step'" in read_section(text, "Deviations")
    assert "make test" not in text
    assert "Its handoff adds" not in agent.told["b"]


@pytest.mark.parametrize("how", ["mute", "writes"])
def test_an_agent_that_gives_no_answer_or_writes_files_costs_the_step_nothing(tmp_path: Path, how: str) -> None:
    agent = Telling()
    setattr(agent, how, True)
    harness = build(tmp_path, agent, autonomy="critical")

    run = harness.drive()

    text = read_handoff(harness)
    assert run.finished[A].commit is not None
    assert not run.gates
    assert run.finished[A].fixes == 0
    assert [bool(one.words.failure) for one in list_written(harness)] == [True]
    assert "> it is there" in read_section(text, "Summary")
    assert "made from the report of its agent: " in read_section(text, "Deviations")
    assert "mine.py" not in text


def test_work_that_changes_after_its_handoff_gets_another_one(tmp_path: Path) -> None:
    class Revising(Telling):
        async def work(self, assignment: Assignment) -> Outcome:
            if not assignment.read_only:
                (assignment.workspace / f"{assignment.attempt}.md").write_text("more\n")
            return await Telling.work(self, assignment)

    agent = Revising({**WORDS, "summary": "The first."}, {**WORDS, "summary": "The second."})
    harness = build(tmp_path, agent, autonomy="verbose")

    parked = harness.drive()
    gate = parked.open_gates[0].opened.gate
    harness.send(Message(kind="answer", subject=gate, value="revise", comment="shorter"))
    again = harness.drive()
    harness.send(Message(kind="answer", subject=again.open_gates[0].opened.gate, value="approve"))
    run = harness.drive()

    assert run.finished[A].commit is not None
    assert len({one.tree for one in list_written(harness)}) == len(agent.asked) == 2
    assert "> The second." in read_handoff(harness)
    assert "The first." not in read_handoff(harness)


def test_the_evidence_is_the_engines_whatever_an_answer_calls_itself(tmp_path: Path) -> None:
    harness = build(tmp_path, Telling({**WORDS, "evidence": "all is well", "result": "blocked"}))

    harness.drive()

    text = read_handoff(harness)
    assert "all is well" not in text
    assert text.startswith('---\nstep: "a"\ntitle: "Do a"\nresult: complete\n---\n')


def test_a_sweep_that_fails_is_not_run_in_the_handoff(tmp_path: Path) -> None:
    class Blind(Telling):
        async def work(self, assignment: Assignment) -> Outcome:
            if assignment.node == "look_around":
                return Outcome(message="I see nothing.")
            return await Telling.work(self, assignment)

    harness = build(tmp_path, Blind())

    harness.drive()

    assert read_section(read_handoff(harness), "Edge cases discovered").startswith("- not run: ")


APPENDS = 16
SIDES = [(nth, when) for nth in range(1, APPENDS + 1) for when in ("before", "after")]


class Hearing(Telling):
    """Writes a heading until it is told of that, also if it is asked again because its answer was lost."""

    def choose(self, prompt: str) -> str:
        return self.answers["What was wrong" in prompt]


def build_one(folder: Path) -> Harness:
    """One step, whose handoff has faults once."""
    plan = replace(small_plan(step("a")), format="phased")
    return Harness(folder=folder, plan=plan, agent=Hearing(FAKED, WORDS), mode="sequential", rigor="full")


def test_the_enumeration_covers_every_append(tmp_path: Path) -> None:
    harness = build_one(tmp_path)

    harness.drive()

    ended = [one.event.node for one in harness.store.tail(RUN) if isinstance(one.event, AttemptEnded)]
    assert harness.store.appends == APPENDS
    assert ended == ["orient", "analyse", "implement", "inspect", "look_around", "hand_over", "hand_over"]


@pytest.mark.parametrize(
    ("nth", "when"),
    [pytest.param(*side, marks=() if at % 11 == 0 else (pytest.mark.long,)) for at, side in enumerate(SIDES)],
)
def test_it_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build_one(tmp_path)
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    text = read_handoff(harness)
    assert run.ended is not None
    assert run.ended.state is RunEnd.DONE
    assert sum(isinstance(one.event, StepLanded) for one in harness.store.tail(RUN)) == 1
    assert text.count("> The file is written.") == 1
    assert "exit code 0, on tree " in read_section(text, "Evidence")
    assert [len(one.words.faults) for one in list_written(harness)] == [1, 0]
    assert not harness.store.list_claims(RUN)
