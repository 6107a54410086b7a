"""Where settings come from, and how wrong ones are reported."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from drumline.agents.command import describe
from drumline.configfiles import find_own_config, read_config, read_own_config
from drumline.core.ids import RunId, StepId
from drumline.errors import InvalidInput
from drumline.ports.agents import Assignment
from drumline.profiles import Grant, McpServer, Profile, Profiles, find_grant, read_profiles
from drumline.record import fields, replace
from drumline.settings import TABLES, Settings, list_given, resolve, settings_table
from drumline.settingvalues import parse_duration


def problems_of(**sources: dict[str, object]) -> list[str]:
    """The lines of the one error that resolving these sources raises."""
    environ = {key: str(value) for key, value in sources.get("environ", {}).items()}
    with pytest.raises(InvalidInput) as caught:
        resolve(sources.get("flags", {}), environ, sources.get("plan", {}), sources.get("config", {}))

    assert caught.value.exit_code == 3
    assert caught.value.hint
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("sources", "hint"),
    [
        (({"jobs": "many"}, {}, {}, {}), "drumline run --help"),
        (({}, {"DRUMLINE_JOBS": "many"}, {}, {}), "unset DRUMLINE_JOBS, or give it a value that is legal"),
        (({}, {}, {"jobs": "many"}, {}), "correct the plan and try again"),
        (({}, {}, {}, {"agnt": "x"}), "correct .drumline/config.toml and try again"),
    ],
)
def test_a_wrong_setting_is_corrected_where_it_stands(
    sources: tuple[dict[str, object], dict[str, str], dict[str, object], dict[str, object]], hint: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        resolve(*sources)

    assert caught.value.hint == hint


def test_without_any_source_every_setting_has_its_default() -> None:
    settings = resolve({}, {}, {}, {})

    assert settings == Settings()


def test_the_table_and_the_record_agree_on_keys_and_defaults() -> None:
    table = {row.key: row.parse(row.default) if row.default else None for row in settings_table()}

    record = {f.name: f.default for f in fields(Settings) if f.name != "kinds"}

    assert list(table) == list(record)
    for key, default in table.items():
        assert default == record[key] if default is not None else not record[key]


def test_what_an_agent_is_told_by_variables_names_no_setting() -> None:
    file = Path("file")
    told = Assignment(
        run=RunId("r1"), step=StepId("s"), node="n", attempt=1, prompt="", prompt_file=file, workspace=file, log=file
    )

    settings = resolve({}, {**describe(told)}, {}, {})

    assert settings == Settings()


def test_a_file_may_call_the_place_of_work_workspace_and_a_variable_may_not() -> None:
    told = {"DRUMLINE_WORKSPACE": "inplace"}

    assert resolve({}, {}, {}, {"workspace": "inplace"}).work_in == "inplace"
    assert resolve({}, told, {}, {}).work_in == "worktree"
    assert problems_of(config={"workspace": "inplace", "work_in": "worktree"}) == [
        ".drumline/config.toml: workspace: this is another name of work_in, which is given as well"
    ]


def test_every_row_has_a_variable_and_one_sentence_of_help() -> None:
    rows = settings_table()

    assert [row.env for row in rows if row.env != "DRUMLINE_" + row.key.upper()] == []
    assert [row.key for row in rows if not row.help.endswith(".")] == []
    assert {row.flag for row in rows} == {"", "--agent", "--mode", "--autonomy", "--jobs", "--retries", "--require"}


def test_a_nearer_source_beats_a_farther_one() -> None:
    config: dict[str, object] = {"jobs": 1, "retries": 1, "mode": "parallel", "lease": "1m"}
    plan: dict[str, object] = {"jobs": 2, "retries": 3, "mode": "sequential"}
    environ = {"DRUMLINE_JOBS": "3", "DRUMLINE_RETRIES": "5"}

    settings = resolve({"jobs": 9, "retries": None}, environ, plan, config)

    assert (settings.jobs, settings.retries, settings.mode, settings.lease) == (9, 5, "sequential", 60.0)


def test_an_empty_variable_counts_as_not_given() -> None:
    settings = resolve({}, {"DRUMLINE_JOBS": ""}, {}, {"jobs": 7})

    assert settings.jobs == 7


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("15m", 900), ("1h", 3600), ("0.5h", 1800)])
def test_a_duration_may_have_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "value", ["", "h", "1d", "-1", "0", "1h30m", "inf", "nan", True, None, 0, -3, float("inf"), []]
)
def test_what_is_no_duration_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not legal"):
        parse_duration(value)


def test_checks_are_a_list_in_a_file_and_lines_in_a_variable() -> None:
    from_file = resolve({}, {}, {}, {"checks": ["make lint", "make test"]})

    from_variable = resolve({}, {"DRUMLINE_CHECKS": "make lint\nmake test\n"}, {}, {})

    assert from_file.checks == from_variable.checks == ("make lint", "make test")


def test_all_problems_of_all_sources_are_reported_at_once_with_their_place() -> None:
    found = problems_of(
        flags={"mode": "fast"},
        environ={"DRUMLINE_LEASE": "soon"},
        plan={"autonomy": 3},
        config={"jobs": -1, "colour": "red"},
    )

    assert found == [
        ".drumline/config.toml: jobs: -1 is not legal here (legal: a whole number of at least 0)",
        ".drumline/config.toml: colour: there is no such setting (legal: "
        + ", ".join(r.key for r in settings_table())
        + ")",
        "the plan: autonomy: 3 is not legal here (legal: autopilot, critical or verbose)",
        "DRUMLINE_LEASE: 'soon' is not legal here (legal: a duration above zero such as 90, 90s, 15m or 1h)",
        "--mode: 'fast' is not legal here (legal: ask, parallel or sequential)",
    ]


@pytest.mark.parametrize("value", [True, 2.0, "many", "-1", "1_0", "٣", None])
def test_a_count_must_be_a_whole_number(value: object) -> None:
    assert len(problems_of(config={"jobs": value})) == 1


def test_a_misspelt_key_is_answered_with_the_right_one() -> None:
    found = problems_of(config={"stale-claim": "2h"}, environ={"DRUMLINE_JOB": "3"})

    assert "did you mean 'stale_claim'?" in found[0]
    assert "did you mean DRUMLINE_JOBS?" in found[1]


def test_variables_that_drumline_sets_for_what_it_runs_are_no_problem() -> None:
    names = ("RUN", "STEP", "NODE", "ATTEMPT", "WORKSPACE", "TIER", "PROMPT_FILE")

    environ = {f"DRUMLINE_{name}": "x" for name in names}

    settings = resolve({}, environ, {}, {})

    assert settings == Settings()
    assert list_given({}, environ) == frozenset()


def test_the_nearest_config_file_up_to_the_top_is_read(tmp_path: Path) -> None:
    deep = tmp_path / "repo" / "a" / "b"
    deep.mkdir(parents=True)
    write_config(tmp_path, "jobs = 1")
    write_config(tmp_path / "repo", "jobs = 2")

    from_top, at_top = read_config(deep, tmp_path / "repo")
    write_config(tmp_path / "repo" / "a", "jobs = 3")
    from_near, at_near = read_config(deep, tmp_path / "repo")

    assert (from_top, at_top) == ({"jobs": 2}, tmp_path / "repo/.drumline/config.toml")
    assert (from_near, at_near) == ({"jobs": 3}, tmp_path / "repo/a/.drumline/config.toml")


def test_no_config_above_the_top_is_looked_at(tmp_path: Path) -> None:
    write_config(tmp_path, "jobs = 1")
    (tmp_path / "repo").mkdir()

    assert read_config(tmp_path / "repo", tmp_path / "repo") == ({}, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"jobs = 1\nmode = = 2\n", "config.toml:2: not TOML"),
        (b"jobs = 1\nmode = 'x", "config.toml:2: not TOML"),
        (b"jobs = 1\n# \xff\n", "config.toml:2: not UTF-8"),
        (b"x = " + b"[" * 100_000, "config.toml:1: "),
    ],
)
def test_a_malformed_config_is_refused_with_file_and_line(tmp_path: Path, text: bytes, said: str) -> None:
    write_config(tmp_path, "")
    (tmp_path / ".drumline/config.toml").write_bytes(text)

    with pytest.raises(InvalidInput) as caught:
        read_config(tmp_path, tmp_path)

    assert said in str(caught.value)


TABLES_TEXT = """
agent = "command:usual"

