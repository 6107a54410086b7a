"""The plan of a scenario as files, in any format, and the agent that works on it.

The rule: each attempt adds one line of its own to its step's file, so that work that is lost or played twice shows in
the tree. A step is right once its file has a line that begins with `ok`.
"""

from __future__ import annotations

import json
from pathlib import Path

from tools.soak.scenario import FLOW, TASK, Scenario, Work

AGENT = "soak-agent.sh"
PLANS = {
    "dag": "plans/p",
    "linear": "plans/p.md",
    "phased": "plans/p",
    "implement": "plans/implement.md",
    "maestro": "plans/p.json",
    "waves": "plans/p.json",
    FLOW: "plans/flow",
    TASK: "plans",
}
SHARED = "all.txt"
"""Every step of a plan that has one line adds to it."""


def find_plan(scenario: Scenario) -> str:
    """Where the plan is, from the top of the repository."""
    return PLANS[scenario.format]


def write_plan(repo: Path, scenario: Scenario) -> None:
    """Write the plan's files."""
    place = repo / find_plan(scenario)
    place.parent.mkdir(parents=True, exist_ok=True)
    files = WRITERS[scenario.format](scenario.steps)
    for name, text in files.items():
        path = place / name if name else place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def find_file(step: str) -> str:
    """The file in which a step's work is, from the top of the repository."""
    return f"out/{step}.txt"


def write_check(step: Work) -> str:
    """The command that tells whether the step's work is there."""
    return f"sleep 0.1; grep -q '^ok {step.id} ' {find_file(step.id)}"


def write_agent(folder: Path, scenario: Scenario) -> str:
    """Write the agent and return how `--agent` names it."""
    program = folder / AGENT
    program.write_text(_write_program(scenario), encoding="utf-8")
    program.chmod(0o755)
    if scenario.agent == "command":
        return f"command:bash {program}"
    script = folder / "agent.json"
    script.write_text(json.dumps({"rules": [{"run": f"bash {program}", "say": "done"}]}), encoding="utf-8")
    return f"scripted:{script}"


def _write_program(scenario: Scenario) -> str:
    if scenario.format == FLOW:
        return _write_visitor(scenario)
    wrong = " ".join(step.id for step in scenario.steps if step.wrong)
    times = "\n".join(f"  {step.id}) pause={step.seconds} ;;" for step in scenario.steps)
    shared = f'echo "$word $step attempt $attempt $RANDOM" >> {SHARED}\n' if is_shared(scenario) else ""
    return (
        "set -eu\n"
        "step=$DRUMLINE_STEP attempt=$DRUMLINE_ATTEMPT pause=0.1 word=ok\n"
        f"case $step in\n{times}\nesac\n"
        f'case " {wrong} " in *" $step "*) [ "$attempt" -gt 1 ] || word=wrong ;; esac\n'
        'sleep "$pause"\n'
        "mkdir -p out\n"
        'echo "$word $step attempt $attempt $RANDOM$RANDOM" >> "out/$step.txt"\n'
        f"{shared}"
        'sleep "$pause"\n'
        'echo "wrote $step"\n'
    )


def _write_visitor(scenario: Scenario) -> str:
    """The agent of a flow: it is wrong, where it is to be, until its file is there."""
    wrong = " ".join(step.id for step in scenario.steps if step.wrong)
    return (
        "set -eu\n"
        "step=${DRUMLINE_NODE#make-} word=ok\n"
        f'case " {wrong} " in *" $step "*) [ -e "out/$step.txt" ] || word=wrong ;; esac\n'
        "sleep 0.2\n"
        "mkdir -p out\n"
        'echo "$word $step $RANDOM$RANDOM" >> "out/$step.txt"\n'
        "sleep 0.2\n"
        'echo "wrote $step"\n'
    )


def is_shared(scenario: Scenario) -> bool:
    """Whether all steps also add to one file: only where no two of them can be in work at once."""
    return scenario.format in ("linear", "implement")


