"""Script nodes with real programs: what they are told, what is made of what they print, and that nothing is left."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import anyio
import pytest

from drumline.core.flow.model import CheckNode, Flow, Json, NodeId, ScriptNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.state import Key
from drumline.core.flow.values import overlay
from drumline.core.ids import DriverId, RunId
from drumline.core.taxonomy import MOST_KILLS
from drumline.engine.nodes.nodecheck import Scene, run_checks
from drumline.engine.nodes.script import INLINE_LIMIT, NODE_ABILITIES, run_script
from drumline.engine.nodes.visit import Visit
from drumline.ports.processes import PRINTED_LIMIT, Ended, Job
from drumline.processes import census
from drumline.processes.kill import sweep
from drumline.processes.supervised import LOG_HEAD, LOG_TAIL, SupervisedProcesses
from drumline.testing.processes import FakeProcesses

DEADLINE = 30.0
TELL = 'printf \'{"told": "%s"}\' "$TOLD"'


async def _do_not_sleep(seconds: float) -> None:
    """Tests wait for nothing."""


class Stage:
    """A folder with a flow's scripts, a workspace, and real processes to run them with."""

    def __init__(self, top: Path, driver: DriverId) -> None:
        self.flow = top / "flows" / "sample"
        self.folder = top / "workspace"
        self.logs = top / "logs"
        self.processes = SupervisedProcesses(top / "driver", driver)
        self.flow.mkdir(parents=True)
        self.folder.mkdir()

    def write(self, name: str, text: str) -> Path:
        """A script of the flow."""
        path = self.flow / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def visit(
        self,
        values: Mapping[str, Json] | None = None,
        *,
        scope: str = "",
        timeout: float | None = None,
        variables: Mapping[str, Json] | None = None,
    ) -> Visit:
        """The second visit of the node `work`."""
        node = NodeId("work")
        return Visit(
            run=RunId("run-1"),
            key=Key(scope, node, 2),
            flow=Flow(name="sample", start=node, nodes={}, path=str(self.flow / "graph.yaml")),
            values=values or {},
            folder=self.folder,
            logs=self.logs,
            timeout=timeout,
            variables=variables or {},
        )

    def run(self, script: str, visit: Visit | None = None, *, timeout: float = 20.0) -> Outcome:
        """What came of the script."""
        node = ScriptNode(id=NodeId("work"), script=script, timeout=timeout)
        return anyio.run(run_script, node, visit or self.visit(), self.processes, _do_not_sleep)

    def run_bash(self, text: str, visit: Visit | None = None, *, timeout: float = 20.0) -> Outcome:
        """What came of these lines of bash."""
        self.write("work.sh", text)
        return self.run("work.sh", visit, timeout=timeout)


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[DriverId]:
    """A name that only this test uses, and the proof that nothing which carries it survives the test."""
    name = DriverId(f"d-{os.getpid()}-{abs(hash(tmp_path))}")
    yield name
    left = sweep(name)
    assert left == []


@pytest.fixture
def stage(tmp_path: Path, driver: DriverId) -> Stage:
    return Stage(tmp_path, driver)


def wait_until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return true()


def read_log(stage: Stage) -> str:
    return (stage.logs / "work#2.script.log").read_text(encoding="utf-8")


def install(folder: Path, name: str, lines: str) -> Path:
    """A program that stands in for one that this machine may not have."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def only_bash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing but bash and what the test puts there."""
    folder = tmp_path / "programs"
    folder.mkdir()
    bash = shutil.which("bash")
    assert bash is not None
    (folder / "bash").symlink_to(bash)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_the_object_that_a_script_prints_is_its_output_with_the_route(stage: Stage) -> None:
    outcome = stage.run_bash("""echo '{"quality": 0.85, "issues": 3, "_next": "approve"}'""")

    assert outcome == Outcome(output={"quality": 0.85, "issues": 3, "_next": "approve"})


def test_a_bash_script_reads_the_state_from_its_environment(stage: Stage) -> None:
    line = """python3 -c 'import json, os; print(json.dumps({"said": json.loads(os.environ["GRAPH_STATE"])}))'"""
    values = overlay({"name": "Zoë „ü“ 🥁"}, {"name": "below", "deep": {"list": [1, 3.0, None, True]}})

    outcome = stage.run_bash(line, stage.visit(values))

    assert outcome.output == {"said": {"name": "Zoë „ü“ 🥁", "deep": {"list": [1, 3.0, None, True]}}}


