"""A graph with the shape of a step runner, a project it works on, and plays that lead it to each of its ends.

`stepper/` is the flow with its bash and jq scripts, `project/` the repository to run it in, `plays/` the files of the
scripted agent. The rule: nothing in them depends on where they are; `lay_out` copies them into a test's folder.

    script → approval → llm → script → agent → three script gates → llm → agent → llm → script → approval → end

| scenario  | answers to the gates, in order                       | end           | exit |
|-----------|------------------------------------------------------|---------------|------|
| complete  | ask_person: approve                                  | STEP_COMPLETE | 0    |
| blocked   | (step=2) ask_blocked: stop                           | STEP_BLOCKED  | 2    |
| rejected  | none                                                 | STEP_REJECTED | 1    |
| failed    | none                                                 | STEP_FAILED   | 1    |
| loops     | ask_person: "say it warmly"; ask_person#2: approve   | STEP_COMPLETE | 0    |
| deviation | ask_deviation: proceed; ask_person: approve          | STEP_COMPLETE | 0    |
| refused   | (play deviation) ask_deviation: reject               | STEP_REJECTED | 1    |
| nobody    | ask_person: approve                                  | STEP_COMPLETE | 0    |

`loops` goes once through each loop: the fix loop (build#2), the review (build#3), a handoff that is not whole
(hand_over#2) and the revision by a person (build#4). `nobody` runs the same graph with agent names that nobody
defines: the default agent is called and a warning names both.

To run one, in the folder that `lay_out` returned and that is a git repository:

    drumline flow run flows/stepper/graph.yaml --agent scripted:plays/X.yaml --model scripted:plays/X.yaml
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
GRAPH = "flows/stepper/graph.yaml"
UNDEFINED = {"coder": "nobody-writes", "code-reviewer": "nobody-reviews"}
"""What the agents are called in the scenario `nobody`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One way through the graph. `answers` are (gate, answer) in the order in which they are asked."""

    name: str
    word: str
    exit_code: int
    answers: tuple[tuple[str, str], ...] = ()
    play: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    agents: Mapping[str, str] = field(default_factory=dict)
    visits: Mapping[str, int] = field(default_factory=dict)
    """How often nodes were visited, where that is what the scenario is about."""

    @property
    def script(self) -> str:
        """The play's file in the folder that was laid out, as an agent and as a model."""
        return f"scripted:plays/{self.play or self.name}.yaml"

    @property
    def command(self) -> list[str]:
        """What to type after `drumline`."""
        given = [text for name, value in self.variables.items() for text in ("--var", f"{name}={value}")]
        return ["flow", "run", GRAPH, "--agent", self.script, "--model", self.script, *given]


APPROVED = (("ask_person", "approve"),)
SCENARIOS = (
    Scenario(name="complete", word="STEP_COMPLETE", exit_code=0, answers=APPROVED, visits={"build": 1, "review": 1}),
    Scenario(
        name="blocked",
        word="STEP_BLOCKED",
        exit_code=2,
        answers=(("ask_blocked", "stop"),),
        variables={"step": "2"},
        visits={"study": 0},
    ),
    Scenario(name="rejected", word="STEP_REJECTED", exit_code=1, visits={"build": 1, "gate_style": 0}),
    Scenario(name="failed", word="STEP_FAILED", exit_code=1, visits={"build": 3, "fix_loop": 3}),
    Scenario(
        name="loops",
        word="STEP_COMPLETE",
        exit_code=0,
        answers=(("ask_person", "say it warmly"), ("ask_person#2", "approve")),
        visits={"build": 4, "fix_loop": 1, "revise": 1, "review": 3, "hand_over": 3},
    ),
    Scenario(
        name="deviation",
        word="STEP_COMPLETE",
        exit_code=0,
        answers=(("ask_deviation", "proceed"), *APPROVED),
        visits={"review": 0},
    ),
    Scenario(
        name="refused",
        word="STEP_REJECTED",
        exit_code=1,
        answers=(("ask_deviation", "reject"),),
        play="deviation",
        visits={"build": 0},
    ),
    Scenario(name="nobody", word="STEP_COMPLETE", exit_code=0, answers=APPROVED, agents=UNDEFINED),
)


def lay_out(folder: Path, *, agents: Mapping[str, str] | None = None) -> Path:
    """Copy project, flow and plays into a folder; `agents` replaces the names of the graph's agents."""
    shutil.copytree(HERE / "project", folder, dirs_exist_ok=True)
    shutil.copytree(HERE / "plays", folder / "plays")
    shutil.copytree(HERE / "stepper", folder / "flows" / "stepper")
    graph = folder / GRAPH
    text = graph.read_text(encoding="utf-8")
    for old, new in (agents or {}).items():
        assert f"agent: {old}\n" in text
        text = text.replace(f"agent: {old}\n", f"agent: {new}\n")
    graph.write_text(text, encoding="utf-8")
    return folder
