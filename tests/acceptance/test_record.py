"""`--record FILE`: what a run left behind can be had again from the file alone, and no secret is in it."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.acceptance.cli_flows import flow_text, flow_user, write_files
from tests.acceptance.cli_user import PLAN, User, leaving_nothing, make_user, step_text, wait_for

WORKER = r"""
import os, pathlib, sys, time
step, attempt = os.environ["DRUMLINE_STEP"], os.environ["DRUMLINE_ATTEMPT"]
def put(name, raw, mode=0o644):
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    path.chmod(mode)
if step == "step-1":
    put("logo.bin", bytes(range(256)) * 40)
    put("windows.txt", b"one\r\ntwo\r\n")
    put("latin.txt", b"caf\xe9\n")
    put("bare.txt", b" no newline at the end  ")
    put("deep/er/empty", b"")
    put("\u00fcml\u00e4ut \u2028.txt", "gr\u00fc\u00df \U0001f600\n\n\n".encode())
    put("tool.sh", b"#!/bin/sh\n", 0o755)
    put("README.md", b"hello\n   \n\n\tthere \n")
    os.symlink("README.md", "link")
    os.rename("old/name.txt", "new-name.txt")
    os.remove("gone.txt")
    os.chmod("plain.sh", 0o755)
elif attempt == "1":
    put("half.txt", b"half\n")
    put("step-2.txt", b"wrong\n")
else:
    os.remove("half.txt")
    put("step-2.txt", b"right\n")
