"""Commands that write, typed inside an agent or a check: they are refused, whatever the environment says."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, states_of, step_text

DRUMLINE = f"{shlex.quote(sys.executable)} -m drumline"
WORDS = (
    f"run {PLAN} --new --agent {SCRIPTED}",
    f"run {PLAN} --agent {SCRIPTED}",
    "flow run flow.yaml",
    "resume",
    "answer some-gate yes",
    "retry step-1",
    "skip step-1 --reason no",
    "heal step-1",
    "pause",
    "cancel",
    f"trust {PLAN} --accept",
    f"checks {PLAN} --accept",
    "merge",
    "merge --pr",
    "gc --yes --discard",
    "lessons forget x",
    "verify",
    "agents test scripted:x",
)
FEW = WORDS[0], WORDS[2]
"""One for each kind of run: who is inside is found in one place, and every command is tried plainly."""
FLOW = "name: f\nstart: e\nnodes:\n  e: {type: end, output: x}\n"
# As an agent would try it: as it is, and with nothing left in the environment that says who it is.
PLAINLY = ""
CLEANED = 'env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" '
DETACHED = CLEANED + "setsid --wait "
DAEMON = "daemon"
"""Cleaned, in a session of its own, and without the parent that started it."""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        made = make_user(tmp_path, step_text("step-1"))
        (made.repo / "flow.yaml").write_text(FLOW, encoding="utf-8")
        made.commit_all("flow")
        yield made


def write_attempts(user: User, before: str, typed: Sequence[str]) -> str:
    """A program that types the commands and notes the exit codes and what was said."""
    daemon = before == DAEMON
    lines = [f"{'' if daemon else before}{DRUMLINE} {words} >> $said 2>&1; echo $? >> $codes" for words in typed]
    program = user.folder / "home" / "attempts.sh"
    place = user.folder / "home"
    text = "\n".join((f"codes={place}/codes said={place}/said", *lines, f"touch {place}/over", ""))
    program.write_text(text, encoding="utf-8")
    waits = f"until test -e {place}/over; do sleep 0.1; done"
    return f"{CLEANED}setsid --fork bash {program}; {waits}" if daemon else f"bash {program}"


@pytest.mark.parametrize(
    ("place", "before", "words"),
    [
        ("agent", PLAINLY, FEW),
        pytest.param("agent", PLAINLY, WORDS, marks=pytest.mark.long),
        ("check", CLEANED, FEW),
        ("agent", DETACHED, FEW),
        ("agent", DAEMON, FEW),
        pytest.param("check", CLEANED, WORDS, marks=pytest.mark.long),
        pytest.param("agent", DETACHED, WORDS, marks=pytest.mark.long),
        pytest.param("agent", DAEMON, WORDS, marks=pytest.mark.long),
    ],
)
def test_what_a_run_has_started_can_only_look(user: User, place: str, before: str, words: Sequence[str]) -> None:
    command = write_attempts(user, before, words)
    if place == "agent":
        user.play({"match": {"step": "step-1"}, "run": command, "write": {"step-1.txt": "1\n"}})
    else:
        user.path("step-1").write_text(step_text("step-1", checks=[command]), encoding="utf-8")
        user.commit_all("check")

    # A check that is held sees neither the checkout nor the home, so that it could say nothing.
    ran = user.run(env={"DRUMLINE_SANDBOX": "off"} if place == "check" else None)

    said = (user.folder / "home" / "said").read_text(encoding="utf-8")
    codes = (user.folder / "home" / "codes").read_text(encoding="utf-8").split()
    assert ran.code == 0, ran.text
    typed = len(words) * (1 if place == "agent" else 2)  # a check is executed without the work, too
    assert codes == ["3"] * typed, said
    assert said.count("a person has to say this") == typed
    assert said.count("next: drumline") == typed
    assert states_of(user.status()) == {"step-1": "done"}
    assert len(user.git("for-each-ref", "refs/heads/drumline").splitlines()) == 1


def test_what_a_run_has_started_may_look_and_may_run_plans_of_other_repositories(user: User, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    other = make_user(tmp_path / "second", step_text("step-1"))
    looking = f"{DRUMLINE} status --json && {DRUMLINE} run {PLAN} --dry-run --agent {SCRIPTED}"
    running = f"cd {other.repo} && {DRUMLINE} run {PLAN} --agent {SCRIPTED}"
    user.play({"match": {"step": "step-1"}, "run": f"({looking}) && ({running})", "write": {"step-1.txt": "1\n"}})

    ran = user.run()

    assert ran.code == 0, ran.text
    assert states_of(other.status()) == {"step-1": "done"}
