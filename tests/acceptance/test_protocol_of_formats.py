"""The protocol of a step is the same in every format of plans: deviations, an agent's own word, and its time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import SCRIPTED, Rule, User, gates_of, step_of
from tests.acceptance.test_approach import ANALYSED, MAJOR, ORIENTED
from tests.acceptance.test_clean_plans import PLANS, setup

REPORT = "# Task Report\n\n- Status: success\n"
WORDS = {
    "blocked": "# Task Report\n\n- **Status**: partial\n\n## Blockers\n\n- BLOCKER: Which port?\n",
    "failed": "STEP_FAILED\nReason: half of it is missing\n",
    "plan": '{"status": "impossible", "class": "plan", "blocker": "it is there already", "evidence": "a.py:3"}',
}


def open_user(
    folder: Path, form: str, act: Rule, *, setting: str = 'rigor = "full"', **match: object
) -> tuple[User, str, str]:
    """A user with a plan of this format, its path, and its first step, at which the agent acts so."""
    plan, prefix, files = PLANS[form]
    user, step = setup(folder, files), f"{prefix}1"
    write_files(user, {".drumline/config.toml": f"{setting}\n"})
    plain: list[Rule] = [
        {"match": {"node": "orient"}, "say": json.dumps(ORIENTED)},
        {"match": {"node": "analyse"}, "say": json.dumps(ANALYSED)},
        {"match": {"node": "inspect"}, "say": json.dumps({"clean": True, "notes": ""})},
    ]
    work: list[Rule] = [
        {"match": {"step": f"{prefix}{n}"}, "write": {f"{n}.txt": "good\n"}, "say": REPORT} for n in (1, 2, 3)
    ]
    user.play({**act, "match": {"step": step, **match}}, *plain, *work)
    return user, plan, step


def run(user: User, plan: str, step: str) -> tuple[int, list[str]]:
    """Drive the first step alone; its exit code and the gates that are open."""
    ran = user.drumline("run", plan, "--agent", SCRIPTED, "--autonomy", "critical", "--step", step)
    return ran.code, gates_of(user.status())


@pytest.mark.long
@pytest.mark.parametrize(("said", "state"), [("proceed", "done"), ("abort", "rejected"), ("take the other", "done")])
@pytest.mark.parametrize("form", PLANS)
def test_a_major_deviation_has_three_answers(tmp_path: Path, form: str, said: str, state: str) -> None:
    user, plan, step = open_user(tmp_path, form, {"say": json.dumps(MAJOR)}, node="orient")
    gate = f"{step}:approach#1/deviation"

    parked = run(user, plan, step)
    answered = user.drumline("answer", gate, said, "--resume")

    assert parked == (2, [gate])
    assert step_of(user.status(), step)["state"] == state, answered.text
    if said not in ("proceed", "abort"):
        assert said in user.prompt(step, 3)


@pytest.mark.long
@pytest.mark.parametrize("form", PLANS)
def test_an_agent_out_of_time_is_asked_for_what_is_left(tmp_path: Path, form: str) -> None:
    slow: Rule = {"write": {"half.txt": "half\n"}, "run": "sleep 60"}
    setting = 'rigor = "standard"\nagent_timeout = 1'
    user, plan, step = open_user(tmp_path, form, slow, setting=setting, node="implement", attempt=1)

    code, _ = run(user, plan, step)

    told = step_of(user.status(), step)
    assert (told["attempts"], told["fixes"], told["proved"]) == (2, 0, True), code
    assert "timed out after 1 s" in user.prompt(step, 2)


@pytest.mark.long
@pytest.mark.parametrize(("word", "gate"), [("blocked", "blocked-"), ("failed", ""), ("plan", "plan-")])
@pytest.mark.parametrize("form", PLANS)
def test_an_agents_word_against_its_work_is_heard(tmp_path: Path, form: str, word: str, gate: str) -> None:
    first: Rule = {"write": {"1.txt": "good\n"}, "say": WORDS[word]}
    user, plan, step = open_user(tmp_path, form, first, setting='rigor = "standard"', node="implement", attempt=1)

    code, asked = run(user, plan, step)

    told = step_of(user.status(), step)
    assert [name for name in asked if not name.startswith("wave")] == ([f"{gate}{step}"] if gate else []), code
    assert told["fixes"] == 0
    if not gate:
        assert (told["state"], told["attempts"]) == ("done", 2)
