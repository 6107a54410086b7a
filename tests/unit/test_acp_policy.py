"""What an agent that asks may do, where there are folders beside its workspace, or servers with tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.agents.acp_policy import Policy


def test_a_plain_name_is_one_of_the_workspace_also_where_other_folders_are_granted(tmp_path: Path) -> None:
    workspace, granted, outside = (tmp_path / name for name in ("work", "granted", "outside"))
    for folder in (workspace, granted, outside):
        folder.mkdir()
    (workspace / "link").symlink_to(outside)
    policy = Policy(workspace=workspace, writable=(granted,))

    inside = {path: policy.is_inside(path) for path in ("a.txt", "link/a.txt", "../b.txt", str(granted / "c.txt"))}

    assert inside == {"a.txt": True, "link/a.txt": False, "../b.txt": False, str(granted / "c.txt"): True}


@pytest.mark.parametrize(
    ("title", "server"),
    [
        ("mcp__tracker__close", "tracker"),
        ("mcp_tracker_close", "tracker"),
        ("close (tracker MCP Server)", "tracker"),
        ("mcp.tracker.close", "tracker"),
        ("Tool: tracker/close", "tracker"),
        ("tracker_close", "tracker"),
        ("tracker__close", "tracker"),
        ("tracker: close", "tracker"),
        ("tracker: close item · 7", "tracker"),
        ("my_words_count", "my words"),
        ("my words: count", "my_words"),
    ],
)
def test_a_tool_of_a_server_is_known_by_the_names_that_programs_give_it(
    title: str, server: str, tmp_path: Path
) -> None:
    policy = Policy(workspace=tmp_path, servers=(server,))

    assert policy.judge({"kind": "other", "title": title}).answer == "allow"


@pytest.mark.parametrize(
    "title",
    [
        "Impersonate user",
        "person",
        "personal_delete",
        "a person_ask",
        "mcp__personal__delete",
        "mcp__other__person",
        "delete (impersonal MCP Server)",
        "delete all (person MCP Server) of them",
        "Delete: person_ask",
        "person_ask; rm",
        "person: ask\nand delete",
        "p.rson_ask",
    ],
)
def test_a_title_that_only_has_the_name_of_a_server_in_it_is_asked_about(title: str, tmp_path: Path) -> None:
    policy = Policy(workspace=tmp_path, servers=("person", "p?rson"))

    assert policy.judge({"kind": "other", "title": title}).answer == "ask"
