"""What is sealed in a workspace, such as a flow's scripts: every kind of agent may read it, and none may change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import pytest
from acp.exceptions import RequestError
from tests.acceptance.cli_user import make_user, standing_in, step_text
from tests.integration.test_builtin_agent import Bench, play
from tests.integration.test_cli_agent import assign
from tests.modelserver.scenario import Run, Turn, Write

from drumline.agents.acp_client import Desk
from drumline.agents.acp_policy import Policy
from drumline.agents.jail import find_jail
from drumline.cli.main import main
from drumline.core.flow.model import Json
from drumline.errors import InvalidInput
from drumline.models.filetools import FileTools
from drumline.record import replace

JAILED = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
GRAPH = """\
name: f
start: ask
nodes:
  ask: {type: agent, agent: default, prompt: x, next: tell}
  tell: {type: script, script: scripts/tell.sh, next: over}
  over: {type: end, output: "{{told}}"}
"""
TELL = """echo '{"told": "as the person wrote it"}'\n"""
CHANGE = "mv .drumline moved; rm -r .drumline; echo evil > .drumline/flows/f/scripts/tell.sh; echo done"
CHANGES: dict[str, Callable[[FileTools], object]] = {
    "write": lambda tools: tools.write("plans/root.md", "evil"),
    "write by a link": lambda tools: tools.write("link/root.md", "evil"),
    "patch": lambda tools: tools.patch("plans/root.md", "mine", "evil"),
    "make a folder": lambda tools: tools.make_folder("plans/evil"),
    "remove": lambda tools: tools.remove("plans/root.md"),
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "plans").mkdir(parents=True)
    (folder / "plans" / "root.md").write_text("mine")
    (folder / "link").symlink_to("plans")
    return folder


@pytest.mark.parametrize("name", CHANGES)
def test_the_tools_of_a_model_do_not_change_it(name: str, work: Path) -> None:
    tools = FileTools(workspace=work, sealed=(work / "plans",))

    with pytest.raises(InvalidInput, match="may not be changed"):
        CHANGES[name](tools)

    assert tools.read("plans/root.md") == "mine"
    assert [path.name for path in (work / "plans").iterdir()] == ["root.md"]


def test_it_is_not_written_for_an_agent_that_asks(work: Path, tmp_path: Path) -> None:
    policy = Policy(workspace=work, sealed=(work / "plans",), jailed=True)
    edit: Mapping[str, Json] = {"kind": "edit", "title": "Edit", "locations": [{"path": "link/root.md"}]}

    async def write() -> None:
        desk = Desk(replace(assign(tmp_path, ""), workspace=work), policy)
        await desk.write_text_file("s-1", "link/root.md", "evil")

    with pytest.raises(RequestError, match="may not be changed"):
        anyio.run(write)
    assert policy.judge(edit).answer == "deny"
    assert policy.judge({**edit, "kind": "read"}).answer == "allow"
    assert (work / "plans" / "root.md").read_text() == "mine"


@JAILED
def test_a_command_of_a_model_does_not_change_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, monkeypatch)
    (bench.workspace / "plans").mkdir()
    (bench.workspace / "plans" / "root.md").write_text("mine")
    calls = (Run(command="echo evil > plans/root.md"), Write(path="plans/root.md", content="evil"))
    with play(Turn(calls=calls[:1]), Turn(calls=calls[1:]), Turn(text="Done.")) as server:
        agent = bench.open(server, jailed=True)

        outcome = anyio.run(agent.work, bench.assign(sealed=(bench.workspace / "plans",)))

    assert outcome.message == "Done."
    assert (bench.workspace / "plans" / "root.md").read_text() == "mine"


@JAILED
def test_an_agent_of_a_flow_does_not_change_the_scripts_that_come_after_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    folder = user.repo / ".drumline" / "flows" / "f"
    (folder / "scripts").mkdir(parents=True)
    (folder / "graph.yaml").write_text(GRAPH)
    (folder / "scripts" / "tell.sh").write_text(TELL)
    user.commit_all("flow")

    with standing_in(user.repo, user.env):
        code = main(["flow", "run", "f", "--agent", f"command:{CHANGE}"])

    assert (code, capsys.readouterr().out.strip()) == (0, "as the person wrote it")
    assert (folder / "scripts" / "tell.sh").read_text() == TELL