def test_the_state_is_compact_json(stage: Stage) -> None:
    outcome = stage.run_bash("printf '{\"size\": %d}' ${#GRAPH_STATE}", stage.visit({"a": [1, 2], "b": {"c": "d"}}))

    assert outcome.output == {"size": len('{"a":[1,2],"b":{"c":"d"}}')}


def test_a_python_script_emits_a_route_and_values(stage: Stage) -> None:
    stage.write(
        "deep/double.py",
        "import json, os\nn = json.loads(os.environ['GRAPH_STATE'])['n']\n"
        "print(json.dumps({'doubled': n * 2, '_next': 'on', 'ü': 'é'}, ensure_ascii=False))\n",
    )

    outcome = stage.run("deep/double.py", stage.visit({"n": 21}))

    assert outcome.output == {"doubled": 42, "_next": "on", "ü": "é"}


def test_half_a_character_in_the_state_reaches_a_script_as_an_escape(stage: Stage) -> None:
    line = 'python3 -c \'import os, json; print(json.dumps({"text": os.environ["GRAPH_STATE"]}))\''

    outcome = stage.run_bash(line, stage.visit({"half": "\ud83e", "raw": "\udc80"}))

    assert outcome.output == {"text": r'{"half":"\ud83e","raw":"\udc80"}'}


def test_a_script_that_prints_half_a_character_is_refused_for_no_journal_could_keep_it(stage: Stage) -> None:
    outcome = stage.run_bash(r"""printf '{"half": "\\ud83e"}'""", stage.visit({}))

    assert "surrogates not allowed" in outcome.failure


