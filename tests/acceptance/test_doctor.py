"""What people are told about agents and the jail that holds them: `doctor`, and the beginning of a run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, step_text

from drumline.agents.jail import find_jail

RESULT = '{"type":"result","subtype":"success","is_error":false,"result":"done","terminal_reason":"completed"}'
AGENT = f"""\
#!/bin/bash
if [ "$1" = --version ]; then echo '9.8.7 (Claude Code)'; exit; fi
read -r _
echo 1 > step-1.txt
echo '{RESULT}'
"""
WORKS = '#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
UNJAILED = "outside their workspace is not prevented; changes of your checkout and edits that agents tell of are"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"))


def put_on_path(user: User, **programs: str) -> Mapping[str, str]:
    """An environment in which these programs are found first."""
    folder = user.folder / "bin"
    folder.mkdir()
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{user.env['PATH']}"}


def test_an_agent_that_is_installed_is_told_with_its_version(user: User) -> None:
    env = put_on_path(user, claude=AGENT, codex="#!/bin/bash\nexit 3\n")

    told = user.drumline("doctor", env=env).out

    assert f"✓ claude: 9.8.7 at {user.folder / 'bin/claude'}" in told
    assert f"· codex: {user.folder / 'bin/codex'} does not say its version" in told


def leave_only_git(user: User) -> Mapping[str, str]:
    """An environment in which no agent is found."""
    git = shutil.which("git")
    assert git is not None
    folder = user.folder / "bin"
    folder.mkdir()
    (folder / "git").symlink_to(git)
    return {"PATH": str(folder)}


def test_the_built_in_agent_is_not_looked_for_on_path_but_told_with_the_key_it_lacks(user: User) -> None:
    told = user.drumline("doctor", env=leave_only_git(user)).out

    assert "none of claude, codex, gemini, opencode, qwen, goose, copilot is on PATH" in told
    assert "· builtin: has no API key: set one of ANTHROPIC_API_KEY, OPENAI_API_KEY" in told
    assert "next: export ANTHROPIC_API_KEY=" in told


def test_the_built_in_agent_is_ready_once_there_is_a_key(user: User) -> None:
    env = {"OPENAI_API_KEY": "sk-not-to-be-shown"}

    told = user.drumline("doctor", env=env)
    listed = user.drumline("agents", env=env)

    assert "✓ builtin: has a key (fast openai:" in told.out
    assert "✓ builtin, as --agent builtin[:PROVIDER:MODEL]" in listed.out
    assert "sk-not-to-be-shown" not in told.text + listed.text


@pytest.mark.parametrize(
    ("bwrap", "words"),
    [
        (WORKS, "✗ bubblewrap: does not hold agents: a program in it could mount the root"),
        ("#!/bin/bash\nexit 1\n", "· bubblewrap: is there but may not make namespaces here"),
    ],
    ids=["holds nothing", "forbidden"],
)
def test_bubblewrap_is_tried_not_looked_for(user: User, bwrap: str, words: str) -> None:
    told = user.drumline("doctor", env=put_on_path(user, bwrap=bwrap)).out

    assert words in told
    assert UNJAILED in told


def test_a_sandbox_that_is_required_and_cannot_be_used_is_a_problem(user: User) -> None:
    env = {**put_on_path(user, bwrap="#!/bin/bash\nexit 1\n"), "DRUMLINE_SANDBOX": "required"}

    told = user.drumline("doctor", env=env)

    assert told.code == 1
    assert "✗ bubblewrap: is there but may not make namespaces here" in told.out
    assert "no agent runs here, because sandbox = 'required'" in told.out


@pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
def test_the_doctor_tries_to_break_out_and_tells_what_held(user: User) -> None:
    told = user.drumline("doctor")
    listed = user.drumline("doctor", "--json").json

    findings = listed["findings"]
    assert isinstance(findings, list)
    levels = {finding["name"]: finding["level"] for finding in findings}
    assert "✓ bubblewrap: works" in told.out
    for name in ("remount", "write", "socket", "signal", "hidden-file", "keys", "namespace"):
        assert f"✓ sandbox {name}: held: a program in it cannot " in told.out
        assert levels[f"sandbox {name}"] == "ok"
    assert levels["sandbox abstract-socket"] in ("ok", "note")


def test_a_way_out_that_is_open_is_a_problem_with_its_name(user: User) -> None:
    told = user.drumline("doctor", env=put_on_path(user, bwrap=WORKS))

    assert told.code == 1
    for name in ("write", "socket", "hidden-file"):
        assert f"✗ sandbox {name}: open: a program in it can " in told.out


def test_a_run_says_once_that_nothing_holds_its_agent(user: User) -> None:
    env = put_on_path(user, claude=AGENT, bwrap="#!/bin/bash\nexit 1\n")

    ran = user.run(agent="claude", env=env)

    assert ran.code == 0, ran.text
    assert ran.err.count(UNJAILED) == 1


@pytest.mark.parametrize(("agent", "bwrap"), [("claude", WORKS), ("scripted:agent.yaml", "#!/bin/bash\nexit 1\n")])
def test_a_run_whose_agent_is_held_or_the_users_own_says_nothing(user: User, agent: str, bwrap: str) -> None:
    ran = user.run(agent=agent, env=put_on_path(user, claude=AGENT, bwrap=bwrap))

    assert ran.code == 0, ran.text
    assert "bubblewrap" not in ran.text


def test_the_doctor_removes_a_half_made_record_that_breaks_the_users_git(user: User) -> None:
    worktrees = user.folder / "state" / "worktrees"
    record = user.repo / ".git" / "worktrees" / "step-1"
    record.mkdir(parents=True)
    (record / "locked").write_text("initializing\n")
    (record / "gitdir").write_text(f"{worktrees / 'r1' / 'step-1' / '.git'}\n")
    (record / "HEAD").write_text(f"{'0' * 40}\n")
    (record / "commondir").touch()

    told = user.drumline("doctor", env={"DRUMLINE_WORKTREES": str(worktrees)}).out

    assert "removed what an interrupted git left: worktrees/step-1" in told
    assert user.git("branch", "-a")


def test_a_git_folder_that_cannot_be_written_is_a_problem(user: User) -> None:
    git = user.repo / ".git"
    for words in (("--bind", str(git), str(git)), ("-o", "remount,ro,bind", str(git))):
        done = subprocess.run(["mount", *words], check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"nothing can be mounted here: {done.stderr}")
    try:
        told = user.drumline("doctor")
    finally:
        subprocess.run(["umount", "--lazy", str(git)], check=True)
    after = user.drumline("doctor")

    assert told.code == 1, told.text
    assert f"git folder: {git} cannot be written (Read-only file system), so nothing can be run here" in told.out
    assert f"next: mount {git} writable, or see who may write it: ls -ld {git}" in told.out
    assert "git folder" not in after.out
