"""Flows, scripts and models that are wrong: a clear error with an exit code and the next command, and nothing lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from tests.acceptance.cli_flows import flow_text, flow_user, read_journal, run_flow, work_files, write_files
from tests.acceptance.cli_user import Ran, User

from drumline.core.flow.events import NodeStarted

END: Mapping[str, object] = {"type": "end", "output": "all is well"}
SCHEMA: Mapping[str, object] = {
    "type": "object",
    "required": ["count"],
    "properties": {"count": {"type": "integer"}},
    "additionalProperties": False,
}
MANY = 10_000


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with flow_user(tmp_path, {"play.yaml": "default: {say: done}\n"}) as user:
        yield user


def run_nodes(user: User, start: str, *args: str, **nodes: Mapping[str, object]) -> Ran:
    """Run a flow of these nodes and an end."""
    write_files(user, {"flow.yaml": flow_text(start, {**nodes, "end": END})})
    return run_flow(user, "flow.yaml", *args)


def assert_refused(user: User, ran: Ran, *words: str) -> None:
    """Nothing has begun, everything wrong is said, and so is what to type next."""
    assert (ran.code, ran.out) == (3, ""), ran.err
    assert [word for word in words if word not in ran.err] == []
    assert "  next: drumline " in ran.err
    assert "Traceback" not in ran.err
    assert read_journal(user).run is None


def assert_failed(user: User, ran: Ran, *words: str) -> None:
    """The run has ended as failed, says why, and can be looked at."""
    assert (ran.code, ran.out) == (1, ""), ran.err
    assert "Traceback" not in ran.err
    status = user.status()
    assert status["state"] == "failed"
    assert [word for word in words if word not in str(status["reason"])] == []
    assert f"next:\n  drumline logs --run {status['run']}" in ran.err


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "[not_a_mapping]"),
        (b"- a\n- list\n", "[not_a_mapping]"),
        (b"\x00\x01\xff\xfe binary", "[not_utf8]"),
        (b"name: [", "[bad_yaml]"),
    ],
    ids=["empty", "list", "binary", "broken"],
)
def test_a_file_that_is_no_flow_is_refused(user: User, data: bytes, code: str) -> None:
    (user.repo / "bad.yaml").write_bytes(data)

    ran = run_flow(user, "bad.yaml")

    assert_refused(user, ran, f"{user.repo}/bad.yaml:", "error: ", "the flow cannot be run (1 error)", code)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nonsense", "'nonsense' does not name a model (legal: "),
        ("nobody:gpt", "unknown provider 'nobody' (use one of anthropic, openai, google, or another "),
        ("agent:nobody", "'nobody' does not name an agent (legal: "),
    ],
)
def test_a_model_that_cannot_be_one_is_refused_also_where_no_node_asks_it(user: User, model: str, said: str) -> None:
    (user.repo / "end.yaml").write_text("name: x\nstart: end\nnodes: {end: {type: end}}\n", encoding="utf-8")

    ran = run_flow(user, "end.yaml", "--model", model)

    assert_refused(user, ran, said)


def test_a_script_for_the_models_that_is_not_there_is_refused(user: User) -> None:
    (user.repo / "end.yaml").write_text("name: x\nstart: end\nnodes: {end: {type: end}}\n", encoding="utf-8")

    ran = run_flow(user, "end.yaml", "--model", "scripted:gone.yaml")

    assert (ran.code, ran.out) == (3, ""), ran.err
    assert "gone.yaml: cannot be read: No such file or directory" in ran.err
    assert read_journal(user).run is None


def test_a_folder_without_a_flow_in_it_is_refused(user: User) -> None:
    (user.repo / "folder").mkdir()

    assert_refused(user, run_flow(user, "folder"), "/folder:1: error: is not a regular file")


def test_problems_are_json_for_scripts(user: User) -> None:
    (user.repo / "bad.yaml").write_text("name: x\nstart: gone\nnodes: {end: {type: end}}\n", encoding="utf-8")

    ran = run_flow(user, "bad.yaml", "--json")

    assert ran.code == 3
    assert ran.json["ok"] is False
    problems = ran.json["problems"]
    assert isinstance(problems, list)
    assert problems[0]["severity"] == "error"
    assert "'gone'" in problems[0]["message"]


# --- graphs ---------------------------------------------------------------------------------------------------------


def test_a_rag_node_finds_nothing_and_the_run_says_so_before_it_begins(user: User) -> None:
    updates = {"found": "{{output.context}}|{{output.sources}}"}
    ran = run_nodes(user, "know", know={"type": "rag", "documents": ["a.md"], "next": "end", "state_updates": updates})

    assert ran.code == 0, ran.err
    assert "warning: " in ran.err.splitlines()[0]
    assert "node 'know': documents are not indexed here: the node finds nothing" in ran.err.splitlines()[0]


def test_a_cycle_that_nobody_decides_about_is_refused_by_its_nodes(user: User) -> None:
    again: Mapping[str, object] = {"type": "set", "values": {}, "next": "one"}
    ran = run_nodes(user, "one", one={"type": "set", "values": {}, "next": "two"}, two=again)

    assert_refused(user, ran, "one → two → one", "[illegal_cycle]")


def test_a_script_that_is_not_there_is_refused_by_its_path(user: User) -> None:
    ran = run_nodes(user, "go", go={"type": "script", "script": "gone.sh", "next": "end"})

    assert_refused(user, ran, "flow.yaml:6: error: node 'go': the script 'gone.sh' is not there")


@pytest.mark.parametrize(
    "condition",
    [
        "__import__('os').system('touch pwned')",
        "().__class__.__bases__[0].__subclasses__()",
        "open('pwned', 'w')",
        "(lambda: 1)()",
        "x.__class__",
    ],
)
def test_a_condition_that_reaches_for_more_than_values_is_refused(user: User, condition: str) -> None:
    choose = {"type": "route", "cases": [{"when": condition, "to": "end"}], "otherwise": "end"}

    ran = run_nodes(user, "choose", choose=choose)

    assert_refused(user, ran, "[bad_expression]", "node 'choose': the condition")
    assert not (user.repo / "pwned").exists()


def test_a_flow_that_calls_itself_stops_at_the_depth_that_is_legal(user: User) -> None:
    nodes = {"again": {"type": "agent", "agent": "self", "prompt": "Again.", "next": "end"}, "end": END}
    write_files(user, {"self.yaml": flow_text("again", nodes)})

    ran = run_flow(user, "self.yaml")

    assert_failed(user, ran, "flow 'self' would be called 9 deep", "legal is 8")
    assert read_journal(user).count(NodeStarted, "again") == 8


def test_a_loop_without_end_stops_at_its_budget(user: User) -> None:
    write_files(user, {"again.sh": 'echo \'{"_next": "again"}\'\n'})
    nodes = {"again": {"type": "script", "script": "again.sh", "next": "end"}, "end": END}
    write_files(user, {"flow.yaml": flow_text("again", nodes, settings={"max_loop_iterations": 3})})

    ran = run_flow(user, "flow.yaml")

    assert_failed(user, ran, "again", "3")
    assert read_journal(user).count(NodeStarted, "again") == 3


@pytest.mark.long
def test_ten_thousand_nodes_are_validated_and_walked(user: User) -> None:
    nodes = {f"n{i}": {"type": "set", "values": {"at": i}, "next": f"n{i + 1}"} for i in range(MANY)}
    text = yaml.dump(
        {"name": "long", "start": "n0", "nodes": nodes | {f"n{MANY}": {"type": "end", "output": "{{at}}"}}},
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        sort_keys=False,
    )
    write_files(user, {"long.yaml": text})

    ran = run_flow(user, "long.yaml")

    assert (ran.code, ran.out) == (0, f"{MANY - 1}\n"), ran.err[-2000:]
    visits = user.status()["visits"]
    assert isinstance(visits, dict)
    assert len(visits) == MANY + 1


# --- nodes ----------------------------------------------------------------------------------------------------------


def test_a_prompt_with_keys_that_are_not_there_names_all_of_them(user: User) -> None:
    ran = run_nodes(user, "ask", ask={"type": "llm", "prompt": "{{who}} and {{what.it}}", "next": "end"})

    assert_failed(user, ran, "'who', 'what.it' not found in state")


def test_a_question_with_a_key_that_is_not_there_fails_and_is_not_put(user: User) -> None:
    ask = {"type": "approval", "question": "{{who}}?", "options": ["a"], "routes": {"a": "end"}, "on_other": "end"}

    ran = run_nodes(user, "ask", ask=ask)

    assert_failed(user, ran, "'who' not found in state")
    assert user.status()["gates"] == []


def test_text_from_a_value_is_never_expanded_again(user: User) -> None:
    write_files(user, {"sly.sh": """echo '{"a": "{{b}}", "b": "secret"}'\n"""})

    nodes = {
        "sly": {"type": "script", "script": "sly.sh", "next": "over"},
        "over": {"type": "end", "output": "{{a}} {{b}}"},
    }
    write_files(user, {"flow.yaml": flow_text("sly", nodes)})

    assert run_flow(user, "flow.yaml").out == "{{b}} secret\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo '[1, 2, 3]'", "must be a JSON object"),
        ("echo not json", "valid JSON"),
        ("true", "produced no output"),
        ("echo sorry >&2; exit 7", "failed with exit code 7; its stderr ends with: sorry"),
        ('echo \'{"_next": "nowhere"}\'', "nowhere"),
    ],
)
def test_a_script_that_does_not_keep_to_its_contract_fails_with_the_reason(user: User, text: str, words: str) -> None:
    write_files(user, {"bad.sh": text + "\n"})

    ran = run_nodes(user, "bad", bad={"type": "script", "script": "bad.sh", "next": "end"})

    assert_failed(user, ran, words)


def test_a_script_that_is_killed_every_time_blocks_the_run_and_is_not_failed_work(user: User) -> None:
    write_files(user, {"bad.sh": "kill -9 $$\n"})

    ran = run_nodes(user, "bad", bad={"type": "script", "script": "bad.sh", "next": "end"})

    assert ran.code == 2, ran.err
    assert "killed from outside 3 times in a row: script 'bad.sh'" in ran.err
    assert "Traceback" not in ran.err
    assert user.status()["state"] == "blocked"


def play(user: User, *answers: str) -> None:
    """The model says these things in turn, the last of them again and again."""
    rules: list[object] = [{"match": {"attempt": n}, "say": text} for n, text in enumerate(answers, 1)]
    write_files(user, {"play.yaml": yaml.safe_dump({"rules": rules, "default": {"say": answers[-1]}})})


def test_an_answer_that_does_not_fit_its_schema_is_repaired(user: User) -> None:
    play(user, '{"count": "many"}', '{"count": 3}')
    nodes = {
        "ask": {"type": "llm", "prompt": "How many?", "output_schema": SCHEMA, "next": "over"},
        "over": {"type": "end", "output": "{{count}}"},
    }
    write_files(user, {"flow.yaml": flow_text("ask", nodes)})

    ran = run_flow(user, "flow.yaml")

    assert (ran.code, ran.out) == (0, "3\n"), ran.err


@pytest.mark.parametrize("answer", ['{"count": "many"}', '{"count": 1, "more": 2}', "no JSON at all", "[1]"])
def test_an_answer_that_never_fits_its_schema_is_not_accepted(user: User, answer: str) -> None:
    play(user, answer)

    ran = run_nodes(user, "ask", ask={"type": "llm", "prompt": "How many?", "output_schema": SCHEMA, "next": "end"})

    assert_failed(user, ran, "no answer fitted the schema, 2 repairs included")
    recent = user.status()["recent"]
    assert isinstance(recent, list)
    assert [visit["wrote"] for visit in recent] == [[]]


def test_an_agent_that_is_not_there_is_refused_before_anything_begins(user: User) -> None:
    write_files(user, {"flow.yaml": flow_text("end", {"end": END})})

    unknown = user.drumline("flow", "run", "flow.yaml", "--agent", "nobody-knows")
    missing = user.drumline("flow", "run", "flow.yaml", "--agent", "scripted:gone.yaml")

    assert (unknown.code, missing.code) == (3, 3)
    assert "nobody-knows" in unknown.err
    assert "gone.yaml" in missing.err
    assert read_journal(user).run is None


@pytest.mark.parametrize("flow", ["flow.yaml", "caller.yaml", "coder"])
def test_a_flow_that_needs_an_agent_where_none_is_configured_is_refused_with_how_to_name_one(
    user: User, flow: str
) -> None:
    nodes = {"work": {"type": "agent", "agent": "default", "prompt": "Go.", "next": "end"}, "end": END}
    calling = {"work": {"type": "agent", "agent": "flow", "prompt": "Go.", "next": "end"}, "end": END}
    write_files(user, {"flow.yaml": flow_text("work", nodes), "caller.yaml": flow_text("work", calling)})

    ran = user.drumline("flow", "run", flow)

    assert_refused(user, ran, "there is no agent for 'default'")


def test_an_agent_that_should_take_over_and_is_not_there_is_named_before_anything_begins(user: User) -> None:
    write_files(user, {".drumline/config.toml": 'fallback = ["nobody-knows", "scripted:gone.yaml"]\n'})

    ran = run_nodes(user, "work", work={"type": "agent", "agent": "default", "prompt": "Go.", "next": "end"})

    assert_refused(user, ran, "the setting fallback: nobody-knows", "gone.yaml")


def test_what_was_done_before_a_failure_stays(user: User) -> None:
    write_files(user, {"make.sh": "echo made > made\necho '{\"kept\": 1}'\n", "bad.sh": "exit 1\n"})

    ran = run_nodes(
        user,
        "make",
        make={"type": "script", "script": "make.sh", "next": "bad"},
        bad={"type": "script", "script": "bad.sh", "next": "end"},
    )

    assert_failed(user, ran, "bad.sh")
    assert work_files(user)["made"] == "made\n"
    assert read_journal(user).concluded == {("", "make", 1): 1, ("", "bad", 1): 1}
    assert user.drumline("logs", "make").code == 0