@pytest.mark.parametrize("size", [INLINE_LIMIT, INLINE_LIMIT + 1])
def test_a_state_beyond_the_limit_is_handed_over_as_a_file(
    stage: Stage, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPH_STATE", "of an outer flow")
    monkeypatch.setenv("GRAPH_STATE_FILE", "of an outer flow")
    stage.write(
        "look.py",
        "import json, os, stat\n"
        "names = sorted(name for name in os.environ if name.startswith('GRAPH_STATE'))\n"
        "path = os.environ.get('GRAPH_STATE_FILE')\n"
        "text = open(path).read() if path else os.environ['GRAPH_STATE']\n"
        "mode = oct(stat.S_IMODE(os.stat(path).st_mode)) if path else None\n"
        "print(json.dumps({'names': names, 'size': len(text), 'ok': 'blob' in json.loads(text),"
        " 'path': path, 'mode': mode}))\n",
    )
    blob = "x" * (size - len('{"blob":""}'))

    outcome = stage.run("look.py", stage.visit({"blob": blob}))

    assert isinstance(outcome.output, Mapping)
    by_file = size > INLINE_LIMIT
    assert outcome.output["names"] == (["GRAPH_STATE_FILE"] if by_file else ["GRAPH_STATE"])
    assert (outcome.output["size"], outcome.output["ok"]) == (size, True)
    assert outcome.output["mode"] == ("0o600" if by_file else None)
    if by_file:
        assert stage.logs in Path(str(outcome.output["path"])).parents
        assert not Path(str(outcome.output["path"])).exists()


def test_a_script_works_in_the_folder_of_the_visit_with_the_documented_environment(stage: Stage) -> None:
    names = "AUTO_CONFIRM CLICOLOR_FORCE FORCE_COLOR LLM_ROOT_DIR LLM_AGENT_DATA_DIR LLM_PROMPT_UTILS_FILE"
    ours = "DRUMLINE_RUN DRUMLINE_NODE DRUMLINE_SCOPE DRUMLINE_VISIT LLM_AGENT_VAR_PROJECT_DIR LLM_AGENT_VAR_COUNT"
    stage.write(
        "tell.py",
        "import json, os\n"
        f"told = {{name: os.environ.get(name) for name in {(names + ' ' + ours).split()!r}}}\n"
        "print(json.dumps({'cwd': os.getcwd(), 'told': told,"
        " 'data': os.path.isdir(told['LLM_AGENT_DATA_DIR']), 'utils': os.path.isfile(told['LLM_PROMPT_UTILS_FILE'])}))",
    )
    visit = stage.visit(scope="outer#1", variables={"project-dir": "a b/ü", "count": 3})

    outcome = stage.run("tell.py", visit)

    assert isinstance(outcome.output, Mapping)
    told = outcome.output["told"]
    assert isinstance(told, dict)
    assert outcome.output["cwd"] == str(stage.folder)
    assert outcome.output["data"] is True
    assert outcome.output["utils"] is True
    assert told["LLM_ROOT_DIR"] == str(stage.flow)
    assert [told[name] for name in names.split()[:3]] == ["true", "1", "1"]
    assert [told[name] for name in ours.split()] == ["run-1", "work", "outer#1", "2", "a b/ü", "3"]


def test_flows_that_live_below_agents_find_what_they_share(stage: Stage) -> None:
    stage.flow = stage.flow.parent / "agents" / "coder"
    shared = stage.flow.parents[1] / "agents" / ".shared" / "words.sh"
    shared.parent.mkdir(parents=True)
    shared.write_text("TOLD=shared\n")

    outcome = stage.run_bash(f'source "$LLM_ROOT_DIR/agents/.shared/words.sh"\n{TELL}')

    assert outcome.output == {"told": "shared"}


def test_the_shipped_shell_functions_keep_stdout_clean_and_refuse_to_ask(stage: Stage) -> None:
    outcome = stage.run_bash(
        'set -euo pipefail\nsource "$LLM_PROMPT_UTILS_FILE"\n'
        'info "a message"; warn "careful"; error "bad"; debug x; trace y\n'
        'guard_operation "really?"; guard_path /etc "remove?"\n'
        '[ "$(confirm "sure?")" = 1 ]\n'
        "if input 'your name?'; then exit 9; fi\n"
        '[ "$(red word)" != word ]\n'
        "graph_state | grep -q '\"k\":1'\n"
        'printf \'{"os": "%s"}\' "$(detect_os)"\n',
        stage.visit({"k": 1}),
    )

    assert isinstance(outcome.output, Mapping)
    assert outcome.output["os"] in ("linux", "macos", "bsd")
    assert "info: a message\nwarning: careful\nerror: bad\n" in read_log(stage)
    assert "put an approval or input node before it" in read_log(stage)


def test_what_a_script_says_is_in_its_log_and_only_stdout_is_its_output(stage: Stage) -> None:
    outcome = stage.run_bash("echo thinking >&2; echo '{}'; echo more >&2")

    assert outcome.output == {}
    assert sorted(read_log(stage).splitlines()) == ["more", "thinking", "{}"]


def test_a_visit_leaves_its_log_and_the_data_folder_and_nothing_else(stage: Stage) -> None:
    stage.run_bash("echo '{}'", stage.visit({"blob": "x" * INLINE_LIMIT}))

    assert sorted(path.name for path in stage.logs.iterdir()) == ["data", "work#2.script.log"]


def test_what_a_killed_visit_left_does_not_keep_the_next_from_running(stage: Stage) -> None:
    left = stage.logs / "work#2.script.tmp"
    left.mkdir(parents=True)
    (left / "state.json").write_text("old")
    (left / "printed").write_text("old")

    outcome = stage.run_bash("echo '{}'", stage.visit({"blob": "x" * INLINE_LIMIT}))

    assert outcome.output == {}
    assert not left.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "produced no output"),
        ("echo; echo '   '", "produced no output"),
        (
            "echo 'only on stderr' >&2",
            "produced no output; it must print one JSON object; its stderr ends with: only on",
        ),
        ("echo not json at all", "not valid JSON"),
        ("echo '{\"a\": 1'", "not valid JSON"),
        ("echo '{} {}'", "not valid JSON"),
        ("echo '[1, 2, 3]'", "must be a JSON object, got array"),
        ("echo 42", "must be a JSON object, got number"),
        ("echo '{\"a\": NaN}'", "NaN is not a JSON number"),
        ("head -c 200000 /dev/zero | tr '\\0' '['", "not valid JSON"),
        ('printf \'{"a": "\\xff"}\'', "not UTF-8: byte 0xff"),
        ("echo bad happened >&2; exit 3", "failed with exit code 3; its stderr ends with: bad happened"),
        ("echo '{}'; exit 7", "failed with exit code 7"),
        ("bash -c 'kill -9 $$'", "failed with exit code 137"),
        ("echo bad >&2; head -c 100000 /dev/zero | tr '\\0' x; exit 3", "its stderr ends with: bad"),
    ],
)
def test_a_script_that_does_not_print_one_object_fails_and_says_why(stage: Stage, text: str, said: str) -> None:
    outcome = stage.run_bash(text)

    assert outcome.output is None
    assert outcome.failure.startswith("script 'work.sh': ")
    assert said in outcome.failure