[agents.architect]
agent = "command:think"
tier = "strong"

[agents.scribe]
model = "acme:small"

[models]
default = "acme:middle"
fast = "acme:small"

[mcp.tickets]
command = ["tickets-mcp", "--stdio"]
env = {TOKEN = "$TICKETS", OTHER = "$NOT_SET", PLAIN = "$5"}

[mcp.docs]
url = "https://docs.example.org/mcp"
[commands]
lint = "ruff check ."
"""


def profile_problems(text: str) -> list[str]:
    """The lines of the one error that reading these tables raises, without the file's name."""
    with pytest.raises(InvalidInput) as caught:
        read_profiles(tomllib.loads(text), {})

    assert caught.value.hint
    return [line.removeprefix(".drumline/config.toml: ") for line in str(caught.value).splitlines()]


def test_tables_give_agents_models_and_servers_their_names() -> None:
    found = read_profiles(tomllib.loads(TABLES_TEXT), {"TICKETS": "s3cret"})

    tickets = McpServer(name="tickets", command=("tickets-mcp", "--stdio"), env={"TOKEN": "s3cret", "PLAIN": "$5"})
    assert found == Profiles(
        agents={"architect": Profile(agent="command:think", tier="strong"), "scribe": Profile(model="acme:small")},
        tiers={"fast": "acme:small"},
        model="acme:middle",
        mcp={"tickets": tickets, "docs": McpServer(name="docs", url="https://docs.example.org/mcp")},
        commands={"lint": "ruff check ."},
    )
    assert "s3cret" not in repr(found)