def _write_dag(steps: tuple[Work, ...]) -> dict[str, str]:
    files = {"root.md": "---\nplan_type: dag\nstatus: in-progress\n---\n# A plan under fire\n\nA note of the user.\n"}
    for step in steps:
        by_hand = f"\n#### Manual Verification:\n\n- [ ] {step.manual}\n" if step.manual else ""
        files[f"{step.id}.md"] = (
            f"---\nid: {step.id}\nname: Work of {step.id}\ndepends_on: [{', '.join(step.needs)}]\nstatus: ready\n---\n"
            f"# {step.id}: Work of {step.id}\n\nA note of the user.\n\n### Success Criteria:\n\n"
            f"#### Automated Verification:\n\n- [ ] it holds: `{write_check(step)}`\n{by_hand}"
        )
    return files


def _write_linear(steps: tuple[Work, ...]) -> dict[str, str]:
    text = "# A plan under fire\n\nA note of the user.\n"
    for number, step in enumerate(steps, 1):
        text += (
            f"\n## Phase {number}: Work of {step.id}\n\n### Success Criteria:\n\n"
            f"#### Automated Verification:\n\n- [ ] it holds: `{write_check(step)}`\n"
        )
    return {"": text}


def _write_phased(steps: tuple[Work, ...]) -> dict[str, str]:
    files = {"plan.md": "# A plan under fire\n\nA note of the user.\n"}
    for step in steps:
        needs = ", ".join(str(int(need)) for need in step.needs)
        files[f"steps/{step.id}-work.md"] = (
            f"---\nstep: {int(step.id)}\ntitle: Work of {step.id}\ndepends_on: [{needs}]\nstatus: pending\n---\n\n"
            f"A note of the user.\n\n## Test commands\n\n- [ ] `{write_check(step)}`\n"
        )
    return files


def _write_implement(steps: tuple[Work, ...]) -> dict[str, str]:
    text = "# A plan under fire\n\nA note of the user.\n"
    for step in steps:
        text += (
            f"\n### Step {step.id}: Work of {step.id}\n**Status:** pending\n**What:** its line\n"
            f"**Test:** `{write_check(step)}`\n"
        )
    return {"": text}


def _write_maestro(steps: tuple[Work, ...]) -> dict[str, str]:
    phases = [
        {
            "id": int(step.id),
            "name": f"Work of {step.id}",
            "agent": "coder",
            "parallel": True,
            "blocked_by": [int(need) for need in step.needs],
            "files": [find_file(step.id)],
            "checks": [write_check(step)],
        }
        for step in steps
    ]
    return {"": json.dumps({"title": "A note of the user", "phases": phases}, indent=2) + "\n"}


def _write_waves(steps: tuple[Work, ...]) -> dict[str, str]:
    waves: dict[tuple[str, ...], list[dict[str, object]]] = {}
    for step in steps:
        chunk: dict[str, object] = {"id": step.id, "scope": f"Work of {step.id}", "model": "sonnet"}
        waves.setdefault(step.needs, []).append({**chunk, "checks": [write_check(step)]})
    return {"": json.dumps({"plan": "A note of the user", "waves": list(waves.values())}, indent=2) + "\n"}


def _write_flow(steps: tuple[Work, ...]) -> dict[str, str]:
    """For each step an agent, a script and a check that sends it back, one after the other."""
    nodes: dict[str, object] = {}
    after = [*(f"make-{step.id}" for step in steps[1:]), "end"]
    for step, following in zip(steps, after, strict=True):
        nodes[f"make-{step.id}"] = {"type": "agent", "agent": "default", "prompt": "Go.", "next": f"say-{step.id}"}
        nodes[f"say-{step.id}"] = {"type": "script", "script": "say.sh", "next": f"check-{step.id}"}
        judged = {"type": "check", "checks": [write_check(step)], "on_pass": following, "on_fail": f"make-{step.id}"}
        nodes[f"check-{step.id}"] = judged
    nodes["end"] = {"type": "end", "output": "over"}
    flow = {"name": "fire", "description": "A note of the user", "start": f"make-{steps[0].id}", "nodes": nodes}
    return {"flow.yaml": json.dumps(flow, indent=2) + "\n", "say.sh": 'sleep 0.1; echo \'{"said": "yes"}\'\n'}


def _write_nothing(steps: tuple[Work, ...]) -> dict[str, str]:
    """The text of a task is typed."""
    return {}


WRITERS = {
    FLOW: _write_flow,
    TASK: _write_nothing,
    "dag": _write_dag,
    "linear": _write_linear,
    "phased": _write_phased,
    "implement": _write_implement,
    "maestro": _write_maestro,
    "waves": _write_waves,
}
