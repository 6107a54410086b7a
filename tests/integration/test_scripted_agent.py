"""The scripted agent on real files: what it plays, what it refuses, and how a wrong script is reported."""

from __future__ import annotations

from pathlib import Path

import anyio
import psutil
import pytest
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.core.ids import RunId, StepId
from drumline.errors import InvalidInput
from drumline.ports.agents import Assignment, Outcome


def play(
    folder: Path,
    script: str,
    *,
    step: str = "s1",
    node: str = "implement",
    attempt: int = 1,
    scope: str = "",
    visit: int = 1,
) -> Outcome:
    """Let an agent play a script in `folder/work`."""
    (folder / "play.yaml").write_text(script)
    (folder / "work").mkdir(exist_ok=True)
    processes = supervise(folder)
    (folder / "driver").mkdir(exist_ok=True)
    agent = open_agent("scripted:play.yaml", processes=processes, base=folder)
    assignment = Assignment(
        run=RunId("r1"),
        step=StepId(step),
        node=node,
        attempt=attempt,
        prompt="",
        prompt_file=folder / "prompt",
        workspace=folder / "work",
        log=folder / "logs" / "attempt.log",
        timeout=60,
        scope=scope,
        visit=visit,
    )
    return anyio.run(agent.work, assignment)


def problems_of(folder: Path, script: str | bytes) -> list[str]:
    """What is wrong with a script, one line each, without the folder."""
    (folder / "play.yaml").write_bytes(script if isinstance(script, bytes) else script.encode())
    processes = supervise(folder)
    with pytest.raises(InvalidInput) as caught:
        open_agent("scripted:play.yaml", processes=processes, base=folder)

    assert caught.value.exit_code == 3
    assert "play.yaml" in caught.value.hint
    return [line.removeprefix(f"{folder}/") for line in str(caught.value).splitlines()]


RULES = """
rules:
  - match: {step: s1, node: implement, attempt: 1}
    say: exact
  - match: {step: s1, attempt: 2}
    say: any node
  - match: {node: review}
    say: any step
  - match: {step: 3}
    say: number
  - match: {step: s9}
default: {say: nobody}
"""


@pytest.mark.parametrize(
    ("step", "node", "attempt", "said"),
    [
        ("s1", "implement", 1, "exact"),
        ("s1", "review", 2, "any node"),
        ("s1", "review", 1, "any step"),
        ("3", "implement", 4, "number"),
        ("s9", "implement", 1, ""),
        ("s2", "implement", 1, "nobody"),
    ],
)
def test_the_first_rule_that_fits_is_played(tmp_path: Path, step: str, node: str, attempt: int, said: str) -> None:
    assert play(tmp_path, RULES, step=step, node=node, attempt=attempt) == Outcome(message=said)


@pytest.mark.parametrize(
    ("scope", "visit", "said"),
    [("fix#1", 2, "second visit below"), ("fix#1", 1, "below"), ("", 2, "second visit"), ("", 1, "elsewhere")],
)
def test_a_rule_may_be_meant_for_one_place_in_a_flow(tmp_path: Path, scope: str, visit: int, said: str) -> None:
    script = """
rules:
  - {match: {scope: "fix#1", visit: 2}, say: second visit below}
  - {match: {scope: "fix#1"}, say: below}
  - {match: {visit: 2}, say: second visit}
default: {say: elsewhere}
"""

    assert play(tmp_path, script, scope=scope, visit=visit) == Outcome(message=said)


def test_without_a_fitting_rule_and_default_the_attempt_fails_for_good(tmp_path: Path) -> None:
    outcome = play(tmp_path, "rules: [{match: {step: other}, say: hi}]")

    assert outcome.failure == "permanent"
    assert "'s1'" in outcome.message


def test_files_are_written_then_deleted_then_the_command_runs(tmp_path: Path) -> None:
    (tmp_path / "work/olddir").mkdir(parents=True)
    (tmp_path / "work/olddir/x").write_text("x")

    outcome = play(
        tmp_path,
        """
        default:
          run: "cat a/b.txt > copy.txt; ls; exit 0"
          delete: [gone.txt, olddir, never-there]
          write: {a/b.txt: "one\\r\\ntwo\\n", gone.txt: ""}
          say: "{\\"ok\\": true}"
          usage: {input: 1200, cost_usd: 0.01}
        """,
    )

    assert outcome == Outcome(message='{"ok": true}', usage={"input": 1200, "cost_usd": 0.01})
    assert (tmp_path / "work/copy.txt").read_bytes() == b"one\r\ntwo\n"
    assert sorted(p.name for p in (tmp_path / "work").iterdir()) == ["a", "copy.txt"]


def test_the_transcript_tells_what_was_done_in_order(tmp_path: Path) -> None:
    play(tmp_path, "default: {sleep: 0.01, write: {a: x}, delete: [a], run: echo hi, say: bye}")

    transcript = (tmp_path / "logs/attempt.log").read_text().splitlines()

    assert transcript == ["sleep 0.01", "write a", "delete a", "run echo hi", "hi", "bye"]


def test_a_failing_command_is_a_failed_validation_and_nothing_is_said(tmp_path: Path) -> None:
    outcome = play(tmp_path, "default: {run: 'echo oops; exit 75', say: fine, usage: {input: 1}}")

    assert outcome == Outcome(
        failure="validation", message="'echo oops; exit 75': exit code 75\noops", usage={"input": 1}
    )