def test_the_tables_are_no_settings_and_no_problem() -> None:
    config = tomllib.loads(TABLES_TEXT)

    found = resolve({}, {}, {}, config)

    assert replace(found, kinds=()) == replace(Settings(), agent="command:usual")
    assert [check.command for check in found.kinds] == ["ruff check ."]
    assert set(config) - {"agent"} == set(TABLES)


def test_a_misspelt_table_is_answered_with_the_right_one() -> None:
    assert "did you mean 'agents'?" in problems_of(config={"agnets": {}})[0]


def test_without_tables_there_are_no_profiles() -> None:
    assert read_profiles({"jobs": 3}) == Profiles()


def test_all_problems_of_all_tables_are_reported_at_once() -> None:
    found = profile_problems(
        """
        [agents.a]
        agnet = "command:x"
        tier = "stong"
        [agents.b]
        [agents.default]
        agent = "command:x"
        [agents."x:y"]
        agent = "command:x"
        [models]
        quick = "acme:small"
        strong = 3
        [mcp.none]
        [mcp.both]
        command = "run me"
        url = "ftp://x"
        env = {TOKEN = 5}
        """
    )

    assert found == [
        "agents.default: 'default' stands for the default agent; set `agent` at the top of the file instead",
        "agents.x:y: 'x:y' cannot be a name (legal: letters, digits and marks, without ':' and '/')",
        "agents.a.agnet: there is no such key (did you mean 'agent'?)",
        "agents.a.tier: 'stong' is not legal here (legal: fast, standard, strong; did you mean 'strong'?)",
        "agents.b: says nothing; give it an agent, a tier or a model",
        "models.quick: there is no such key (legal: default, fast, standard, strong)",
        "models.strong: 3 is not legal here (legal: a text that is not empty)",
        "mcp.none: needs either a command or a url",
        "mcp.both: needs either a command or a url",
        "mcp.both.url: 'ftp://x' is not legal here (legal: an address with http:// or https://)",
        "mcp.both.command: 'run me' is not legal here (legal: a list of texts: a program and its arguments)",
        "mcp.both.env.TOKEN: is not a text",
    ]