print("did", step, attempt)
"""
CHECK = "grep -q right step-2.txt"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        folder = tmp_path / "one"
        folder.mkdir()
        user = make_user(
            folder,
            step_text("step-1", checks=("test -L link",)),
            step_text("step-2", ["step-1"], checks=(CHECK,)),
        )
        write_files(user, {"old/name.txt": "moved\n" * 30, "gone.txt": "x\n", "plain.sh": "echo\n"})
        user.commit_all()
        (folder / "worker.py").write_text(WORKER)
        yield user


def move_to_a_fresh_clone(user: User, folder: Path) -> User:
    """Another machine with nothing but what was committed."""
    (folder / "home").mkdir(parents=True)
    user.git("clone", "-q", "--no-local", "--single-branch", "--branch", "main", str(user.repo), str(folder / "repo"))
    return User(folder=folder, repo=folder / "repo")


def hire(user: User) -> str:
    """The agent that does all kinds of things to files."""
    return f"command:{shlex.quote(sys.executable)} {shlex.quote(str(user.folder / 'worker.py'))}"


def tree_of(user: User) -> str:
    """What the newest run left on its branch."""
    return user.git("rev-parse", f"{user.branch()}^{{tree}}")


def test_a_recorded_run_played_in_a_fresh_clone_gives_the_same_tree(user: User, tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"
    ran = user.run("--record", str(record), agent=hire(user))
    other = move_to_a_fresh_clone(user, tmp_path / "two")

    played = other.run(agent=f"scripted:{record}")

    assert (ran.code, played.code) == (0, 0), ran.text + played.text
    assert tree_of(other) == tree_of(user)
    assert other.step("step-2")["attempts"] == user.step("step-2")["attempts"] == 2
    assert f"recorded in {record}" in ran.err


def test_a_rule_is_there_for_every_attempt_with_what_was_said(user: User, tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"

    user.run("--record", str(record), agent=hire(user), env={"DRUMLINE_REVIEW": "none"})

    rules = yaml.safe_load(record.read_text())["rules"]
    assert [(rule["match"]["step"], rule["match"]["attempt"], rule["say"]) for rule in rules] == [
        ("step-1", 1, "did step-1 1"),
        ("step-2", 1, "did step-2 1"),
        ("step-2", 2, "did step-2 2"),
    ]
    assert rules[2]["patch"].startswith("diff --git a/half.txt b/half.txt\ndeleted file mode 100644\n")


def test_a_killed_run_leaves_a_file_with_what_had_concluded(user: User, tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"
    user.play({"match": {"step": "step-1"}, "write": {"link": "x"}}, {"match": {"step": "step-2"}, "sleep": 600})
    user.edit("step-1", "test -L link", "test -f link")
    user.commit_all()
    driver = user.start("run", PLAN, "--agent", "scripted:agent.yaml", "--record", str(record))

    wait_for(lambda: record.exists() and "step-1" in record.read_text(), "the first step was not recorded")
    driver.send_signal(signal.SIGKILL)
    driver.communicate()

    assert [rule["match"]["step"] for rule in yaml.safe_load(record.read_text())["rules"]] == ["step-1"]


def test_no_secret_is_in_a_recording_and_people_are_told_what_is_missing(user: User, tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"
    secret, shaped = "correct-horse-battery", "ghp_" + "a1B2" * 9
    script = (
        f"import os, pathlib\nprint('my key is {shaped}')\n"
        "token = os.environ['DEPLOY_TOKEN']\n"
        "pathlib.Path('settings.ini').write_text('token = ' + token + '\\n')\n"
        "pathlib.Path('blob.bin').write_bytes(b'\\xff\\x00' + token.encode())\n"
        "with open('step-2.txt', 'a') as file: file.write('right')\n"
        "os.path.islink('link') or os.symlink('README.md', 'link')\n"
    )
    (user.folder / "worker.py").write_text(script)
    write_files(user, {".drumline/config.toml": '[agents.command]\nenv = ["DEPLOY_TOKEN"]\n'})

    ran = user.run("--record", str(record), agent=hire(user), env={"DEPLOY_TOKEN": secret})

    assert ran.code == 0, ran.text
    text = record.read_text()
    assert secret not in text
    assert shaped not in text
    first = yaml.safe_load(text)["rules"][0]
    assert first["write"] == {"settings.ini": "token = [secret]\n"}
    assert first["say"] == "my key is [secret]"
    assert "secrets were left out of blob.bin, settings.ini" in ran.err


@pytest.mark.parametrize("failure", [pytest.param("auth", marks=pytest.mark.long), "crash"])
def test_work_that_another_agent_took_over_is_played_by_the_script_alone(
    user: User, tmp_path: Path, failure: str
) -> None:
    record = tmp_path / "record.yaml"
    # One step is enough: whoever plays a takeover rests for ten seconds before the other agent's part.
    user.play(
        {"match": {"step": "step-1"}, "write": {"half.txt": "h"}, "fail": {"class": failure, "message": "I cannot"}},
        {"match": {"step": "step-2"}, "write": {"step-2.txt": "right, too\n"}},
    )
    fallback = user.folder / "other.yaml"
    fallback.write_text("default: {run: 'ln -sfn README.md link; echo right >> step-2.txt', say: ok}\n")
    ran = user.run("--record", str(record), env={"DRUMLINE_FALLBACK": f"scripted:{fallback}"})
    other = move_to_a_fresh_clone(user, tmp_path / "two")

    played = other.run(agent=f"scripted:{record}")

    assert (ran.code, played.code) == (0, 0), ran.text + played.text
    assert tree_of(other) == tree_of(user)
    assert "half.txt" in other.git("ls-tree", "--name-only", other.branch())


@pytest.mark.parametrize("place", ["agent.yaml", "nowhere/record.yaml", "."])
def test_a_file_that_is_somebody_elses_is_refused_before_anything_begins(user: User, place: str) -> None:
    before = (user.repo / "agent.yaml").read_text()

    ran = user.run("--record", place)

    assert ran.code == 3
    assert (user.repo / "agent.yaml").read_text() == before
    assert user.drumline("runs", "--json").json["runs"] == []


def test_a_recording_can_be_made_anew(user: User, tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"
    user.run("--record", str(record), agent=hire(user))

    again = user.run("--record", str(record), "--new", "--step", "step-1", agent=hire(user))

    assert "is not a recording" not in again.text


# --- flows ------------------------------------------------------------------------------------------------------

FLOW = flow_text(
    "build",
    {
        "build": {
            "type": "agent",
            "agent": "default",
            "prompt": "Go.",
            "state_updates": {"a": "{{output}}"},
            "next": "think",
        },
        "think": {
            "type": "llm",
            "prompt": "Think.",
            "tools": ["fs_cat.sh", "fs_write.sh"],
            "state_updates": {"b": "{{output}}"},
            "next": "end",
        },
        "end": {"type": "end", "output": "{{a}} {{b}}"},
    },
    global_tools=["fs_cat.sh", "fs_write.sh"],
)
PLAY = """\
rules:
  - match: {node: build}
    write: {made.txt: "made\\n", deep/note.txt: "n"}
    delete: [sub/old.txt]
    say: built
    usage: {input: 7}
  - match: {node: think}
    write: {thought.txt: "t\\n"}
    say: thought