def test_only_the_end_of_a_long_stderr_is_repeated(stage: Stage) -> None:
    outcome = stage.run_bash("for n in {1..20000}; do echo line $n; done >&2; exit 1")

    assert outcome.failure.endswith("line 20000")
    assert len(outcome.failure) < 2_200


def test_a_script_that_is_not_there_fails_before_anything_starts(stage: Stage) -> None:
    missing = stage.run("gone.sh")
    folder = stage.run(".")
    odd = stage.run("x" * 300 + ".sh")

    assert "Script file not found: " in missing.failure
    assert "Script file not found: " in folder.failure
    assert "Script file " in odd.failure
    assert not stage.logs.exists()


def test_an_unknown_ending_is_refused(stage: Stage) -> None:
    stage.write("work.xyz", "echo '{}'")

    outcome = stage.run("work.xyz")

    assert "Unsupported script extension '.xyz'; use one of .sh, .py, .ts" in outcome.failure


@pytest.mark.usefixtures("only_bash")
def test_an_interpreter_that_is_missing_is_named(stage: Stage) -> None:
    stage.write("work.py", "print({})")

    outcome = stage.run("work.py")

    assert "cannot start 'python3': No such file" in outcome.failure
    assert "install 'python3' or put it on PATH" in outcome.failure


def test_a_script_that_cannot_be_started_for_another_reason_says_so(stage: Stage) -> None:
    stage.write("work.sh", "echo '{}'")

    nul = stage.run("work.sh", stage.visit(variables={"v": "a\0b"}))
    stage.folder.rmdir()
    nowhere = stage.run("work.sh")

    assert "null byte" in nul.failure
    assert "install" not in nul.failure
    assert "cannot enter the folder" in nowhere.failure


def test_logs_that_cannot_be_written_are_an_outcome_too(stage: Stage) -> None:
    stage.logs.write_text("in the way")

    outcome = stage.run_bash("echo '{}'")

    assert "its files cannot be used" in outcome.failure


def test_megabytes_of_json_are_read(stage: Stage) -> None:
    stage.write("work.py", "import json\nprint(json.dumps({'rows': ['ü' * 100] * 20_000}, ensure_ascii=False))")

    outcome = stage.run("work.py")

    assert outcome.output == {"rows": ["ü" * 100] * 20_000}


def test_more_than_the_limit_is_refused_and_bounded(stage: Stage) -> None:
    outcome = stage.run_bash("""printf '{"a":"'; head -c 100000000 /dev/zero | tr '\\0' x; printf '"}'""")

    kept = sum(path.stat().st_size for path in stage.logs.rglob("*") if path.is_file())
    assert f"it printed more than {PRINTED_LIMIT:,} bytes" in outcome.failure
    assert "LLM_AGENT_DATA_DIR" in outcome.failure
    assert kept <= LOG_HEAD + LOG_TAIL + 100


def test_a_script_that_hangs_is_ended_with_all_it_started(stage: Stage, driver: DriverId) -> None:
    outcome = stage.run_bash(
        "setsid sleep 1000 & echo started >&2; trap '' TERM; while :; do sleep 0.05; done", timeout=1.0
    )

    assert "timed out after 1s; its stderr ends with: started" in outcome.failure
    assert census.marked(driver) == []


@pytest.mark.parametrize(("of_node", "of_visit"), [(0.5, 900.0), (900.0, 0.5)])
def test_the_shorter_of_the_two_limits_counts(stage: Stage, of_node: float, of_visit: float) -> None:
    outcome = stage.run_bash("sleep 1000", stage.visit(timeout=of_visit), timeout=of_node)

    assert "timed out after 0.5s" in outcome.failure


def test_a_script_that_has_an_answer_ready_when_its_time_is_up_has_still_failed(stage: Stage) -> None:
    outcome = stage.run_bash("trap \"echo '{}'; exit 0\" TERM; sleep 1000 & wait", timeout=1.0)

    assert "timed out after 1s" in outcome.failure


def test_a_daemon_neither_holds_a_script_up_nor_outlives_it(stage: Stage, driver: DriverId) -> None:
    outcome = stage.run_bash("""( setsid sleep 1000 & ) ; sleep 1000 & echo '{"ok": true}'""")

    assert outcome.output == {"ok": True}
    assert census.marked(driver) == []