def test_a_table_lends_an_agent_variables_and_folders() -> None:
    found = read_profiles(
        tomllib.loads(
            """
            [agents.mine]
            agent = "command:./mine.sh"
            env = ["MY_TOKEN", "OUR_*"]
            [agents.command]
            env = ["WORD", "MY_TOKEN"]
            folders = ["~/.mine/", "$MINE/x", "/srv"]
            [agents.codex]
            env = ["ELSE"]
            """
        ),
        {},
    ).agents

    granted = Grant(env=("MY_TOKEN", "OUR_*", "WORD"), folders=("~/.mine/", "$MINE/x", "/srv"))
    assert find_grant(found, "mine", "command:./mine.sh") == granted
    assert find_grant(found, "", "command:./mine.sh") == granted
    assert find_grant(found, "", "command:other") == Grant(env=("WORD", "MY_TOKEN"), folders=granted.folders)
    assert find_grant(found, "", "claude") == Grant()
    assert (found["codex"].agent, found["mine"].agent) == ("codex", "command:./mine.sh")


@pytest.mark.parametrize(
    "line", ['env = ["*"]', 'env = ["TOKEN=hunter2"]', 'env = "TOKEN"', 'folders = ["here"]', "folders = [3]"]
)
def test_what_cannot_be_granted_is_refused_without_saying_what_may_be_a_secret(line: str) -> None:
    found = profile_problems(f"[agents.a]\nagent = 'codex'\n{line}")

    assert len(found) == 1
    assert found[0].startswith(f"agents.a.{line.split()[0]}: is not a list of ")
    assert "hunter2" not in found[0]


@pytest.mark.parametrize("text", ["agents = 1", "models = 1", "mcp = 1", "[agents]\na = 1", "[mcp]\na = 1"])
def test_what_is_no_table_is_refused(text: str) -> None:
    found = profile_problems(text)

    assert len(found) == 1
    assert "is not a table" in found[0]


def write_config(folder: Path, text: str) -> None:
    """Put a config file into a folder."""
    (folder / ".drumline").mkdir(parents=True, exist_ok=True)
    (folder / ".drumline/config.toml").write_text(text)


@pytest.mark.parametrize(
    ("mine", "theirs", "found"),
    [
        ({}, {}, ("auto", "auto")),
        ({"trust": "off", "sandbox": "off"}, {}, ("off", "off")),
        ({"trust": "off"}, {"trust": "ask", "sandbox": "required"}, ("ask", "required")),
        ({"trust": "ask", "sandbox": "required"}, {"trust": "auto", "sandbox": "auto"}, ("ask", "required")),
    ],
)
def test_a_repository_can_protect_a_person_more_and_never_less(
    mine: dict[str, object], theirs: dict[str, object], found: tuple[str, str]
) -> None:
    settings = resolve({}, {}, {}, theirs, own=mine)

    assert (settings.trust, settings.sandbox) == found


def test_what_a_person_sets_for_this_process_beats_every_file() -> None:
    environ = {"DRUMLINE_TRUST": "off", "DRUMLINE_SANDBOX": "off"}

    settings = resolve({}, environ, {}, {"trust": "ask", "sandbox": "required"}, own={"trust": "ask"})

    assert (settings.trust, settings.sandbox) == ("off", "off")


def test_a_repository_that_wants_less_protection_is_refused() -> None:
    problems = problems_of(config={"trust": "off", "sandbox": "off"})

    assert len(problems) == 2
    assert "sandbox: 'off' is not legal in a repository's file" in problems[0]
    assert "legal: auto, ask; set DRUMLINE_TRUST" in problems[1]


def test_the_persons_own_file_counts_where_the_repository_is_silent(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    path = find_own_config(environ)
    path.parent.mkdir()
    path.write_text("jobs = 7\nretries = 0\n", encoding="utf-8")

    settings = resolve({}, {}, {}, {"jobs": 2}, own=read_own_config(environ))

    assert (settings.jobs, settings.retries) == (2, 0)
    with pytest.raises(InvalidInput, match=r"your own config.toml: agents: belongs into .drumline/config.toml"):
        resolve({}, {}, {}, {}, own={"agents": {}})