"""


@pytest.mark.parametrize("where", [".", "sub"])
def test_a_recorded_flow_played_elsewhere_does_the_same(where: str, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    files = {"flow.yaml": FLOW, "play.yaml": PLAY, "sub/old.txt": "o\n", "sub/sub/old.txt": "o\n"}
    with flow_user(tmp_path / "one", files) as user:
        other = move_to_a_fresh_clone(user, tmp_path / "two")
        here, there = user.repo / where, other.repo / where
        flow, record = str(user.repo / "flow.yaml"), str(here / "record.yaml")
        script = f"scripted:{user.repo / 'play.yaml'}"
        ran = user.drumline("flow", "run", flow, "--agent", script, "--record", record, cwd=here)

        played = other.drumline("flow", "run", flow, "--agent", f"scripted:{record}", cwd=there)

    assert (ran.code, played.code) == (0, 0), ran.text + played.text
    assert played.out == ran.out == "built thought\n"
    assert (there / "made.txt").read_text() == "made\n"
    assert (there / "thought.txt").read_text() == "t\n"
    assert not (there / "sub/old.txt").exists()
    assert user.git("status", "--porcelain", "-uall").replace("?? record.yaml\n", "").replace(
        "?? sub/record.yaml\n", ""
    ) == other.git("status", "--porcelain", "-uall")
    rules = yaml.safe_load(Path(record).read_text())["rules"]
    assert [(rule["match"]["node"], rule["match"]["visit"], rule["match"]["scope"]) for rule in rules] == [
        ("build", 1, ""),
        ("think", 1, ""),
    ]
    assert rules[0]["usage"] == {"input": 7.0, "replayed": 1}


def test_agents_that_work_side_by_side_in_one_folder_are_told_once(tmp_path: Path) -> None:
    both = flow_text(
        "fork",
        {
            "fork": {"type": "script", "script": "fork.sh", "next": ["left", "right"]},
            "left": {"type": "agent", "agent": "default", "prompt": "L", "next": "end"},
            "right": {"type": "agent", "agent": "default", "prompt": "R", "next": "end"},
            "end": {"type": "end", "output": "over"},
        },
    )
    play = "rules:\n" + "".join(
        f"  - {{match: {{node: {side}}}, sleep: {nap}, write: {{{side}.txt: x}}, say: ok}}\n"
        for side, nap in (("left", 0.1), ("right", 0.6))
    )
    files = {"flow.yaml": both, "play.yaml": play, "fork.sh": "echo '{}'\n"}
    with flow_user(tmp_path, files) as user:
        ran = user.drumline("flow", "run", "flow.yaml", "--agent", "scripted:play.yaml", "--record", "r.yaml")
        for name in ("left.txt", "right.txt"):
            (user.repo / name).unlink()

        played = user.drumline("flow", "run", "flow.yaml", "--agent", "scripted:r.yaml")

        assert (ran.code, played.code) == (0, 0), ran.text + played.text
        assert (user.repo / "left.txt").exists()
        assert (user.repo / "right.txt").exists()