def test_a_cancelled_script_leaves_no_process_and_no_state(stage: Stage, driver: DriverId) -> None:
    stage.write("work.sh", "setsid sleep 1000 & touch born; sleep 1000")
    node = ScriptNode(id=NodeId("work"), script="work.sh")
    visit = stage.visit({"secret": "x" * INLINE_LIMIT})
    seen: list[bool] = []

    async def cancel_midway() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(run_script, node, visit, stage.processes, _do_not_sleep)
            await anyio.to_thread.run_sync(wait_until, (stage.folder / "born").exists)
            seen.append((stage.logs / "work#2.script.tmp" / "state.json").exists())
            group.cancel_scope.cancel()

    anyio.run(cancel_midway)

    assert seen == [True]
    assert census.marked(driver) == []
    assert sorted(path.name for path in stage.logs.iterdir()) == ["data", "work#2.script.log"]


# --- killed from outside ----------------------------------------------------------------------------------------

KILLED_AT_FIRST = "echo x >> tries; [ $(wc -l < tries) -gt {times} ] || kill -9 $$; echo '{{\"tries\": 1}}'"


@pytest.mark.parametrize("kill", ["kill -9 $$", "kill -9 $PPID", "kill -TERM $$"])
def test_a_script_that_is_killed_runs_again_and_its_failure_is_not_the_works(stage: Stage, kill: str) -> None:
    script = KILLED_AT_FIRST.format(times=MOST_KILLS - 1).replace("kill -9 $$", kill)

    outcome = stage.run_bash(script)

    assert (outcome.output, outcome.failure, outcome.blocked) == ({"tries": 1}, "", "")


def test_a_script_that_is_killed_every_time_is_blocked_with_that_reason(stage: Stage) -> None:
    outcome = stage.run_bash("echo x >> tries; kill -9 $$")

    assert outcome.blocked.startswith("killed from outside 3 times in a row: script 'work.sh'")
    assert (outcome.failure, outcome.failure_class) == ("", "killed")
    assert (stage.folder / "tries").read_text(encoding="utf-8") == "x\n" * MOST_KILLS


@pytest.mark.parametrize("ends", ["exit 137", "exit 143", "kill -SEGV $$", "bash -c 'kill -9 $$'"])
def test_a_script_that_ends_badly_by_itself_has_failed(stage: Stage, ends: str) -> None:
    outcome = stage.run_bash(f"echo x >> tries; {ends}")

    assert (outcome.blocked, outcome.failure != "") == ("", True)
    assert (stage.folder / "tries").read_text(encoding="utf-8") == "x\n"


@pytest.mark.usefixtures("only_bash")
def test_typescript_without_a_runner_says_what_to_install(stage: Stage) -> None:
    stage.write("work.ts", "console.log('{}')")

    outcome = stage.run("work.ts")

    assert "nothing here runs TypeScript; install tsx, bun, deno, or node 22.18" in outcome.failure


@pytest.mark.parametrize(
    ("program", "words"), [("tsx", ["SCRIPT"]), ("bun", ["run", "SCRIPT"]), ("deno", ["run", "-A", "SCRIPT"])]
)
def test_typescript_is_run_by_what_is_on_the_path(
    stage: Stage, only_bash: Path, program: str, words: list[str]
) -> None:
    script = stage.write("work.ts", "")
    install(only_bash, program, """printf '{"argv": "%s"}' "$*" """)

    outcome = stage.run("work.ts")

    assert outcome.output == {"argv": " ".join(words).replace("SCRIPT", str(script))}


@pytest.mark.parametrize("of", ["flow", "folder"])
def test_the_tsx_of_a_package_comes_before_that_of_the_path(stage: Stage, only_bash: Path, of: str) -> None:
    stage.write("work.ts", "")
    package = stage.flow.parent if of == "flow" else stage.folder
    install(only_bash, "tsx", """echo '{"by": "path"}'""")
    install(package / "node_modules" / ".bin", "tsx", """echo '{"by": "package"}'""")

    outcome = stage.run("work.ts")

    assert outcome.output == {"by": "package"}


@pytest.mark.parametrize(
    ("ability", "able"), [("strip", True), ("transform", True), ("false", False), ("undefined", False)]
)
def test_node_is_used_only_if_it_says_that_it_can(stage: Stage, only_bash: Path, ability: str, able: bool) -> None:
    stage.write("work.ts", "")
    install(only_bash, "node", f"""case "$1" in -p) echo {ability} ;; *) echo '{{"by": "node"}}' ;; esac""")

    outcome = stage.run("work.ts")

    assert (outcome.output == {"by": "node"}) is able
    assert ("nothing here runs TypeScript" in outcome.failure) is not able