def test_work_is_done_before_the_failure_it_ends_with(tmp_path: Path) -> None:
    outcome = play(tmp_path, "default: {write: {half.txt: x}, fail: {class: crash, message: bang}}")

    assert outcome == Outcome(failure="crash", message="bang")
    assert (tmp_path / "work/half.txt").exists()


@pytest.mark.parametrize(
    "act", ["write: {out/x: evil}", "delete: [out/precious]", "write: {link: evil}", "write: {gitlink/config: evil}"]
)
def test_links_that_lead_out_of_the_workspace_are_not_followed(tmp_path: Path, act: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/precious").write_text("precious")
    (tmp_path / "work/.git").mkdir(parents=True)
    (tmp_path / "work/out").symlink_to(tmp_path / "outside")
    (tmp_path / "work/link").symlink_to(tmp_path / "outside/precious")
    (tmp_path / "work/gitlink").symlink_to(".git")

    outcome = play(tmp_path, f"default: {{{act}}}")

    assert outcome.failure == "permanent"
    assert [p.read_text() for p in (tmp_path / "outside").iterdir()] == ["precious"]
    assert list((tmp_path / "work/.git").iterdir()) == []


def test_a_link_itself_may_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work/out").symlink_to(tmp_path / "outside")

    outcome = play(tmp_path, "default: {delete: [out]}")

    assert outcome.failure == ""
    assert not (tmp_path / "work/out").is_symlink()
    assert (tmp_path / "outside").is_dir()


def test_a_write_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    outcome = play(tmp_path, "default: {write: {a: x, a/b: y}}")

    assert outcome.failure == "permanent"
    assert "a" in outcome.message


def test_nothing_that_a_command_started_is_left(tmp_path: Path) -> None:
    outcome = play(tmp_path, "default: {run: '(setsid sleep 61.5 &) ; echo $BASHPID > pid; exit 0'}")

    left = [p for p in psutil.process_iter(["cmdline", "cwd"]) if p.info["cwd"] == str(tmp_path / "work")]

    assert outcome.failure == ""
    assert left == []


WRONG = """rules:
  - match: {stepp: s1, attempt: 0}
    write: {/etc/passwd: x, ../up: x, ok.txt: 5, .git/config: x}
    delete: a.txt
    sleep: soon
  - say: [1]
    fail: {class: sometimes}
    run: 7
  - fail: {message: no class}
    usage: {input: many, output: -1, "": 1}
    say: a
    say: b
  - just text
defaults: {}
"""


def test_every_problem_of_a_script_is_told_with_its_line(tmp_path: Path) -> None:
    found = problems_of(tmp_path, WRONG)

    classes = "transient, quota, auth, billing, missing, crash, killed, timeout, turns, validation, permanent"
    assert sorted(found, key=lambda line: int(line.split(":")[1])) == [
        "play.yaml:2: match has no key 'stepp' (legal: step, node, attempt, scope, visit)",
        "play.yaml:2: attempt must be a whole number of at least 1",
        "play.yaml:3: '/etc/passwd' leaves the workspace",
        "play.yaml:3: '../up' leaves the workspace",
        "play.yaml:3: ok.txt must be text",
        "play.yaml:3: '.git/config' belongs to git",
        "play.yaml:4: delete must be a list",
        "play.yaml:5: sleep must be a number of at least 0",
        "play.yaml:6: say must be text",
        f"play.yaml:7: class: 'sometimes' is not a failure class (legal: {classes})",
        "play.yaml:8: run must be text",
        f"play.yaml:9: class is missing (legal: {classes})",
        "play.yaml:10: usage has no key ''",
        "play.yaml:10: usage input must be a number of at least 0",
        "play.yaml:10: usage output must be a number of at least 0",
        "play.yaml:12: a rule has the key 'say' twice",
        "play.yaml:13: a rule must be a mapping",
        "play.yaml:14: the script has no key 'defaults' (legal: rules, default)",
    ]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("", "play.yaml:1: is empty"),
        ("- a", "play.yaml:1: the script must be a mapping"),
        ("rules:\n  - {say: 'x\n", "play.yaml:3: not YAML"),
        ("a: 1\n---\nb: 2\n", "play.yaml:2: not YAML"),
        (b"default: {say: \xff}", "play.yaml:1: not a readable YAML file"),
        ("x: " + "[" * 5000, "play.yaml:1: "),
        ("default: {say: !!python/object/apply:os.system [ls]}", "play.yaml:1: say must be text"),
        ('default: {say: "\\ud800"}', "play.yaml:1: say must be text"),
        ("default: {delete: ['', 5, '.']}", "play.yaml:1: '' is not a path"),
    ],
)
def test_a_malformed_script_is_refused_with_its_line(tmp_path: Path, script: str | bytes, said: str) -> None:
    assert problems_of(tmp_path, script)[0].startswith(said)


def test_a_missing_script_is_refused_by_name(tmp_path: Path) -> None:
    processes = supervise(tmp_path)

    with pytest.raises(InvalidInput, match=r"nowhere\.yaml: cannot be read"):
        open_agent("scripted:nowhere.yaml", processes=processes, base=tmp_path)
