"""`drumline flow run` as people and scripts meet it: names, variables, prompts, output, exit codes, folders."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, flow_user, read_journal, run_flow, work_files, write_files
from tests.acceptance.cli_user import PATIENCE, User

ECHO = """\
import json, os
state = json.loads(os.environ["GRAPH_STATE"])
print(json.dumps({"seen": os.environ.get("LLM_AGENT_VAR_WHO", "nobody"), "asked": state["initial_prompt"]}))
"""
VARIABLES = flow_text(
    "look",
    {
        "look": {"type": "script", "script": "echo.py", "next": "end"},
        "end": {"type": "end", "output": "{{seen}}:{{asked}}"},
    },
    variables=[{"name": "who", "default": "default"}],
)
PLAY = """\
rules:
  - match: {node: build}
    write: {made.txt: "made\\n"}
    say: built
  - match: {node: think}
    say: thought
default: {say: something else}
"""
BOTH = flow_text(
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
            "tools": ["fs_cat.sh", "fs_ls", "execute_command.sh"],
            "state_updates": {"b": "{{output}}"},
            "next": "end",
        },
        "end": {"type": "end", "output": "{{a}} {{b}}"},
    },
    global_tools=["fs_cat.sh", "fs_ls.sh", "fs_write.sh", "fs_patch", "execute_command.sh"],
)


def say(text: str, status: str = "done") -> str:
    """A flow that only ends."""
    return flow_text("end", {"end": {"type": "end", "output": text, "status": status}})


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    files = {"vars.yaml": VARIABLES, "echo.py": ECHO, "both.yaml": BOTH, "play.yaml": PLAY}
    with flow_user(tmp_path, files) as user:
        yield user


# --- what is said where ---------------------------------------------------------------------------------------------


def test_the_output_of_the_end_is_all_of_stdout_and_progress_is_on_stderr(user: User) -> None:
    ran = run_flow(user, "both.yaml")

    assert (ran.code, ran.out) == (0, "built thought\n"), ran.err
    assert "node build started" in ran.err
    assert f"walking f in {user.repo}; nothing there is reset" in ran.err


def test_output_that_ends_with_a_line_feed_gets_no_second_one(user: User) -> None:
    write_files(user, {"a.yaml": say("two\nlines\n"), "b.yaml": say("")})

    assert run_flow(user, "a.yaml").out == "two\nlines\n"
    assert run_flow(user, "b.yaml").out == ""


def test_scripts_get_json_lines_of_which_the_last_is_the_status(user: User) -> None:
    ran = run_flow(user, "both.yaml", "--json")

    assert ran.code == 0
    assert {line["schema_version"] for line in ran.lines} == {1}
    assert len({line["run"] for line in ran.lines}) == 1
    assert [line.get("node") for line in ran.lines if line.get("event") == "node_started"] == ["build", "think"]
    last = ran.lines[-1]
    assert (last["state"], last["status"], last["end"], last["output"]) == ("done", "done", "end", "built thought")
    assert last == user.status() | {"seconds": last["seconds"]}


@pytest.mark.parametrize(("status", "code"), [("done", 0), ("failed", 1), ("blocked", 2), ("rejected", 1)])
def test_the_status_of_the_end_sets_the_exit_code(user: User, status: str, code: int) -> None:
    write_files(user, {"a.yaml": say("over", status)})

    ran = run_flow(user, "a.yaml")

    assert (ran.code, ran.out) == (code, "over\n")
    assert user.status()["status"] == status


# --- variables and prompts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "env", "seen"),
    [
        ((), {}, "default"),
        ((), {"LLM_AGENT_VAR_WHO": "env"}, "env"),
        (("--var", "who=typed"), {"LLM_AGENT_VAR_WHO": "env"}, "typed"),
        (("--var", "who=a=b"), {}, "a=b"),
        (("--var", "who="), {"LLM_AGENT_VAR_WHO": "env"}, ""),
    ],
)
def test_a_variable_is_what_was_typed_else_the_environments_else_the_default(
    user: User, args: tuple[str, ...], env: Mapping[str, str], seen: str
) -> None:
    ran = run_flow(user, "vars.yaml", *args, env=env)

    assert (ran.code, ran.out) == (0, f"{seen}:\n"), ran.err


def test_a_variable_that_the_flow_does_not_have_is_refused_before_anything_begins(user: User) -> None:
    ran = run_flow(user, "vars.yaml", "--var", "whom=x")

    assert (ran.code, ran.out) == (3, "")
    assert "the flow has no variable 'whom' (it has who)" in ran.err
    assert "next: drumline flow validate" in ran.err
    assert read_journal(user).run is None


@pytest.mark.parametrize("pair", ["who", "=x", ""])
def test_a_variable_without_a_name_or_a_sign_is_refused(user: User, pair: str) -> None:
    ran = run_flow(user, "vars.yaml", "--var", pair)

    assert ran.code == 3
    assert f"{pair!r} is not a variable (legal: name=value)" in ran.err


def test_a_variable_without_a_value_is_asked_for_by_its_name(user: User) -> None:
    write_files(user, {"vars.yaml": VARIABLES.replace("  default: default\n", "  description: Who.\n")})

    ran = run_flow(user, "vars.yaml")

    assert ran.code == 3
    assert "the variable 'who' has no value and no default" in ran.err
    assert "--var who=…" in ran.err
    assert read_journal(user).run is None


@pytest.mark.parametrize(("prompt", "asked"), [("do it", "do it"), ("@ask.md", "from ä file\n"), ("-", "from stdin")])
def test_the_prompt_is_text_a_file_or_standard_input(user: User, prompt: str, asked: str) -> None:
    write_files(user, {"ask.md": "from ä file\n"})

    done = subprocess.run(
        [sys.executable, "-m", "drumline", "flow", "run", "vars.yaml", "--prompt", prompt],
        cwd=user.repo,
        env=user.env,
        input="from stdin",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )

    assert (done.returncode, done.stdout.rstrip("\n")) == (0, f"default:{asked}".rstrip("\n")), done.stderr


def test_a_prompt_file_that_cannot_be_read_is_named(user: User) -> None:
    (user.repo / "binary").write_bytes(b"\xff\xfe\x00")

    gone = run_flow(user, "vars.yaml", "--prompt", "@gone.md")
    binary = run_flow(user, "vars.yaml", "--prompt", "@binary")

    assert (gone.code, binary.code) == (3, 3)
    assert "--prompt '@gone.md' cannot be read" in gone.err
    assert "--prompt '@binary' cannot be read" in binary.err
    assert read_journal(user).run is None


# --- names ----------------------------------------------------------------------------------------------------------


def test_a_flow_is_named_by_its_file_its_folder_or_its_name(user: User) -> None:
    own = {".drumline/flows/mine.yaml": say("mine"), ".drumline/flows/his/graph.yaml": say("his")}
    write_files(user, {"some/where/graph.yaml": say("folder"), "some/file.yaml": say("file"), **own})

    found = {name: run_flow(user, name).out for name in ("some/where", "some/file.yaml", "mine", "his")}

    assert found == {"some/where": "folder\n", "some/file.yaml": "file\n", "mine": "mine\n", "his": "his\n"}


def test_a_shipped_flow_is_found_by_its_name_and_the_repositorys_own_comes_first(user: User) -> None:
    shipped = run_flow(user, "coder", "--prompt", "Do it.")
    write_files(user, {".drumline/flows/coder.yaml": say("my own coder")})

    own = run_flow(user, "coder")

    assert shipped.code == 0
    assert shipped.out.startswith("CODER_COMPLETE\n")
    assert own.out == "my own coder\n"


def test_a_flow_that_is_nowhere_is_refused_by_its_name(user: User) -> None:
    ran = run_flow(user, "nowhere")

    assert (ran.code, ran.out) == (3, "")
    assert "no flow is called 'nowhere' (there are: " in ran.err
    assert "coder" in ran.err
    assert f"{user.repo}/.drumline/flows" in ran.err
    assert read_journal(user).run is None


def test_a_flow_run_from_a_folder_of_the_repository_works_there(user: User) -> None:
    (user.repo / "deep").mkdir()

    ran = user.drumline("flow", "run", "../both.yaml", "--agent", "scripted:../play.yaml", cwd=user.repo / "deep")

    assert (ran.code, ran.out) == (0, "built thought\n"), ran.err
    assert (user.repo / "deep" / "made.txt").exists()
    assert not (user.repo / "made.txt").exists()


def test_agents_and_models_can_be_played_by_the_same_file(user: User) -> None:
    alone = run_flow(user, "both.yaml")
    both = run_flow(user, "both.yaml", "--model", "scripted:play.yaml")
    write_files(user, {"other.yaml": "default: {say: other}\n"})
    apart = run_flow(user, "both.yaml", "--model", "scripted:other.yaml")

    assert [ran.out for ran in (alone, both, apart)] == ["built thought\n", "built thought\n", "built other\n"]


def test_a_model_by_itself_leaves_the_agent_to_the_configuration(user: User) -> None:
    write_files(user, {".drumline/config.toml": "agent = 'command:cat >/dev/null; echo configured'\n"})

    ran = user.drumline("flow", "run", "both.yaml", "--model", "scripted:play.yaml")

    assert (ran.code, ran.out) == (0, "configured thought\n"), ran.err


# --- where it works -------------------------------------------------------------------------------------------------


def test_a_worktree_keeps_the_checkout_untouched_and_its_work_is_a_commit_on_the_branch(user: User) -> None:
    write_files(user, {"play.yaml": PLAY, "notes.txt": "not committed\n"})
    before, head = work_files(user), user.git("rev-parse", "HEAD")

    ran = run_flow(user, "both.yaml", "--worktree")

    assert (ran.code, ran.out) == (0, "built thought\n"), ran.err
    assert (work_files(user), user.git("rev-parse", "HEAD")) == (before, head)
    branch = str(user.status()["branch"])
    assert user.git("show", f"{branch}:made.txt") == "made"
    assert user.git("rev-list", "--count", f"{head}..{branch}") == "1"
    assert user.git("diff", "--name-only", head, branch) == "made.txt"
    assert f"branch {branch}" in ran.err
    assert len(user.git("worktree", "list").splitlines()) == 1


def test_the_worktree_of_a_flow_that_did_not_end_well_is_kept(user: User) -> None:
    write_files(user, {"both.yaml": BOTH.replace("type: end", "type: end\n    status: failed")})
    user.commit_all()

    ran = run_flow(user, "both.yaml", "--worktree")

    assert (ran.code, ran.out) == (1, "built thought\n")
    folder = Path(str(user.status()["folder"]))
    assert (folder / "made.txt").read_text() == "made\n"
    assert not (user.repo / "made.txt").exists()
    assert len(user.git("worktree", "list").splitlines()) == 2


def test_a_flow_that_changes_nothing_in_its_worktree_makes_no_commit(user: User) -> None:
    write_files(user, {"a.yaml": say("nothing to do")})
    user.commit_all()

    ran = run_flow(user, "a.yaml", "--worktree")

    assert (ran.code, ran.out) == (0, "nothing to do\n"), ran.err
    assert user.git("rev-parse", str(user.status()["branch"])) == user.git("rev-parse", "HEAD")


def test_every_walk_ends_without_a_copy_of_the_flow_in_the_project(user: User) -> None:
    before = work_files(user)

    run_flow(user, "vars.yaml")

    assert work_files(user) == before


def test_the_agent_may_be_named_by_its_profile(user: User) -> None:
    write_files(user, {".drumline/config.toml": '[agents.player]\nagent = "scripted:play.yaml"\n'})

    ran = user.drumline("flow", "run", "both.yaml", "--agent", "player")

    assert (ran.code, ran.out) == (0, "built thought\n"), ran.err