def find_typescript() -> bool:
    """Whether this machine has a program that runs TypeScript."""
    if any(shutil.which(name) for name in ("tsx", "bun", "deno")):
        return True
    node = shutil.which("node")
    if node is None:
        return False
    asked = subprocess.run([node, "-p", "process.features.typescript"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() in NODE_ABILITIES


@pytest.mark.skipif(not find_typescript(), reason="nothing on this machine runs TypeScript")
def test_typescript_is_run_for_real(stage: Stage) -> None:
    stage.write(
        "work.ts",
        "const n: number = JSON.parse(process.env.GRAPH_STATE as string).n;\n"
        "console.log(JSON.stringify({ n: n * 2 }));\n",
    )

    outcome = stage.run("work.ts", stage.visit({"n": 21}))

    assert outcome.output == {"n": 42}


LEFT = "what it started could not be ended and may still be at work: sleep (pid 12)"


@pytest.mark.parametrize("code", [0, 1])
def test_what_a_script_started_and_could_not_be_ended_is_named(stage: Stage, code: int) -> None:
    def leave(job: Job) -> Ended:
        if job.printed is not None:
            job.printed.write_text("{}", encoding="utf-8")
        return Ended(exit_code=code, seconds=0.1, left="sleep (pid 12)" if job.log.name.endswith("script.log") else "")

    stage.write("work.sh", "true")
    node = ScriptNode(id=NodeId("work"), script="work.sh", timeout=20.0)

    outcome = anyio.run(run_script, node, stage.visit(), FakeProcesses(leave), _do_not_sleep)

    assert (outcome.failure == "", outcome.notices) == (code == 0, (LEFT,))


@pytest.mark.parametrize("code", [0, 1, None])
def test_what_a_check_of_a_flow_started_and_could_not_be_ended_is_named(stage: Stage, code: int | None) -> None:
    ended = Ended(exit_code=code, seconds=0.1, left="sleep (pid 12)")
    node = CheckNode(id=NodeId("work"), checks=("true",), passed=NodeId("yes"), failed=NodeId("no"))
    scene = Scene(sleep=_do_not_sleep)

    outcome = anyio.run(run_checks, node, stage.visit(), FakeProcesses(lambda _: ended), scene)

    assert set(outcome.notices) == {LEFT}


def test_a_check_of_a_flow_has_no_more_time_than_the_setting_allows(stage: Stage) -> None:
    limits: list[float | None] = []

    def run(job: Job) -> Ended:
        limits.append(job.timeout)
        return Ended(exit_code=0, seconds=0.1)

    node = CheckNode(id=NodeId("work"), checks=("true",), passed=NodeId("yes"), failed=NodeId("no"))
    anyio.run(run_checks, node, stage.visit(timeout=90.0), FakeProcesses(run), Scene(sleep=_do_not_sleep, timeout=3.0))

    assert limits == [3.0]


def test_a_check_of_a_flow_that_is_named_by_its_kind_has_the_limit_of_the_kind(stage: Stage) -> None:
    limits: list[float | None] = []

    def run(job: Job) -> Ended:
        limits.append(job.timeout)
        return Ended(exit_code=0, seconds=0.1)

    node = CheckNode(id=NodeId("work"), checks=("lint", "test"), passed=NodeId("yes"), failed=NodeId("no"))
    scene = Scene(sleep=_do_not_sleep, timeout=3.0, limits={"lint": 2.0})
    anyio.run(run_checks, node, stage.visit(timeout=90.0), FakeProcesses(run), scene)

    assert limits == [2.0, 3.0]


@pytest.mark.parametrize(
    ("printed", "codes", "passed", "runs"),
    [
        ("test_a timed out", (1, 0), True, 2),
        ("test_a timed out", (1, 1), False, 2),
        ("2 is not 3", (1, 0), False, 1),
    ],
)
def test_a_check_of_a_flow_that_speaks_of_time_is_repeated_once(
    stage: Stage, printed: str, codes: tuple[int, int], passed: bool, runs: int
) -> None:
    left = list(codes)

    def run(job: Job) -> Ended:
        return Ended(exit_code=left.pop(0), seconds=0.1, output=printed)

    node = CheckNode(id=NodeId("work"), checks=("pytest",), passed=NodeId("yes"), failed=NodeId("no"))
    outcome = anyio.run(run_checks, node, stage.visit(), FakeProcesses(run), Scene(sleep=_do_not_sleep))

    assert isinstance(outcome.output, dict)
    assert (outcome.output["passed"], len(codes) - len(left)) == (passed, runs)
    assert any("flaky" in notice for notice in outcome.notices) == passed
